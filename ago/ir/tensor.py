"""What is known of a tensor at compile time: shape, element type and order in memory.

Read `TensorType` first. Invariant: shapes are logical (ONNX's order of axes) everywhere; a `Layout`
only says how the elements lie in memory and never changes what a graph computes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_DTYPES: dict[str, np.dtype[np.generic]] = {
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "bool": np.dtype(np.bool_),
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def numpy_dtype(name: str) -> np.dtype[np.generic]:
    """Return numpy's element type for a short name such as `"f32"`.

    Raises:
        ValueError: If no such element type is known.
    """
    if name not in _DTYPES:
        raise ValueError(f"unknown element type {name!r}: expected one of {', '.join(_DTYPES)}")
    return _DTYPES[name]


def dtype_name(dtype: np.dtype[np.generic]) -> str:
    """Return the short name, such as `"f32"`, of a numpy element type.

    Raises:
        ValueError: If it has none.
    """
    native = dtype.newbyteorder("=")
    if native not in _NAMES:
        raise ValueError(f"element type {dtype} is not one of {', '.join(_DTYPES)}")
    return _NAMES[native]


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a wider axis, shared with other tensors.

    Attributes:
        offset: First element of the part.
        extent: Elements of the wider axis.
        axis: Which logical axis it is.
    """

    offset: int
    extent: int
    axis: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The physical order of a tensor's elements.

    Attributes:
        order: Physical axis `p` holds logical axis `order[p]`; the last one is contiguous.
        round: The innermost physical extent is rounded up to a multiple of this many elements.
        within: Where an axis is part of a wider one, as the inputs of a Concat are that lie in its
            output; None where the tensor has memory of its own.
    """

    order: tuple[int, ...]
    round: int = 1
    within: Slice | None = None

    def __post_init__(self) -> None:
        if sorted(self.order) != list(range(len(self.order))):
            raise ValueError(f"layout order {self.order} is not a permutation of the axes")
        if self.round < 1:
            raise ValueError(f"layout round must be at least 1, not {self.round}")

    @classmethod
    def row_major(cls, rank: int, round: int = 1) -> Layout:
        """Return the layout whose physical axes are the logical ones."""
        return cls(tuple(range(rank)), round)

    @classmethod
    def channels_last(cls, rank: int, round: int = 1) -> Layout:
        """Return `N, spatial..., C` for the logical `N, C, spatial...` of rank 3 and more.

        Tensors of fewer axes stay row-major.
        """
        if rank < 3:
            return cls.row_major(rank, round)
        return cls((0, *range(2, rank), 1), round)

    def physical_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the extents in memory, in elements, of a tensor of logical `shape`.

        Example:
            >>> Layout.channels_last(4, 8).physical_shape((1, 3, 7, 7))
            (1, 7, 7, 8)
        """
        if len(shape) != len(self.order):
            raise ValueError(f"layout of rank {len(self.order)} on the shape {shape}")
        extents = [shape[axis] for axis in self.order]
        if extents:
            extents[-1] = -(-extents[-1] // self.round) * self.round
        if self.within is not None:
            extents[self.order.index(self.within.axis)] = self.within.extent
        return tuple(extents)

    @property
    def starts(self) -> tuple[int, ...]:
        """The first element of each physical axis that belongs to the tensor."""
        part = self.within
        return tuple(0 if part is None or axis != part.axis else part.offset for axis in self.order)

    def __str__(self) -> str:
        order = ",".join(str(axis) for axis in self.order)
        text = f"({order})" + (f"^{self.round}" if self.round > 1 else "")
        part = self.within
        return text if part is None else f"{text}+{part.offset}/{part.extent}:{part.axis}"


@dataclass(frozen=True, slots=True)
class TensorType:
    """Shape, element type and layout of a tensor.

    Attributes:
        shape: Logical extents, in elements.
        dtype: Short name of the element type: `"f32"`, `"i64"`, `"bool"`, ...
        layout: Order in memory; None means row-major without rounding.
    """

    shape: tuple[int, ...]
    dtype: str = "f32"
    layout: Layout | None = None

    def __post_init__(self) -> None:
        numpy_dtype(self.dtype)
        if self.layout is not None and len(self.layout.order) != len(self.shape):
            raise ValueError(f"layout {self.layout} does not fit the shape {self.shape}")

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of logical elements."""
        return math.prod(self.shape)

    @property
    def physical_shape(self) -> tuple[int, ...]:
        """Extents in memory, in elements."""
        return self.shape if self.layout is None else self.layout.physical_shape(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes in memory, rounding included."""
        return math.prod(self.physical_shape) * numpy_dtype(self.dtype).itemsize

    def __str__(self) -> str:
        text = f"{self.dtype}[{','.join(str(extent) for extent in self.shape)}]"
        return text if self.layout is None else f"{text}@{self.layout}"
