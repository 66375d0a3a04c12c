"""Activation functions.

Read `OPERATORS` first. Invariant: each is its definition taken literally, infinities and NaN
included: `ThresholdedRelu` and `Shrink` say "0 otherwise", so NaN becomes 0 there; all others
return NaN for NaN. `HardSwish`, `Swish`, `Gelu` and `Mish` are a product, so that of minus infinity
and 0 is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ago.ir.attributes import read_float, read_str
from ago.ir.functions import INTEGERS, REAL_FUNCTIONS
from ago.ir.ops.operator import (
    FLOAT32,
    Array,
    Attrs,
    InputTypes,
    Operator,
    require,
)
from ago.ir.ops.pointwise import mapping
from ago.ir.tensor import TensorType

_erf, _sigmoid = REAL_FUNCTIONS["erf"], REAL_FUNCTIONS["sigmoid"]


def _hard_sigmoid(x: Array, attrs: Attrs) -> Array:
    line = read_float(attrs, "alpha") * x + read_float(attrs, "beta")
    return np.maximum(0.0, np.minimum(1.0, line))


def _hard_swish(x: Array, attrs: Attrs) -> Array:
    return x * np.maximum(0.0, np.minimum(1.0, x / 6.0 + 0.5))


def _elu(x: Array, attrs: Attrs) -> Array:
    return np.where(x < 0, read_float(attrs, "alpha") * np.expm1(x), x)


def _selu(x: Array, attrs: Attrs) -> Array:
    alpha, gamma = read_float(attrs, "alpha"), read_float(attrs, "gamma")
    return gamma * np.where(x <= 0, alpha * np.expm1(x), x)


def _celu(x: Array, attrs: Attrs) -> Array:
    alpha = read_float(attrs, "alpha")
    return np.where(x < 0, alpha * np.expm1(x / alpha), x)


def _leaky_relu(x: Array, attrs: Attrs) -> Array:
    return np.where(x < 0, read_float(attrs, "alpha") * x, x)


def _prelu(x: Array, slope: Array, attrs: Attrs) -> Array:
    return np.where(x < 0, slope * x, x)


def _thresholded_relu(x: Array, attrs: Attrs) -> Array:
    return np.where(x > read_float(attrs, "alpha"), x, 0.0)


def _softplus(x: Array, attrs: Attrs) -> Array:
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def _softsign(x: Array, attrs: Attrs) -> Array:
    return x / (1.0 + np.abs(x))


def _mish(x: Array, attrs: Attrs) -> Array:
    return x * np.tanh(_softplus(x, attrs))


def _gelu(x: Array, attrs: Attrs) -> Array:
    if read_str(attrs, "approximate") == "tanh":
        return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    return np.asarray(0.5 * x * (1.0 + _erf(x / math.sqrt(2.0))))


def _swish(x: Array, attrs: Attrs) -> Array:
    return np.asarray(x * _sigmoid(read_float(attrs, "alpha") * x))


def _shrink(x: Array, attrs: Attrs) -> Array:
    edge, bias = read_float(attrs, "lambd"), read_float(attrs, "bias")
    return np.where(x < -edge, x + bias, np.where(x > edge, x - bias, 0.0))


def _checked(row: Operator, check: Callable[[Attrs], None]) -> Operator:
    """A row that also checks attributes."""

    def infer(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
        check(attrs)
        return row.infer(types, attrs)

    return Operator(row.name, row.kind, infer, row.reference)


def _check_celu(attrs: Attrs) -> None:
    require(read_float(attrs, "alpha") != 0.0, "alpha must not be 0")


def _check_gelu(attrs: Attrs) -> None:
    form = read_str(attrs, "approximate")
    require(form in ("none", "tanh"), f"approximate {form!r} is neither 'none' nor 'tanh'")


OPERATORS = (
    mapping("HardSigmoid", _hard_sigmoid),
    mapping("HardSwish", _hard_swish),
    mapping("Elu", _elu),
    mapping("Selu", _selu),
    _checked(mapping("Celu", _celu), _check_celu),
    mapping("LeakyRelu", _leaky_relu),
    mapping("PRelu", _prelu, 2, FLOAT32 | INTEGERS),
    mapping("ThresholdedRelu", _thresholded_relu),
    mapping("Softplus", _softplus),
    mapping("Softsign", _softsign),
    mapping("Mish", _mish),
    _checked(mapping("Gelu", _gelu), _check_gelu),
    mapping("Swish", _swish),
    mapping("Shrink", _shrink),
)
