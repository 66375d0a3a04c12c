"""ONNX's operators that map elements: arithmetic, activations, comparisons, conversions.

Read `TRANSLATORS` first: most rows are tables, of names and of attributes with their defaults.
Broadcasting is numpy's, as it is since opset 7.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import (
    Canonical,
    Context,
    Expansion,
    RefusalError,
    Translator,
    float_attr,
    int_attr,
    str_attr,
)
from ago.frontend.raw import RawNode
from ago.ir.ops.arithmetic import REAL_OPERATORS
from ago.ir.tensor import numpy_dtype

_FLOAT32 = np.finfo(np.float32)
_LOWEST, _HIGHEST = float(_FLOAT32.min), float(_FLOAT32.max)

_PLAIN = (
    *REAL_OPERATORS,
    *("Abs", "Neg", "Sign", "Reciprocal", "Relu", "Identity", "Not", "IsNaN", "Where"),
    *("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"),
    *("HardSwish", "Softplus", "Softsign", "Mish"),
)
"""Operators without attributes that mean the same in all versions."""

_BROADCASTING = (
    *("Add", "Sub", "Mul", "Div", "PRelu", "And", "Or", "Xor"),
    *("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"),
)
"""Likewise since opset 7; before, attributes said how they broadcast."""

_FLOATS: Mapping[str, Mapping[str, float]] = {
    "HardSigmoid": {"alpha": 0.2, "beta": 0.5},
    "Elu": {"alpha": 1.0},
    "Selu": {"alpha": 1.6732632423543772, "gamma": 1.0507009873554805},
    "Celu": {"alpha": 1.0},
    "LeakyRelu": {"alpha": 0.01},
    "ThresholdedRelu": {"alpha": 1.0},
    "Swish": {"alpha": 1.0},
    "Shrink": {"bias": 0.0, "lambd": 0.5},
}
"""Operators with numbers as attributes, and their defaults."""

_INTEGERS: Mapping[str, Mapping[str, int]] = {
    "IsInf": {"detect_negative": 1, "detect_positive": 1},
    "Mod": {"fmod": 0},
}
"""Operators with integers as attributes, and their defaults."""

_STRINGS: Mapping[str, Mapping[str, str]] = {
    "BitShift": {"direction": ""},
    "Gelu": {"approximate": "none"},
}
"""Operators with strings as attributes, and their defaults."""

_DTYPES: Mapping[int, str] = {
    1: "f32",
    2: "u8",
    3: "i8",
    4: "u16",
    5: "i16",
    6: "i32",
    7: "i64",
    9: "bool",
    11: "f64",
    12: "u32",
    13: "u64",
}
"""Element types by ONNX's numbers."""


def element_type(node: RawNode, name: str, default: int = 0) -> str:
    """Return the element type that an attribute asks for by ONNX's number.

    Raises:
        RefusalError: If nothing computes with it.
    """
    number = int_attr(node, name, default)
    if number not in _DTYPES:
        raise RefusalError(f"attribute {name}={number}: an element type that is not computed with")
    return _DTYPES[number]


def _plain(op: str) -> Translator:
    return lambda node, context: Canonical(op, node.inputs, {})


def _with_attributes(op: str) -> Translator:
    def translate(node: RawNode, context: Context) -> Canonical:
        attrs: dict[str, object] = {}
        attrs |= {n: float_attr(node, n, x) for n, x in _FLOATS.get(op, {}).items()}
        attrs |= {n: int_attr(node, n, x) for n, x in _INTEGERS.get(op, {}).items()}
        attrs |= {n: str_attr(node, n, x) for n, x in _STRINGS.get(op, {}).items()}
        return Canonical(op, node.inputs, attrs)

    return translate


def cast(node: RawNode, context: Context) -> Canonical:
    """`Cast` since 6, whose target is a number."""
    return Canonical("Cast", node.inputs[:1], {"to": element_type(node, "to")})


def cast_like(node: RawNode, context: Context) -> Canonical:
    """`CastLike`: to the type of the second input."""
    return Canonical("Cast", node.inputs[:1], {"to": context.type(node.input(1)).dtype})


def bit_cast(node: RawNode, context: Context) -> Canonical:
    """`BitCast` to a type of the same width."""
    return Canonical("BitCast", node.inputs[:1], {"to": element_type(node, "to")})


def _chain(op: str) -> Translator:
    """An operator of any number of operands, as a chain of one of two."""

    def translate(node: RawNode, context: Context) -> Canonical | Expansion:
        if len(node.inputs) < 2:
            return Canonical("Identity", node.inputs, {})
        parts = Expansion(node, context)
        first, *others, last = node.inputs
        for value in others:
            first = parts.add("partial", op, first, value)
        return parts.result(op, first, last)

    return translate


