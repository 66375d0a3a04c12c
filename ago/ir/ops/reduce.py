"""Reductions over whole axes.

Read `OPERATORS` first. Invariant: `axes` are non-negative, ascending and distinct.
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


def infer_reduce(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of a reduction of `x` over `axes`, which stay as extents of 1 with `keepdims`."""
    (x,) = required_types(types, 1, 1)
    axes = read_ints(attrs, "axes")
    good = list(axes) == sorted(set(axes)) and all(0 <= axis < x.rank for axis in axes)
    require(good, f"axes {axes} must be ascending axes of {x}")
    if read_int(attrs, "keepdims"):
        shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(x.shape))
    else:
        shape = tuple(extent for axis, extent in enumerate(x.shape) if axis not in axes)
    return (TensorType(shape),)


def reduce_mean_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return the mean over `axes`."""
    axes, keepdims = read_ints(attrs, "axes"), bool(read_int(attrs, "keepdims"))
    with np.errstate(invalid="ignore", over="ignore"):
        return (np.asarray(array(inputs, 0).mean(axis=axes, keepdims=keepdims)),)


def infer_global_pool(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of a pool of `x[N,C,spatial...]` over all its spatial axes."""
    (x,) = required_types(types, 1, 1)
    require(x.rank >= 3, f"needs an input [N,C,spatial...], not {x}")
    return (TensorType((*x.shape[:2], *[1] * (x.rank - 2))),)


def global_average_pool_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return the mean over all spatial axes."""
    x = array(inputs, 0)
    with np.errstate(invalid="ignore", over="ignore"):
        return (np.asarray(x.mean(axis=tuple(range(2, x.ndim)), keepdims=True)),)


OPERATORS = (
    Operator("ReduceMean", "reduction", infer_reduce, reduce_mean_reference),
    Operator("GlobalAveragePool", "reduction", infer_global_pool, global_average_pool_reference),
)
