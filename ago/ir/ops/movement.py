"""Operators that only move elements, whatever their type.

Read `OPERATORS` first. Invariant: every output element is an input element or a constant, and which
one depends on nothing but its place.
"""

from __future__ import annotations

import math

import numpy as np

from ago.ir.attributes import read_int, read_ints
from ago.ir.functions import ELEMENTS
from ago.ir.ops.operator import (
    Array,
    Attrs,
    InputArrays,
    InputTypes,
    Operator,
    array,
    require,
    require_same_dtype,
    required_types,
)
from ago.ir.tensor import TensorType


def infer_reshape(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Reshape(x)` to the attribute `shape`, whose extents are all given."""
    (x,) = required_types(types, 1, 1, ELEMENTS)
    shape = read_ints(attrs, "shape")
    fits = min(shape, default=1) >= 0 and math.prod(shape) == x.size
    require(fits, f"{x} cannot take the shape {shape}")
    return (TensorType(shape, x.dtype),)


def reshape_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return the elements, in row-major order, in the new shape."""
    return (array(inputs, 0).reshape(read_ints(attrs, "shape")),)


def infer_transpose(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Transpose(x)`: axis `d` of the result is axis `perm[d]` of `x`."""
    (x,) = required_types(types, 1, 1, ELEMENTS)
    perm = read_ints(attrs, "perm")
    require(sorted(perm) == list(range(x.rank)), f"perm {perm} does not reorder the axes of {x}")
    return (TensorType(tuple(x.shape[axis] for axis in perm), x.dtype),)


def transpose_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `x` with its axes in another order."""
    return (array(inputs, 0).transpose(read_ints(attrs, "perm")),)


def infer_slice(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Slice(x)`: `shape[d]` elements from `starts[d]` on, `steps[d]` apart, of each axis.

    All elements lie inside `x`; steps are not 0, and negative ones walk backwards.
    """
    (x,) = required_types(types, 1, 1, ELEMENTS)
    starts, steps, shape = (read_ints(attrs, name) for name in ("starts", "steps", "shape"))
    require(
        len(starts) == len(steps) == len(shape) == x.rank,
        f"starts {starts}, steps {steps} and shape {shape} must have an entry an axis of {x}",
    )
    for extent, start, step, count in zip(x.shape, starts, steps, shape, strict=True):
        last = start + (count - 1) * step
        inside = count == 0 or (0 <= start < extent and 0 <= last < extent)
        require(step != 0 and count >= 0, f"steps {steps} and shape {shape} make no slice")
        require(inside, f"starts {starts}, steps {steps}, shape {shape} leave {x}")
    return (TensorType(shape, x.dtype),)


def slice_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return every `steps[d]`-th element along each axis."""
    rows = (read_ints(attrs, name) for name in ("starts", "steps", "shape"))
    places = [start + step * np.arange(count) for start, step, count in zip(*rows, strict=True)]
    return (array(inputs, 0)[np.ix_(*places)] if places else array(inputs, 0),)


def infer_expand(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Expand(x)`: `x` broadcast to `shape`."""
    (x,) = required_types(types, 1, 1, ELEMENTS)
    shape = read_ints(attrs, "shape")
    tail = shape[len(shape) - x.rank :]
    fits = len(shape) >= x.rank and all(e in (1, t) for e, t in zip(x.shape, tail, strict=True))
    require(fits, f"{x} does not broadcast to {shape}")
    return (TensorType(shape, x.dtype),)


def expand_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `x` repeated along new axes and along those of extent 1."""
    return (np.broadcast_to(array(inputs, 0), read_ints(attrs, "shape")).copy(),)


def infer_tile(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Tile(x)`: `repeats[d]` copies behind one another along each axis."""
    (x,) = required_types(types, 1, 1, ELEMENTS)
    repeats = read_ints(attrs, "repeats")
    good = len(repeats) == x.rank and min(repeats, default=0) >= 0
    require(good, f"repeats {repeats} must be a count an axis of {x}")
    return (TensorType(tuple(e * r for e, r in zip(x.shape, repeats, strict=True)), x.dtype),)


def tile_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `x` copied along each axis."""
    return (np.tile(array(inputs, 0), read_ints(attrs, "repeats")),)


def infer_concat(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Concat(x0, x1, ...)` along `axis`, which is not negative."""
    kinds = required_types(types, 1, max(len(types), 1), ELEMENTS)
    axis = read_int(attrs, "axis")
    first = kinds[0]
    require(0 <= axis < first.rank, f"axis {axis} is not an axis of {first}")
    for kind in kinds:
        others = (*kind.shape[:axis], *kind.shape[axis + 1 :])
        same = kind.rank == first.rank and others == (*first.shape[:axis], *first.shape[axis + 1 :])
        require(same, f"{kind} and {first} differ on axes other than {axis}")
    require_same_dtype(kinds)
    total = sum(kind.shape[axis] for kind in kinds)
    return (TensorType((*first.shape[:axis], total, *first.shape[axis + 1 :]), first.dtype),)


def concat_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return the inputs one after the other along `axis`."""
    parts = [array(inputs, position) for position in range(len(inputs))]
    return (np.concatenate(parts, axis=read_int(attrs, "axis")),)


def infer_take(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Take(x)`: the elements at the constant `indices` along `axis`, in their order."""
    (x,) = required_types(types, 1, 1, ELEMENTS)
    axis, indices = read_int(attrs, "axis"), read_ints(attrs, "indices")
    require(0 <= axis < x.rank, f"axis {axis} is not an axis of {x}")
    extent = x.shape[axis]
    inside = min(indices, default=0) >= 0 and max(indices, default=-1) < extent
    require(inside, f"an index lies outside the {extent} elements of axis {axis}")
    return (TensorType((*x.shape[:axis], len(indices), *x.shape[axis + 1 :]), x.dtype),)


def take_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return the elements at `indices` along `axis`."""
    indices = np.array(read_ints(attrs, "indices"), np.int64)
    return (array(inputs, 0).take(indices, axis=read_int(attrs, "axis")),)


def infer_trilu(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Trilu(x)`: the triangles of matrices `x[..., rows, columns]`."""
    (x,) = required_types(types, 1, 1, ELEMENTS)
    require(x.rank >= 2, f"needs matrices, not {x}")
    return (TensorType(x.shape, x.dtype),)


def trilu_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return the part on and above the diagonal `k`, or on and below it; the rest is 0."""
    triangle = np.triu if read_int(attrs, "upper") else np.tril
    return (triangle(array(inputs, 0), read_int(attrs, "k")),)


OPERATORS = (
    Operator("Reshape", "movement", infer_reshape, reshape_reference, permutes=True),
    Operator("Transpose", "movement", infer_transpose, transpose_reference, permutes=True),
    Operator("Slice", "movement", infer_slice, slice_reference),
    Operator("Expand", "movement", infer_expand, expand_reference),
    Operator("Tile", "movement", infer_tile, tile_reference),
    Operator("Concat", "movement", infer_concat, concat_reference),
    Operator("Take", "movement", infer_take, take_reference),
    Operator("Trilu", "movement", infer_trilu, trilu_reference),
)
