"""Operators that map elements one by one.

Read `OPERATORS` first. Invariant: NaN goes in, NaN comes out (also of Relu and Clip).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ago.errors import ModelError
from ago.ir.attributes import read_float
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


def infer_unary(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of an operator whose one input and output have the same shape."""
    (x,) = required_types(types, 1, 1)
    return (TensorType(x.shape),)


def infer_clip(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Clip(x)`; neither bound may be NaN."""
    for name in ("min", "max"):
        require(not math.isnan(read_float(attrs, name)), f"{name} must not be NaN")
    return infer_unary(types, attrs)


def infer_binary(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of an operator on two tensors that broadcast as numpy's do."""
    a, b = required_types(types, 2, 2)
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise ModelError(f"{a} and {b} do not broadcast") from None
    return (TensorType(tuple(int(extent) for extent in shape)),)


def infer_batch_norm(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `BatchNormalization(x[N,C,...], scale[C], bias[C], mean[C], var[C])`."""
    x, *statistics = required_types(types, 5, 5)
    require(x.rank >= 2, f"needs an input [N,C,...], not {x}")
    for name, kind in zip(("scale", "bias", "mean", "var"), statistics, strict=True):
        require(kind.shape == x.shape[1:2], f"{name} {kind} must have the shape {x.shape[1:2]}")
    return (TensorType(x.shape),)


def identity_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return the input."""
    return (array(inputs, 0),)


def relu_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `max(x, 0)`; NaN stays NaN."""
    return (np.maximum(array(inputs, 0), 0.0),)


def clip_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `min(max(x, min), max)`; NaN stays NaN, and `max` wins where `min > max`."""
    low, high = read_float(attrs, "min"), read_float(attrs, "max")
    return (np.minimum(np.maximum(array(inputs, 0), low), high),)


def batch_norm_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `(x - mean) / sqrt(var + epsilon) * scale + bias`, channel by channel."""
    x = array(inputs, 0)
    scale, bias, mean, var = (
        array(inputs, position).reshape(-1, *[1] * (x.ndim - 2)) for position in range(1, 5)
    )
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return ((x - mean) / np.sqrt(var + read_float(attrs, "epsilon")) * scale + bias,)


def _binary(name: str, function: Callable[[Array, Array], Array]) -> Operator:
    def reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return (function(array(inputs, 0), array(inputs, 1)),)

    return Operator(name, "elementwise", infer_binary, reference)


OPERATORS = (
    Operator("Identity", "elementwise", infer_unary, identity_reference),
    Operator("Relu", "elementwise", infer_unary, relu_reference),
    Operator("Clip", "elementwise", infer_clip, clip_reference),
    Operator("BatchNormalization", "elementwise", infer_batch_norm, batch_norm_reference),
    _binary("Add", np.add),
    _binary("Sub", np.subtract),
    _binary("Mul", np.multiply),
    _binary("Div", np.divide),
)
