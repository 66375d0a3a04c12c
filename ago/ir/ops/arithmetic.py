"""Arithmetic, element by element: on floats and integers, and on the bits of integers.

Read `OPERATORS` first. Invariant: integers wrap around, and where ONNX leaves a result undefined
(division by zero, shifts by the width) it is that of `ago.ir.functions`. `Max` and `Min` are NaN
where an operand is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ago.ir.attributes import read_int, read_str
from ago.ir.functions import FLOATS, INTEGERS, NUMBERS, REAL_FUNCTIONS, SIGNED, UNSIGNED
from ago.ir.ops.operator import (
    FLOAT32,
    Array,
    Attrs,
    InputTypes,
    Operator,
    require,
    required_types,
)
from ago.ir.ops.pointwise import broadcast_shapes, mapping, pointwise_reference
from ago.ir.tensor import TensorType


def _plain(function: Callable[..., Array]) -> Callable[..., Array]:
    """A meaning that reads no attributes."""
    return lambda *operands: function(*operands[:-1])


def divide(a: Array, b: Array) -> Array:
    """The quotient; of integers that rounded towards zero, 0 where the divisor is."""
    if a.dtype.kind == "f":
        return np.asarray(np.divide(a, b))
    safe = np.where(b == 0, np.ones_like(b), b)
    floor = np.floor_divide(a, safe)
    inexact = (np.remainder(a, safe) != 0) & ((a < 0) != (safe < 0))
    return np.where(b == 0, np.zeros_like(floor), floor + inexact.astype(floor.dtype))


def power(a: Array, b: Array) -> Array:
    """`a` to the power of `b`, in the type of `a`; a fraction of integers is rounded towards 0."""
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        return np.asarray(np.power(a.astype(np.float64), b.astype(np.float64))).astype(a.dtype)
    a, b = np.broadcast_arrays(a, b)
    whole = np.power(a, np.maximum(b, 0).astype(a.dtype))
    sign = np.where(b % 2 == 0, np.ones_like(a), a)
    unit = np.abs(a) == 1 if a.dtype.kind == "i" else a == 1
    return np.where(b >= 0, whole, np.where(unit, sign, np.zeros_like(a)))


def _mod(a: Array, b: Array, attrs: Attrs) -> Array:
    """The remainder, with the sign of `b`, or with that of `a` where `fmod` is 1."""
    function = np.fmod if read_int(attrs, "fmod") else np.remainder
    if a.dtype.kind == "f":
        return np.asarray(function(a, b))
    rest = function(a, np.where(b == 0, np.ones_like(b), b))
    return np.where(b == 0, a, rest)


def _shift(a: Array, b: Array, attrs: Attrs) -> Array:
    left = read_str(attrs, "direction") == "LEFT"
    return np.asarray((np.left_shift if left else np.right_shift)(a, b))


def infer_pow(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Pow(a, b)`: that of `a`; the exponent may be of any other numbers."""
    kinds = required_types(types, 2, 2, INTEGERS | FLOAT32)
    return (TensorType(broadcast_shapes(kinds), kinds[0].dtype),)


def infer_shift(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `BitShift(a, b)` by the attribute `direction`."""
    direction = read_str(attrs, "direction")
    require(direction in ("LEFT", "RIGHT"), f"direction {direction!r} is neither LEFT nor RIGHT")
    return _SHIFT.infer(types, attrs)


_SHIFT = mapping("BitShift", _shift, 2, UNSIGNED)

_BINARY: tuple[tuple[str, Callable[..., Array], frozenset[str]], ...] = (
    ("Add", np.add, NUMBERS),
    ("Sub", np.subtract, NUMBERS),
    ("Mul", np.multiply, NUMBERS),
    ("Div", divide, NUMBERS),
    ("Max", np.maximum, NUMBERS),
    ("Min", np.minimum, NUMBERS),
    ("BitwiseAnd", np.bitwise_and, INTEGERS),
    ("BitwiseOr", np.bitwise_or, INTEGERS),
    ("BitwiseXor", np.bitwise_xor, INTEGERS),
)

_UNARY: tuple[tuple[str, Callable[..., Array], frozenset[str]], ...] = (
    ("Abs", np.abs, NUMBERS),
    ("Neg", np.negative, FLOATS | SIGNED),
    ("Sign", np.sign, NUMBERS),
    ("Reciprocal", lambda x: np.divide(1.0, x), FLOAT32),
    ("BitwiseNot", np.bitwise_not, INTEGERS),
)

REAL_OPERATORS = {
    "Sqrt": "sqrt",
    "Floor": "floor",
    "Ceil": "ceil",
    "Round": "round",
    "Exp": "exp",
    "Log": "log",
    "Sin": "sin",
    "Cos": "cos",
    "Tan": "tan",
    "Asin": "asin",
    "Acos": "acos",
    "Atan": "atan",
    "Sinh": "sinh",
    "Cosh": "cosh",
    "Tanh": "tanh",
    "Asinh": "asinh",
    "Acosh": "acosh",
    "Atanh": "atanh",
    "Erf": "erf",
    "Sigmoid": "sigmoid",
}
"""Operators that are one function of a real number, and its name in `ago.ir.functions`."""

OPERATORS = (
    *(mapping(name, _plain(function), 2, dtypes) for name, function, dtypes in _BINARY),
    *(mapping(name, _plain(function), 1, dtypes) for name, function, dtypes in _UNARY),
    *(mapping(name, _plain(REAL_FUNCTIONS[function])) for name, function in REAL_OPERATORS.items()),
    Operator("Pow", "elementwise", infer_pow, pointwise_reference(_plain(power))),
    mapping("Mod", _mod, 2, INTEGERS | FLOAT32),
    Operator("BitShift", "elementwise", infer_shift, _SHIFT.reference),
)
