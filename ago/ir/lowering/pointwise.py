"""Expressions of the operators that map elements: one table row each.

Read `POINTWISE` first. An expression makes the value of one element from those of its operands,
which have one element type. Constants stand in front of `max` and `min`, so that NaN is passed on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ago.ir.attributes import read_float, read_int, read_str
from ago.ir.functions import FLOATS, UNSIGNED
from ago.ir.graph import Node
from ago.ir.ops.arithmetic import REAL_OPERATORS
from ago.ir.value import Call, Const, Value

Expression = Callable[[Node, list[Value]], Value]


def _call(function: str, *operands: Value | float) -> Value:
    """A call; numbers among the operands are f32 constants."""
    return Call(function, tuple(Const(x) if isinstance(x, float) else x for x in operands))


def _number(node: Node, number: int) -> Const:
    """A constant of the type of the node's result."""
    dtype = node.type.dtype
    return Const(float(number) if dtype in FLOATS else number, dtype)


def _function(name: str) -> Expression:
    """A function of all operands."""
    return lambda node, operands: Call(name, tuple(operands))


def _swapped(name: str) -> Expression:
    """A function of two operands, the second one first."""
    return lambda node, operands: Call(name, (operands[1], operands[0]))


def _extreme(name: str) -> Expression:
    """`max` or `min`; of floats NaN where either is."""

    def expression(node: Node, operands: list[Value]) -> Value:
        return _call(f"nan{name}" if node.type.dtype in FLOATS else name, *operands)

    return expression


def _sign(node: Node, operands: list[Value]) -> Value:
    (x,) = operands
    zero, one = _number(node, 0), _number(node, 1)
    below = x
    if node.type.dtype not in UNSIGNED:
        below = _call("where", _call("less", x, zero), _number(node, -1), x)
    return _call("where", _call("less", zero, x), one, below)


def _mod(node: Node, operands: list[Value]) -> Value:
    if read_int(node.attrs, "fmod"):
        return _call("fmod", *operands)
    if node.type.dtype not in FLOATS:
        return _call("mod", *operands)
    rest, divisor = _call("fmod", *operands), operands[1]
    other_sign = _call("xor", _call("less", rest, 0.0), _call("less", divisor, 0.0))
    inexact = _call("not", _call("equal", rest, 0.0))
    floored = _call("and", inexact, other_sign)
    return _call("where", floored, _call("add", rest, divisor), rest)


def _shift(node: Node, operands: list[Value]) -> Value:
    return _call(f"shift_{read_str(node.attrs, 'direction').lower()}", *operands)


def _is_inf(node: Node, operands: list[Value]) -> Value:
    (x,) = operands
    detected = [
        _call("equal", x, number)
        for name, number in (("negative", -math.inf), ("positive", math.inf))
        if read_int(node.attrs, f"detect_{name}")
    ]
    if not detected:
        return Const(False, "bool")
    return detected[0] if len(detected) == 1 else _call("or", *detected)


def _relu(node: Node, operands: list[Value]) -> Value:
    return _call("max", _number(node, 0), operands[0])


def _hard_sigmoid_of(line: Value) -> Value:
    return _call("max", 0.0, _call("min", 1.0, line))


def _hard_sigmoid(node: Node, operands: list[Value]) -> Value:
    slope, offset = read_float(node.attrs, "alpha"), read_float(node.attrs, "beta")
    return _hard_sigmoid_of(_call("add", _call("mul", slope, operands[0]), offset))


def _hard_swish(node: Node, operands: list[Value]) -> Value:
    (x,) = operands
    line = _call("add", _call("mul", x, 1.0 / 6.0), 0.5)
    return _call("mul", x, _hard_sigmoid_of(line))


def _if_negative(x: Value, then: Value, otherwise: Value) -> Value:
    return _call("where", _call("less", x, 0.0), then, otherwise)


def _exp_minus_one(x: Value) -> Value:
    return _call("sub", _call("exp", x), 1.0)


def _elu(node: Node, operands: list[Value]) -> Value:
    (x,) = operands
    return _if_negative(x, _call("mul", read_float(node.attrs, "alpha"), _exp_minus_one(x)), x)


def _selu(node: Node, operands: list[Value]) -> Value:
    (x,) = operands
    alpha, gamma = read_float(node.attrs, "alpha"), read_float(node.attrs, "gamma")
    below = _call("mul", gamma * alpha, _exp_minus_one(x))
    return _if_negative(x, below, _call("mul", gamma, x))


def _celu(node: Node, operands: list[Value]) -> Value:
    (x,) = operands
    alpha = read_float(node.attrs, "alpha")
    return _if_negative(x, _call("mul", alpha, _exp_minus_one(_call("div", x, alpha))), x)


