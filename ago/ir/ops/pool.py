"""Pooling over sliding windows.

Read `OPERATORS` first. Invariant: positions in the padding take no part in a maximum.
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
from ago.ir.ops.window import Window, pad_array
from ago.ir.tensor import TensorType


def infer_pool(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of a pool of `x[N,C,spatial...]` over windows of `kernel_shape`."""
    (x,) = required_types(types, 1, 1)
    require(x.rank >= 3, f"needs an input [N,C,spatial...], not {x}")
    window = Window.read(attrs, read_ints(attrs, "kernel_shape"))
    require(min(window.pads) >= 0, f"pads {window.pads} must not be negative")
    rank = len(window.kernel)
    reach = [(k - 1) * d + 1 for k, d in zip(window.kernel, window.dilations, strict=True)]
    inside = all(pad < reach[axis % rank] for axis, pad in enumerate(window.pads))
    require(inside, f"pads {window.pads} must be smaller than the window {tuple(reach)}")
    extents = window.output_extents(x.shape[2:], bool(read_int(attrs, "ceil_mode")))
    return (TensorType((*x.shape[:2], *extents)),)


def max_pool_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return each window's maximum; a NaN in the window makes it NaN."""
    x = array(inputs, 0)
    window, extents, padded = _windows(x, attrs, -np.inf)
    result = np.full((*x.shape[:2], *extents), -np.inf)
    for values in window.taps(padded, extents):
        result = np.maximum(result, values)
    return (result,)


def average_pool_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return each window's mean.

    With `count_include_pad` the padding counts as zeros; positions past it, which `ceil_mode`
    reaches, never count.
    """
    x = array(inputs, 0)
    window, extents, padded = _windows(x, attrs, 0.0)
    rank = len(extents)
    inside = np.ones((1, 1, *x.shape[2:]))
    if read_int(attrs, "count_include_pad"):
        explicit = (0, 0, *window.pads[:rank], 0, 0, *window.pads[rank:])
        inside = pad_array(inside, explicit, 1.0)
        missing = np.subtract(padded.shape[2:], inside.shape[2:])
        counted = pad_array(inside, (*[0] * (rank + 4), *missing.tolist()), 0.0)
    else:
        counted = _windows(inside, attrs, 0.0)[2]
    total = np.zeros((*x.shape[:2], *extents))
    count = np.zeros((1, 1, *extents))
    with np.errstate(invalid="ignore"):
        for values in window.taps(padded, extents):
            total = total + values
    for values in window.taps(counted, extents):
        count = count + values
    return (total / count,)


def infer_lp_pool(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of a pool by norms of order `p`, which is positive."""
    kinds = infer_pool(types, attrs)
    order = read_int(attrs, "p")
    require(order >= 1, f"p {order} must be positive")
    return kinds


def lp_pool_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return each window's norm `sum(|x|^p)^(1/p)`; the padding takes no part."""
    order = read_int(attrs, "p")
    with np.errstate(invalid="ignore", over="ignore"):
        powers = np.abs(array(inputs, 0)) ** order
        window, extents, padded = _windows(powers, attrs, 0.0)
        total = np.zeros((*powers.shape[:2], *extents))
        for values in window.taps(padded, extents):
            total = total + values
        return (total ** (1.0 / order),)


def _windows(x: Array, attrs: Attrs, value: float) -> tuple[Window, tuple[int, ...], Array]:
    """Return the window, the number of windows, and `x` padded as far as the last one reaches."""
    window = Window.read(attrs, read_ints(attrs, "kernel_shape"))
    extents = window.output_extents(x.shape[2:], bool(read_int(attrs, "ceil_mode")))
    pads = window.covering_pads(x.shape[2:], extents)
    rank = len(extents)
    return window, extents, pad_array(x, (0, 0, *pads[:rank], 0, 0, *pads[rank:]), value)


OPERATORS = (
    Operator("MaxPool", "reduction", infer_pool, max_pool_reference),
    Operator("AveragePool", "reduction", infer_pool, average_pool_reference),
    Operator("LpPool", "reduction", infer_lp_pool, lp_pool_reference),
)