def mean(node: RawNode, context: Context) -> Canonical | Expansion:
    """`Mean` of any number of operands: their sum over their number."""
    if len(node.inputs) < 2:
        return Canonical("Identity", node.inputs, {})
    parts = Expansion(node, context)
    total, *others = node.inputs
    for value in others:
        total = parts.add("total", "Add", total, value)
    dtype = numpy_dtype(context.type(node.input(0)).dtype)
    return parts.result("Div", total, parts.constant("count", np.array(len(node.inputs), dtype)))


def power(node: RawNode, context: Context) -> Canonical | Expansion:
    """`Pow` since 7; a square and a cube are products."""
    base, exponent = node.input(0), node.input(1)
    known = context.constants.get(exponent)
    plain = known is not None and known.size == 1 and known.ndim <= context.type(base).rank
    number = float(known.ravel()[0]) if known is not None and plain else 0.0
    if number == 2.0:
        return Canonical("Mul", (base, base), {})
    if number == 3.0:
        parts = Expansion(node, context)
        return parts.result("Mul", parts.add("square", "Mul", base, base), base)
    return Canonical("Pow", node.inputs, {})


def clip_6(node: RawNode, context: Context) -> Canonical | Expansion:
    """`Clip` 6: the bounds are attributes."""
    low, high = float_attr(node, "min", _LOWEST), float_attr(node, "max", _HIGHEST)
    if math.isnan(low) or math.isnan(high):
        raise RefusalError(f"bounds min={low}, max={high}; NaN is no bound")
    return Canonical("Clip", node.inputs[:1], {"min": low, "max": high})


def clip_11(node: RawNode, context: Context) -> Canonical | Expansion:
    """`Clip` since 11: the bounds are optional inputs, `min(high, max(low, x))`.

    An absent bound is, as the operator defines, the lowest or highest finite number. Where a bound
    is NaN so is the result, which is that of the definition; other engines return `x`.
    """
    bounds = _constant_bounds(node, context)
    if context.type(node.input(0)).dtype == "f32" and bounds is not None:
        return Canonical("Clip", node.inputs[:1], {"min": bounds[0], "max": bounds[1]})
    parts = Expansion(node, context)
    value = node.input(0)
    for position, op in ((1, "Max"), (2, "Min")):
        if node.input(position):
            bound = _like_scalar(parts, node.input(position), node.input(0))
            value = parts.add(("low", "high")[position - 1], op, value, bound)
        elif context.type(node.input(0)).dtype == "f32":
            limit = np.array((_LOWEST, _HIGHEST)[position - 1], np.float32)
            value = parts.add("finite", op, value, parts.constant("limit", limit))
    return parts.result("Identity", value)


def _constant_bounds(node: RawNode, context: Context) -> tuple[float, float] | None:
    """The bounds of a Clip, where both are known and numbers."""
    found: list[float] = []
    for position, default in ((1, _LOWEST), (2, _HIGHEST)):
        name = node.input(position)
        if name and context.type(name).size != 1:
            shape = context.type(name).shape
            raise ModelError(f"bound {name!r} must be one number, not an array of {shape}")
        if name and name not in context.constants:
            return None
        number = float(context.constants[name].ravel()[0]) if name else default
        if math.isnan(number):
            return None
        found.append(number)
    return found[0], found[1]


def _like_scalar(parts: Expansion, value: str, beside: str) -> str:
    """A tensor of one element, in a shape that does not raise the rank of another."""
    if parts.type(value).rank <= parts.type(beside).rank:
        return value
    return parts.add("scalar", "Reshape", value, shape=())


def dropout_12(node: RawNode, context: Context) -> Canonical | Expansion:
    """`Dropout` since 12: an input may ask for training mode."""
    training = context.constant(node.input(2), "training_mode")
    if training is not None and bool(training.any()):
        raise RefusalError("input training_mode is true; only inference")
    return dropout_7(node, context)


def dropout_7(node: RawNode, context: Context) -> Canonical | Expansion:
    """`Dropout` 7 to 11; its mask, of bools since 10, says that all elements are kept."""
    if not node.output(1):
        return Canonical("Identity", node.inputs[:1], {})
    parts = Expansion(node, context)
    kept = parts.add("kept", "Identity", node.input(0))
    shape = context.type(node.input(0)).shape
    mask = np.ones(shape).astype(np.bool_ if node.version >= 10 else np.float32)
    return parts.outputs(kept, parts.constant("mask", mask))


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    **{op: ((1, _plain(op)),) for op in _PLAIN},
    **{op: ((7, _plain(op)),) for op in _BROADCASTING},
    **{op: ((1, _with_attributes(op)),) for op in (*_FLOATS, *_INTEGERS, *_STRINGS)},
    "BitCast": ((26, bit_cast),),
    "Cast": ((6, cast),),
    "CastLike": ((15, cast_like),),
    "Clip": ((6, clip_6), (11, clip_11)),
    "Dropout": ((7, dropout_7), (12, dropout_12)),
    "Max": ((6, _chain("Max")),),
    "Mean": ((6, mean),),
    "Min": ((6, _chain("Min")),),
    "Pow": ((7, power),),
    "Sum": ((6, _chain("Add")),),
}
