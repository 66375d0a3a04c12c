"""Weighted sums of a few elements along an axis, at places known at compile time.

Read `OPERATORS` first. Invariant: each output element is a sum of as many taps; which elements they
are is an attribute, how much each weighs a constant input.
"""

from __future__ import annotations

import numpy as np

from ago.ir.attributes import read_int, read_ints
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


def infer_interpolate(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Interpolate(x, weights[extent,taps])` along `axis`.

    The attribute `indices` holds the `extent * taps` places of the elements that are weighed.
    """
    x, weights = required_types(types, 2, 2)
    axis, indices = read_int(attrs, "axis"), read_ints(attrs, "indices")
    require(0 <= axis < x.rank, f"axis {axis} is not an axis of {x}")
    fits = weights.rank == 2 and len(indices) == weights.size and weights.shape[1] >= 1
    require(fits, f"{len(indices)} indices for the weights {weights}")
    inside = min(indices, default=0) >= 0 and max(indices, default=-1) < x.shape[axis]
    require(inside, f"an index lies outside the {x.shape[axis]} elements of axis {axis}")
    return (TensorType((*x.shape[:axis], weights.shape[0], *x.shape[axis + 1 :])),)


def interpolate_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return the weighted sums, tap by tap in order."""
    x, weights = array(inputs, 0), array(inputs, 1)
    axis = read_int(attrs, "axis")
    places = np.array(read_ints(attrs, "indices"), np.int64).reshape(weights.shape)
    spread = (-1, *[1] * (x.ndim - 1 - axis))
    with np.errstate(invalid="ignore", over="ignore"):
        taps = [
            x.take(places[:, tap], axis=axis) * weights[:, tap].reshape(spread)
            for tap in range(weights.shape[1])
        ]
        return (np.asarray(sum(taps)),)


OPERATORS = (Operator("Interpolate", "reduction", infer_interpolate, interpolate_reference),)
