"""Operators whose indices are data.

Read `OPERATORS` first. Invariant: an index may count from the end. Where it is out of range, a
gather reads the nearest element and a scatter stores nothing, so every input has a meaning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from ago.ir.attributes import read_int, read_str
from ago.ir.ops.operands import ANY, INDEX, NUMBER, at_most, operand
from ago.ir.ops.operator import Array, Attrs, InputArrays, InputTypes, Operator, array, require
from ago.ir.tensor import TensorType

REDUCTIONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "none": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "max": np.maximum,
    "min": np.minimum,
}
"""What a scatter makes of the element that is there and the update."""

_MOST_AXES = 8


def infer_gather(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Gather(x, indices)`: slices of `x` along `axis`."""
    at_most(types, 2)
    x, indices = operand(types, 0, "x", ANY), operand(types, 1, "indices", INDEX)
    axis = _axis(attrs, x)
    return (TensorType((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype),)


def gather_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Take slices along `axis`."""
    x, axis = array(inputs, 0), read_int(attrs, "axis")
    return (np.take(x, clamped(array(inputs, 1), x.shape[axis]), axis=axis),)


def infer_gather_elements(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `GatherElements(x, indices)`: one element of `x` for each index."""
    at_most(types, 2)
    x, indices = operand(types, 0, "x", ANY), operand(types, 1, "indices", INDEX)
    _require_within(x, indices, _axis(attrs, x))
    return (TensorType(indices.shape, x.dtype),)


def gather_elements_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Take the element at the index's own position, moved along `axis` to the index."""
    x, indices, axis = array(inputs, 0), array(inputs, 1), read_int(attrs, "axis")
    places: list[Array] = list(np.indices(indices.shape))
    places[axis] = clamped(indices, x.shape[axis])
    return (x[tuple(places)],)


def infer_gather_nd(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `GatherND(x, indices[..., depth])`: a slice of `x` for each tuple of indices."""
    at_most(types, 2)
    x, indices = operand(types, 0, "x", ANY), operand(types, 1, "indices", INDEX)
    batch = read_int(attrs, "batch_dims")
    require(0 <= batch < min(x.rank, indices.rank), f"batch_dims={batch} for {x} and {indices}")
    require(x.shape[:batch] == indices.shape[:batch], f"batches of {x} and {indices} differ")
    depth = indices.shape[-1]
    require(1 <= depth <= x.rank - batch, f"tuples of {depth} indices for {x}")
    return (TensorType((*indices.shape[:-1], *x.shape[batch + depth :]), x.dtype),)


def gather_nd_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Take the slice that each tuple names, within its own batch."""
    x, indices, batch = array(inputs, 0), array(inputs, 1), read_int(attrs, "batch_dims")
    places: list[Array] = list(np.indices(indices.shape[:-1]))
    del places[batch:]
    for k in range(indices.shape[-1]):
        places.append(clamped(indices[..., k], x.shape[batch + k]))
    return (x[tuple(places)],)


def infer_scatter_elements(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `ScatterElements(x, indices, updates)`: that of `x`."""
    x, indices, updates = _scatter_operands(types, attrs)
    require(indices.shape == updates.shape, f"{indices} and {updates} differ in shape")
    _require_within(x, indices, _axis(attrs, x))
    return (TensorType(x.shape, x.dtype),)


def scatter_elements_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Store each update at its own position, moved along `axis` to its index, in order."""
    x, indices, updates = (array(inputs, k) for k in range(3))
    axis, combine = read_int(attrs, "axis"), REDUCTIONS[read_str(attrs, "reduction")]
    result = x.copy()
    extent = x.shape[axis]
    for position in np.ndindex(*indices.shape):
        index = int(indices[position])
        if -extent <= index < extent:
            place = (*position[:axis], index, *position[axis + 1 :])
            result[place] = combine(result[place], updates[position])
    return (result,)


def infer_scatter_nd(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `ScatterND(x, indices[..., depth], updates)`: that of `x`."""
    x, indices, updates = _scatter_operands(types, attrs)
    require(indices.rank >= 1, "indices must not be a scalar")
    depth = indices.shape[-1]
    require(1 <= depth <= x.rank, f"tuples of {depth} indices for {x}")
    wanted = (*indices.shape[:-1], *x.shape[depth:])
    require(updates.shape == wanted, f"updates must have the shape {wanted}, not {updates}")
    return (TensorType(x.shape, x.dtype),)


def scatter_nd_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Store each slice of updates at the place that its tuple names, in order."""
    x, indices, updates = (array(inputs, k) for k in range(3))
    combine = REDUCTIONS[read_str(attrs, "reduction")]
    extents = x.shape[: indices.shape[-1]]
    result = x.copy()
    for position in np.ndindex(*indices.shape[:-1]):
        place = tuple(int(index) for index in indices[position])
        if all(-extent <= index < extent for index, extent in zip(place, extents, strict=True)):
            result[place] = combine(result[place], updates[position])
    return (result,)


def infer_one_hot(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `OneHot(indices, values[2])`: a new axis of extent `depth`, placed at `axis`."""
    at_most(types, 2)
    indices, values = operand(types, 0, "indices", NUMBER), operand(types, 1, "values", ANY)
    require(values.shape == (2,), f"values must be two, not {values}")
    axis, depth = read_int(attrs, "axis"), read_int(attrs, "depth")
    require(0 <= axis <= indices.rank, f"axis {axis} is out of range for {indices}")
    require(depth >= 1, f"depth {depth} must be positive")
    return (TensorType((*indices.shape[:axis], depth, *indices.shape[axis:]), values.dtype),)


def one_hot_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """`values[1]` where the position along the new axis is the index, else `values[0]`."""
    indices, (off, on) = array(inputs, 0), array(inputs, 1)
    axis, depth = read_int(attrs, "axis"), read_int(attrs, "depth")
    numbers = np.trunc(np.nan_to_num(indices)).astype(np.int64)
    wrapped = np.where(numbers < 0, numbers + depth, numbers)
    positions = np.arange(depth).reshape(depth, *[1] * (indices.ndim - axis))
    return (np.where(np.expand_dims(wrapped, axis) == positions, on, off),)


def clamped(indices: Array, extent: int) -> npt.NDArray[np.int64]:
    """Indices counted from the front; the nearest one where out of range."""
    numbers = np.asarray(indices, np.int64)
    return np.clip(np.where(numbers < 0, numbers + extent, numbers), 0, extent - 1)


def _axis(attrs: Attrs, x: TensorType) -> int:
    axis = read_int(attrs, "axis")
    require(0 <= axis < x.rank <= _MOST_AXES, f"axis {axis} is not an axis of {x}")
    return axis


def _require_within(x: TensorType, indices: TensorType, axis: int) -> None:
    fits = indices.rank == x.rank and all(
        own <= extent or d == axis
        for d, (own, extent) in enumerate(zip(indices.shape, x.shape, strict=True))
    )
    require(fits, f"indices {indices} do not fit {x}")
    require(math.prod(indices.shape) > 0, f"indices {indices} are empty")


def _scatter_operands(types: InputTypes, attrs: Attrs) -> tuple[TensorType, TensorType, TensorType]:
    at_most(types, 3)
    reduction = read_str(attrs, "reduction")
    require(reduction in REDUCTIONS, f"reduction {reduction!r} is not one of {list(REDUCTIONS)}")
    x = operand(types, 0, "x", NUMBER if reduction != "none" else NUMBER | {"bool"})
    indices = operand(types, 1, "indices", INDEX)
    updates = operand(types, 2, "updates", {x.dtype})
    require(1 <= x.rank <= _MOST_AXES, f"{x} has no axis, or more than {_MOST_AXES}")
    return x, indices, updates


OPERATORS = (
    Operator("Gather", "extern", infer_gather, gather_reference),
    Operator("GatherElements", "extern", infer_gather_elements, gather_elements_reference),
    Operator("GatherND", "extern", infer_gather_nd, gather_nd_reference),
    Operator("ScatterElements", "extern", infer_scatter_elements, scatter_elements_reference),
    Operator("ScatterND", "extern", infer_scatter_nd, scatter_nd_reference),
    Operator("OneHot", "extern", infer_one_hot, one_hot_reference),
)
