"""What the lowerings of externs share: extents around an axis, element types in C."""

from __future__ import annotations

import math

from ago.ir.extern import CFunction, CValue
from ago.ir.tensor import TensorType, numpy_dtype


def c_function(name: str, file: str, **constants: CValue) -> CFunction:
    """A function of `csrc/extern` whose constants have the type `name_args`."""
    return CFunction(name, file, f"{name}_args", constants)


def around(kind: TensorType, axis: int) -> dict[str, CValue]:
    """The constants `outer`, `extent` and `inner`: positions before, along and behind an axis."""
    return {
        "outer": math.prod(kind.shape[:axis]),
        "extent": kind.shape[axis],
        "inner": math.prod(kind.shape[axis + 1 :]),
    }


def element_type(kind: TensorType) -> str:
    """The C constant of an element type."""
    return f"AGO_{kind.dtype.upper()}"


def element_bytes(kind: TensorType) -> int:
    """Bytes of an element."""
    return numpy_dtype(kind.dtype).itemsize


def strides(kind: TensorType) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    return tuple(math.prod(kind.shape[axis + 1 :]) for axis in range(kind.rank))
