"""Operators that only move elements.

Read `OPERATORS` first. Invariant: every output element is an input element or a constant.
"""

from __future__ import annotations

import math

import numpy as np

from ago.ir.attributes import read_float, read_int, read_ints
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
from ago.ir.ops.window import pad_array
from ago.ir.tensor import TensorType


def infer_reshape(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Reshape(x)` to the attribute `shape`, whose extents are all given."""
    (x,) = required_types(types, 1, 1)
    shape = read_ints(attrs, "shape")
    fits = min(shape, default=1) >= 0 and math.prod(shape) == x.size
    require(fits, f"{x} cannot take the shape {shape}")
    return (TensorType(shape),)


def reshape_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return the elements, in row-major order, in the new shape."""
    return (array(inputs, 0).reshape(read_ints(attrs, "shape")),)


def infer_pad(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Pad(x)`: `pads` elements before each axis, then after each; negative ones crop."""
    (x,) = required_types(types, 1, 1)
    pads = read_ints(attrs, "pads")
    require(len(pads) == 2 * x.rank, f"pads {pads} must be {2 * x.rank} integers")
    befores, afters = pads[: x.rank], pads[x.rank :]
    shape = tuple(e + b + a for e, b, a in zip(x.shape, befores, afters, strict=True))
    left = [
        extent + min(before, 0) + min(after, 0)
        for extent, before, after in zip(x.shape, befores, afters, strict=True)
    ]
    require(min(left, default=1) >= 1, f"pads {pads} crop all of {x}")
    return (TensorType(shape),)


def pad_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `x` with borders of the constant `value`."""
    return (pad_array(array(inputs, 0), read_ints(attrs, "pads"), read_float(attrs, "value")),)


def infer_concat(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Concat(x0, x1, ...)` along `axis`, which is not negative."""
    kinds = required_types(types, 1, max(len(types), 1))
    axis = read_int(attrs, "axis")
    first = kinds[0]
    require(0 <= axis < first.rank, f"axis {axis} is not an axis of {first}")
    for kind in kinds:
        others = (*kind.shape[:axis], *kind.shape[axis + 1 :])
        same = kind.rank == first.rank and others == (*first.shape[:axis], *first.shape[axis + 1 :])
        require(same, f"{kind} and {first} differ on axes other than {axis}")
    total = sum(kind.shape[axis] for kind in kinds)
    return (TensorType((*first.shape[:axis], total, *first.shape[axis + 1 :])),)


def concat_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return the inputs one after the other along `axis`."""
    parts = [array(inputs, position) for position in range(len(inputs))]
    return (np.concatenate(parts, axis=read_int(attrs, "axis")),)


OPERATORS = (
    Operator("Reshape", "movement", infer_reshape, reshape_reference),
    Operator("Pad", "movement", infer_pad, pad_reference),
    Operator("Concat", "movement", infer_concat, concat_reference),
)