def _leaky_relu(node: Node, operands: list[Value]) -> Value:
    (x,) = operands
    return _if_negative(x, _call("mul", read_float(node.attrs, "alpha"), x), x)


def _prelu(node: Node, operands: list[Value]) -> Value:
    x, slope = operands
    if node.type.dtype in UNSIGNED:
        return x
    below = _call("less", x, _number(node, 0))
    return _call("where", below, _call("mul", slope, x), x)


def _thresholded_relu(node: Node, operands: list[Value]) -> Value:
    (x,) = operands
    return _call("where", _call("less", read_float(node.attrs, "alpha"), x), x, 0.0)


def _softplus_of(x: Value) -> Value:
    """`max(0, x) + log(1 + e)` with `e = exp(-|x|)`; a factor corrects the rounding of `1 + e`."""
    small = _call("exp", _call("neg", _call("abs", x)))
    total = _call("add", 1.0, small)
    correction = _call("div", small, _call("sub", total, 1.0))
    logarithm = _call(
        "where", _call("equal", total, 1.0), small, _call("mul", _call("log", total), correction)
    )
    return _call("add", _call("max", 0.0, x), logarithm)


def _softplus(node: Node, operands: list[Value]) -> Value:
    return _softplus_of(operands[0])


def _softsign(node: Node, operands: list[Value]) -> Value:
    (x,) = operands
    return _call("div", x, _call("add", 1.0, _call("abs", x)))


def _mish(node: Node, operands: list[Value]) -> Value:
    (x,) = operands
    return _call("mul", x, _call("tanh", _softplus_of(x)))


def _gelu(node: Node, operands: list[Value]) -> Value:
    (x,) = operands
    if read_str(node.attrs, "approximate") == "none":
        return _call("gelu", x)
    cube = _call("mul", _call("mul", x, x), x)
    inner = _call("add", x, _call("mul", 0.044715, cube))
    share = _call("tanh", _call("mul", math.sqrt(2.0 / math.pi), inner))
    return _call("mul", _call("mul", 0.5, x), _call("add", 1.0, share))


def _swish(node: Node, operands: list[Value]) -> Value:
    (x,) = operands
    alpha = read_float(node.attrs, "alpha")
    if alpha == 1.0:
        return _call("silu", x)
    return _call("mul", x, _call("sigmoid", _call("mul", alpha, x)))


def _shrink(node: Node, operands: list[Value]) -> Value:
    (x,) = operands
    edge, bias = read_float(node.attrs, "lambd"), read_float(node.attrs, "bias")
    above = _call("where", _call("less", edge, x), _call("sub", x, bias), 0.0)
    return _call("where", _call("less", x, -edge), _call("add", x, bias), above)


POINTWISE: Mapping[str, Expression] = {
    **{op: _function(name) for op, name in REAL_OPERATORS.items()},
    "Abs": _function("abs"),
    "Add": _function("add"),
    "And": _function("and"),
    "BitShift": _shift,
    "BitwiseAnd": _function("and"),
    "BitwiseNot": _function("not"),
    "BitwiseOr": _function("or"),
    "BitwiseXor": _function("xor"),
    "Celu": _celu,
    "Div": _function("div"),
    "Elu": _elu,
    "Equal": _function("equal"),
    "Gelu": _gelu,
    "Greater": _swapped("less"),
    "GreaterOrEqual": _swapped("less_equal"),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "Identity": lambda node, operands: operands[0],
    "IsInf": _is_inf,
    "IsNaN": lambda node, operands: _call("not", _call("equal", operands[0], operands[0])),
    "LeakyRelu": _leaky_relu,
    "Less": _function("less"),
    "LessOrEqual": _function("less_equal"),
    "Max": _extreme("max"),
    "Min": _extreme("min"),
    "Mish": _mish,
    "Mod": _mod,
    "Mul": _function("mul"),
    "Neg": _function("neg"),
    "Not": _function("not"),
    "Or": _function("or"),
    "PRelu": _prelu,
    "Reciprocal": lambda node, operands: _call("div", 1.0, operands[0]),
    "Relu": _relu,
    "Selu": _selu,
    "Shrink": _shrink,
    "Sign": _sign,
    "Softplus": _softplus,
    "Softsign": _softsign,
    "Sub": _function("sub"),
    "Swish": _swish,
    "ThresholdedRelu": _thresholded_relu,
    "Where": _function("where"),
    "Xor": _function("xor"),
}
"""The value of one element, from the node and the values of its operands, by operator."""
