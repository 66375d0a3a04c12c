"""Operators that read images at computed places.

Read `OPERATORS` first. Invariant: images are `[N, C, spatial...]`, places are in float64, and every
place reads something: the padding decides what lies outside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ago.ir.attributes import read_int, read_str
from ago.ir.ops.operator import (
    Array,
    Attrs,
    InputArrays,
    InputTypes,
    Operator,
    array,
    require,
    required_types,
)
from ago.ir.tensor import TensorType

GRID_MODES = ("nearest", "linear", "cubic")
GRID_PADDINGS = ("zeros", "border", "reflection")

_FARTHEST = 2.0**30
_Integers = npt.NDArray[np.int64]


def infer_grid_sample(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `GridSample(x[N,C,spatial...], grid[N,points...,rank]) -> [N,C,points...]`."""
    x, grid = required_types(types, 2, 2)
    rank = x.rank - 2
    require(1 <= rank <= 3, f"needs 1 to 3 spatial axes, not {x}")
    fits = grid.rank == x.rank and grid.shape[-1] == rank and grid.shape[0] == x.shape[0]
    require(fits, f"{grid} is no grid for {x}")
    mode, padding = read_str(attrs, "mode"), read_str(attrs, "padding_mode")
    require(mode in GRID_MODES, f"mode {mode!r} is not one of {', '.join(GRID_MODES)}")
    known = ", ".join(GRID_PADDINGS)
    require(padding in GRID_PADDINGS, f"padding_mode {padding!r} is not one of {known}")
    return (TensorType((*x.shape[:2], *grid.shape[1:-1])),)


def grid_sample_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Interpolate between the pixels around each place.

    A coordinate of the grid is -1 and 1 at the outer edges of the first and last pixel, or at their
    centres if `align_corners`; its order is the innermost axis first. NaN counts as -1.
    """
    x, grid = array(inputs, 0), array(inputs, 1)
    rank = x.ndim - 2
    points = math.prod(grid.shape[1:-1])
    places = grid.reshape(x.shape[0], points, rank)[:, :, ::-1]
    batch = np.arange(x.shape[0])[:, None]
    padded = np.pad(x, [(0, 0), (0, 0)] + [(0, 1)] * rank)  # index -1 reads a zero
    taps = [_taps(places[:, :, d], x.shape[2 + d], attrs) for d in range(rank)]
    result = np.zeros((x.shape[0], points, x.shape[1]))
    for choice in np.ndindex(*(index.shape[-1] for index, _ in taps)):
        index = [taps[d][0][..., tap] for d, tap in enumerate(choice)]
        weight = math.prod((taps[d][1][..., tap] for d, tap in enumerate(choice)), start=1.0)
        outside = np.any([i < 0 for i in index], axis=0)
        pixels = np.moveaxis(padded, 1, -1)[(batch, *index)]
        term = np.where(outside[..., None], 0.0, np.asarray(weight)[..., None] * pixels)
        result = result + term
    return (np.moveaxis(result, 2, 1).reshape(*x.shape[:2], *grid.shape[1:-1]),)


def _taps(position: Array, extent: int, attrs: Attrs) -> tuple[_Integers, Array]:
    """Pixels along one axis and their weights, in a last axis; index -1 stands for a zero."""
    mode = read_str(attrs, "mode")
    aligned = read_int(attrs, "align_corners")
    position = np.where(np.isnan(position), -1.0, position)
    places = (position + 1) / 2 * (extent - 1) if aligned else ((position + 1) * extent - 1) / 2
    places = np.clip(places, -_FARTHEST, _FARTHEST)
    if mode == "nearest":
        places = _into_borders(np.rint(places), extent, attrs)
        return _pixels(np.trunc(places)[..., None], extent, attrs), np.ones((*places.shape, 1))
    places = _into_borders(places, extent, attrs)
    below = np.floor(places)
    part = places - below
    if mode == "linear":
        offsets, weights = np.arange(2), np.stack([1 - part, part], -1)
    else:
        offsets = np.arange(-1, 3)
        weights = np.stack([_keys(part + 1), _keys(part), _keys(1 - part), _keys(2 - part)], -1)
    return _pixels(below[..., None] + offsets, extent, attrs), weights


def _keys(distance: Array) -> Array:
    """Keys' cubic convolution kernel with a = -0.75."""
    a, d = -0.75, distance
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, far)


def _into_borders(places: Array, extent: int, attrs: Attrs) -> Array:
    """Where to read beyond the borders: what the padding makes of a place there."""
    padding = read_str(attrs, "padding_mode")
    edge = 0.0 if read_int(attrs, "align_corners") else 0.5
    inside = (places >= -edge) & (places <= extent - 1 + edge)
    if padding == "zeros":
        return places
    if padding == "border":
        return np.where(inside, places, np.clip(places, 0, extent - 1))
    return np.where(inside, places, _reflect(places, -edge, extent - 1 + edge))


def _reflect(places: Array, low: float, high: float) -> Array:
    """Mirror at both ends until within `[low, high]`."""
    if high <= low:
        return np.full_like(places, low)
    around = np.mod(places - low, 2 * (high - low))
    mirrored = np.where(around <= high - low, around, 2 * (high - low) - around)
    return low + mirrored


def _pixels(numbers: Array, extent: int, attrs: Attrs) -> _Integers:
    if read_str(attrs, "padding_mode") == "zeros":
        numbers = np.where((numbers >= 0) & (numbers < extent), numbers, -1)
    else:
        numbers = np.clip(_into_borders(numbers, extent, attrs), 0, extent - 1)
    return np.trunc(numbers).astype(np.int64)


OPERATORS: Sequence[Operator] = (
    Operator("GridSample", "extern", infer_grid_sample, grid_sample_reference),
)
