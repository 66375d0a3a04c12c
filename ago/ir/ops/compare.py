"""Comparisons, logic, choices and conversions of element types.

Read `OPERATORS` first. Invariant: a comparison with NaN is false. `Cast` from floats to integers
truncates and saturates, NaN becomes 0 (ONNX leaves both undefined); between integers it wraps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ago.ir.attributes import read_int, read_str
from ago.ir.functions import BOOL, ELEMENTS, FLOATS, INTEGERS, NUMBERS, integer_range
from ago.ir.ops.operator import (
    FLOAT32,
    Array,
    Attrs,
    InputTypes,
    Operator,
    require,
    require_same_dtype,
    required_types,
)
from ago.ir.ops.pointwise import broadcast_shapes, mapping, pointwise_reference
from ago.ir.tensor import TensorType, numpy_dtype


def _plain(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *operands: function(*operands[:-1])


def _is_inf(x: Array, attrs: Attrs) -> Array:
    low = np.isneginf(x) & bool(read_int(attrs, "detect_negative"))
    return low | (np.isposinf(x) & bool(read_int(attrs, "detect_positive")))


def infer_where(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Where(condition, a, b)`, whose operands broadcast."""
    kinds = required_types(types, 3, 3, ELEMENTS)
    condition, *branches = kinds
    require(condition.dtype == "bool", f"the condition must be bool, not {condition}")
    return (TensorType(broadcast_shapes(kinds), require_same_dtype(branches)),)


def _where(condition: Array, a: Array, b: Array, attrs: Attrs) -> Array:
    return np.where(condition, a, b)


def infer_cast(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Cast(x)` to the element type `to`."""
    (x,) = required_types(types, 1, 1, ELEMENTS)
    to = read_str(attrs, "to")
    require(to in ELEMENTS, f"to {to}: casts are to {', '.join(sorted(ELEMENTS))}")
    return (TensorType(x.shape, to),)


def cast(x: Array, to: str) -> Array:
    """The elements as another type; see the module."""
    if x.dtype.kind != "f" or to not in INTEGERS:
        if to == "f32" and x.dtype.kind in "iuf":
            return x.astype(np.float32).astype(np.float64)
        return x.astype(numpy_dtype(to))
    low, high = integer_range(to)
    result = np.where(np.isnan(x), 0.0, np.trunc(x)).clip(low, high)
    top = result >= float(high)  # the nearest float64 may lie above
    return np.where(top, high, np.where(top, 0.0, result).astype(numpy_dtype(to)))


def _cast(x: Array, attrs: Attrs) -> Array:
    return cast(x, read_str(attrs, "to"))


def infer_bitcast(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `BitCast(x)` to the element type `to` of the same width."""
    (x,) = required_types(types, 1, 1, NUMBERS)
    to = read_str(attrs, "to")
    fits = to in NUMBERS and numpy_dtype(to).itemsize == numpy_dtype(x.dtype).itemsize
    require(fits, f"the bits of {x.dtype} cannot be read as {to}")
    return (TensorType(x.shape, to),)


def _bitcast(x: Array, attrs: Attrs) -> Array:
    """The bits, of float32 where the other type has four bytes."""
    to = numpy_dtype(read_str(attrs, "to"))
    stored = x.astype(f"f{to.itemsize}") if x.dtype.kind == "f" else x
    return stored.view(to)


OPERATORS = (
    mapping("Equal", _plain(np.equal), 2, ELEMENTS, "bool"),
    mapping("Less", _plain(np.less), 2, NUMBERS, "bool"),
    mapping("LessOrEqual", _plain(np.less_equal), 2, NUMBERS, "bool"),
    mapping("Greater", _plain(np.greater), 2, NUMBERS, "bool"),
    mapping("GreaterOrEqual", _plain(np.greater_equal), 2, NUMBERS, "bool"),
    mapping("And", _plain(np.logical_and), 2, BOOL),
    mapping("Or", _plain(np.logical_or), 2, BOOL),
    mapping("Xor", _plain(np.logical_xor), 2, BOOL),
    mapping("Not", _plain(np.logical_not), 1, BOOL),
    mapping("IsNaN", _plain(np.isnan), 1, FLOATS, "bool"),
    mapping("IsInf", _is_inf, 1, FLOAT32, "bool"),
    Operator("Where", "elementwise", infer_where, pointwise_reference(_where)),
    Operator("Cast", "elementwise", infer_cast, pointwise_reference(_cast)),
    Operator("BitCast", "elementwise", infer_bitcast, pointwise_reference(_bitcast)),
)
