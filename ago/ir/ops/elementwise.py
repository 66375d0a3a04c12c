"""Identity, clamps and the normalisation by given statistics.

Read `OPERATORS` first. Invariant: NaN goes in, NaN comes out (also of Relu and Clip).
"""

from __future__ import annotations

import math

import numpy as np

from ago.ir.attributes import read_float
from ago.ir.functions import ELEMENTS, NUMBERS
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


def infer_identity(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Identity(x)`, of any element type."""
    (x,) = required_types(types, 1, 1, ELEMENTS)
    return (TensorType(x.shape, x.dtype),)


def infer_relu(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Relu(x)`, of any numbers."""
    (x,) = required_types(types, 1, 1, NUMBERS)
    return (TensorType(x.shape, x.dtype),)


def infer_clip(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Clip(x)`; neither bound may be NaN."""
    for name in ("min", "max"):
        require(not math.isnan(read_float(attrs, name)), f"{name} must not be NaN")
    (x,) = required_types(types, 1, 1)
    return (TensorType(x.shape),)


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
    x = array(inputs, 0)
    return (np.maximum(x, x.dtype.type(0)),)


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


OPERATORS = (
    Operator("Identity", "elementwise", infer_identity, identity_reference),
    Operator("Relu", "elementwise", infer_relu, relu_reference),
    Operator("Clip", "elementwise", infer_clip, clip_reference),
    Operator("BatchNormalization", "elementwise", infer_batch_norm, batch_norm_reference),
)
