"""Reductions over whole axes.

Read `OPERATORS` first. Invariant: `axes` are non-negative, ascending and distinct; none of them
means that each element is a set of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

import numpy as np

from ago.ir.attributes import read_int, read_ints
from ago.ir.functions import NUMBERS, neutral
from ago.ir.ops.operator import (
    FLOAT32,
    Array,
    Attrs,
    InputArrays,
    InputTypes,
    Operator,
    array,
    require,
    required_types,
)
from ago.ir.tensor import TensorType, dtype_name

Reduction = Callable[..., Array]
"""Takes an array, `axis` and `keepdims`, as numpy's reductions do."""


def infer_reduce(
    types: InputTypes, attrs: Attrs, dtypes: Collection[str] = FLOAT32
) -> tuple[TensorType, ...]:
    """Type of a reduction of `x` over `axes`, which stay as extents of 1 with `keepdims`."""
    (x,) = required_types(types, 1, 1, dtypes)
    axes = read_ints(attrs, "axes")
    good = list(axes) == sorted(set(axes)) and all(0 <= axis < x.rank for axis in axes)
    require(good, f"axes {axes} must be ascending axes of {x}")
    if read_int(attrs, "keepdims"):
        shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(x.shape))
    else:
        shape = tuple(extent for axis, extent in enumerate(x.shape) if axis not in axes)
    return (TensorType(shape, x.dtype),)


def infer_global_pool(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of a pool of `x[N,C,spatial...]` over all its spatial axes."""
    (x,) = required_types(types, 1, 1)
    require(x.rank >= 3, f"needs an input [N,C,spatial...], not {x}")
    return (TensorType((*x.shape[:2], *[1] * (x.rank - 2)), x.dtype),)


def global_average_pool_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return the mean over all spatial axes."""
    x = array(inputs, 0)
    with np.errstate(invalid="ignore", over="ignore"):
        return (np.asarray(x.mean(axis=tuple(range(2, x.ndim)), keepdims=True)),)


def log_sum_exp(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """Return `log(sum(exp(x)))`, exact where the largest exponential overflows.

    A set that is empty or holds only minus infinity gives minus infinity.
    """
    top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    shift = np.where(np.isinf(top), 0.0, top)
    total = np.sum(np.exp(x - shift), axis=axis, keepdims=True)
    result: Array = np.log(total) + shift
    return result if keepdims else np.asarray(np.squeeze(result, axis))


def _reduction(name: str, function: Reduction, dtypes: Collection[str] = NUMBERS) -> Operator:
    def infer(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
        return infer_reduce(types, attrs, dtypes)

    def reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
        axes, keepdims = read_ints(attrs, "axes"), bool(read_int(attrs, "keepdims"))
        x = array(inputs, 0)
        with np.errstate(all="ignore"):
            result = np.asarray(function(x, axis=axes, keepdims=keepdims))
        return (result.astype(x.dtype),)

    return Operator(name, "reduction", infer, reference)


def _extreme(name: str, function: Callable[..., Array]) -> Reduction:
    """`np.max` or `np.min`, which of an empty set is the type's last number."""

    def reduce(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
        start = neutral(name, "f64" if x.dtype.kind == "f" else dtype_name(x.dtype))
        return np.asarray(function(x, axis=axis, keepdims=keepdims, initial=start))

    return reduce


def _of(function: Reduction, before: Callable[[Array], Array]) -> Reduction:
    """`function` of each element's `before`."""
    return lambda x, axis, keepdims: function(before(x), axis=axis, keepdims=keepdims)


def _then(after: Callable[[Array], Array], function: Reduction) -> Reduction:
    """`after` of what `function` gives."""
    return lambda x, axis, keepdims: after(function(x, axis=axis, keepdims=keepdims))


def _mean(x: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """The mean; of integers, their sum in their own type, divided and rounded towards zero."""
    if x.dtype.kind == "f":
        return np.asarray(x.mean(axis=axis, keepdims=keepdims))
    total = x.sum(axis=axis, keepdims=keepdims, dtype=x.dtype)
    count = max(math.prod(x.shape[d] for d in axis), 1)
    return np.asarray(total // count + ((total < 0) & (total % count != 0)))


_sum_of_squares = _of(np.sum, np.square)

OPERATORS = (
    _reduction("ReduceMean", _mean),
    _reduction("ReduceSum", np.sum),
    _reduction("ReduceProd", np.prod),
    _reduction("ReduceMax", _extreme("max", np.max)),
    _reduction("ReduceMin", _extreme("min", np.min)),
    _reduction("ReduceL1", _of(np.sum, np.abs)),
    _reduction("ReduceL2", _then(np.sqrt, _sum_of_squares), FLOAT32),
    _reduction("ReduceSumSquare", _sum_of_squares),
    _reduction("ReduceLogSum", _then(np.log, np.sum), FLOAT32),
    _reduction("ReduceLogSumExp", log_sum_exp, FLOAT32),
    Operator("GlobalAveragePool", "reduction", infer_global_pool, global_average_pool_reference),
)
