"""Sliding windows over the spatial axes: what convolution and pooling share.

Read `Window` first. Invariant: tensors are `[N, C, spatial...]` with 1 to 3 spatial axes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ago.errors import ModelError
from ago.ir.attributes import read_ints
from ago.ir.ops.operator import Array, Attrs, require


@dataclass(frozen=True, slots=True)
class Window:
    """A window's geometry, one entry per spatial axis.

    Attributes:
        kernel: Taps along each axis.
        strides: Steps between windows, in elements.
        dilations: Steps between taps, in elements.
        pads: Elements added before each axis, then after each axis; negative ones crop.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]

    @classmethod
    def read(cls, attrs: Attrs, kernel: Sequence[int]) -> Window:
        """Read `strides`, `dilations` and `pads` for a kernel of the given extents.

        Raises:
            ModelError: If a list has the wrong length or an entry that makes no sense.
        """
        rank = len(kernel)
        window = cls(
            tuple(kernel),
            read_ints(attrs, "strides"),
            read_ints(attrs, "dilations"),
            read_ints(attrs, "pads"),
        )
        require(1 <= rank <= 3, f"has {rank} spatial axes, only 1 to 3 are possible")
        require(min(kernel) >= 1, f"kernel {window.kernel} must be positive")
        for name, values in (("strides", window.strides), ("dilations", window.dilations)):
            good = len(values) == rank and min(values) >= 1
            require(good, f"{name} {values} must be {rank} positive integers")
        require(len(window.pads) == 2 * rank, f"pads {window.pads} must be {2 * rank} integers")
        return window

    def output_extents(self, extents: Sequence[int], ceil: bool = False) -> tuple[int, ...]:
        """Return the number of windows along each spatial axis of the given extents.

        Args:
            extents: Spatial extents of the input, in elements.
            ceil: Whether a last window may hang over the end (it must start inside the input or
                the padding before it).

        Raises:
            ModelError: If no window fits.
        """
        rank = len(self.kernel)
        require(len(extents) == rank, f"kernel {self.kernel} on spatial extents {tuple(extents)}")
        result = []
        for axis, extent in enumerate(extents):
            before, after = self.pads[axis], self.pads[axis + rank]
            reach = (self.kernel[axis] - 1) * self.dilations[axis] + 1
            room = extent + before + after - reach
            stride = self.strides[axis]
            if room < 0:
                raise ModelError(
                    f"window of {reach} elements does not fit spatial axis {axis} of "
                    f"{extent} elements with pads ({before}, {after})"
                )
            count = -(-room // stride) + 1 if ceil else room // stride + 1
            if ceil and (count - 1) * stride >= extent + before:
                count -= 1
            result.append(count)
        return tuple(result)

    def covering_pads(self, extents: Sequence[int], counts: Sequence[int]) -> tuple[int, ...]:
        """Return `pads` with the ends grown to where the last windows end, if that is further.

        Args:
            extents: Spatial extents of the input, in elements.
            counts: Number of windows along each spatial axis.
        """
        rank = len(self.kernel)
        afters = []
        for axis, (extent, count) in enumerate(zip(extents, counts, strict=True)):
            reach = (self.kernel[axis] - 1) * self.dilations[axis] + 1
            end = (count - 1) * self.strides[axis] + reach
            afters.append(max(end - self.pads[axis] - extent, self.pads[axis + rank]))
        return (*self.pads[:rank], *afters)

    def taps(self, padded: Array, extents: Sequence[int]) -> Iterator[Array]:
        """Yield, tap by tap in row-major order, the elements read: views `[N, C, extents...]`.

        Args:
            padded: The input `[N, C, spatial...]` with its padding.
            extents: Number of windows along each spatial axis.
        """
        for tap in itertools.product(*(range(count) for count in self.kernel)):
            starts = [t * d for t, d in zip(tap, self.dilations, strict=True)]
            cuts = tuple(
                slice(start, start + (count - 1) * stride + 1, stride)
                for start, count, stride in zip(starts, extents, self.strides, strict=True)
            )
            yield padded[(slice(None), slice(None), *cuts)]


def pad_array(x: Array, pads: Sequence[int], value: float) -> Array:
    """Return `x` with constant borders; negative entries of `pads` crop instead.

    Args:
        x: Any array.
        pads: Elements added before each axis of `x`, then after each.
        value: The border's value.
    """
    grow = [(max(b, 0), max(a, 0)) for b, a in zip(pads[: x.ndim], pads[x.ndim :], strict=True)]
    return np.pad(crop_array(x, pads), grow, constant_values=value)


def crop_array(x: Array, pads: Sequence[int]) -> Array:
    """Return `x` without what negative entries of `pads` crop; positive ones change nothing."""
    crop = tuple(
        slice(max(-before, 0), extent - max(-after, 0))
        for extent, before, after in zip(x.shape, pads[: x.ndim], pads[x.ndim :], strict=True)
    )
    return x[crop]
