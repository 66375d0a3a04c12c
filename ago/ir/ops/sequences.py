"""Operators that walk along an axis, or rearrange by run-time parameters.

Read `OPERATORS` first.
"""

from __future__ import annotations

import numpy as np

from ago.ir.attributes import read_int
from ago.ir.ops.operands import ANY, INDEX, at_most, operand
from ago.ir.ops.operator import Array, Attrs, InputArrays, InputTypes, Operator, array, require
from ago.ir.tensor import TensorType

SCANNED = frozenset({"f32", "i64", "i32"})
"""Element types of CumSum and CumProd."""


def infer_scan(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `CumSum(x)` and `CumProd(x)` along `axis`: that of `x`."""
    at_most(types, 1)
    x = operand(types, 0, "x", SCANNED)
    axis = read_int(attrs, "axis")
    require(0 <= axis < x.rank, f"axis {axis} is not an axis of {x}")
    return (TensorType(x.shape, x.dtype),)


def cum_sum_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Every partial sum along `axis`."""
    return (_scan(array(inputs, 0), attrs, np.add),)


def cum_prod_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Every partial product along `axis`."""
    return (_scan(array(inputs, 0), attrs, np.multiply),)


def _scan(x: Array, attrs: Attrs, combine: np.ufunc) -> Array:
    axis, reverse = read_int(attrs, "axis"), read_int(attrs, "reverse")
    lines = np.moveaxis(x, axis, 0)
    lines = lines[::-1] if reverse else lines
    with np.errstate(over="ignore", invalid="ignore"):
        totals = combine.accumulate(lines, axis=0, dtype=x.dtype)
    if read_int(attrs, "exclusive"):
        start = np.full_like(totals[:1], combine.identity)
        totals = np.concatenate([start, totals[:-1]])
    totals = totals[::-1] if reverse else totals
    return np.moveaxis(totals, 0, axis)


def infer_reverse_sequence(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `ReverseSequence(x, lengths[batch])`: that of `x`."""
    at_most(types, 2)
    x, lengths = operand(types, 0, "x", ANY), operand(types, 1, "sequence_lens", INDEX)
    batch, time = read_int(attrs, "batch_axis"), read_int(attrs, "time_axis")
    require(x.rank >= 2 and {batch, time} == {0, 1}, f"batch_axis={batch}, time_axis={time}")
    fits = lengths.shape == (x.shape[batch],)
    require(fits, f"{lengths} are no lengths for a batch of {x.shape[batch]}")
    return (TensorType(x.shape, x.dtype),)


def reverse_sequence_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Each sequence with its first steps in the opposite order; lengths are clamped."""
    x, batch = array(inputs, 0), read_int(attrs, "batch_axis")
    rows = np.moveaxis(x, batch, 0)
    result = rows.copy()
    for row, given in enumerate(array(inputs, 1)):
        length = int(np.clip(given, 0, rows.shape[1]))
        result[row, :length] = rows[row, :length][::-1]
    return (np.moveaxis(result, 0, batch),)


def infer_trilu_at(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `TriluAt(x[..., rows, columns], k)`: that of `x`."""
    at_most(types, 2)
    x, k = operand(types, 0, "x", ANY), operand(types, 1, "k", INDEX)
    require(x.rank >= 2 and k.size == 1, f"needs matrices and one number, not {x} and {k}")
    return (TensorType(x.shape, x.dtype),)


def trilu_at_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Zeros below diagonal number `k` if `upper`, else above it."""
    x, k = array(inputs, 0), int(array(inputs, 1).ravel()[0])
    k = int(np.clip(k, -x.shape[-2], x.shape[-1]))
    return (np.triu(x, k) if read_int(attrs, "upper") else np.tril(x, k),)


OPERATORS = (
    Operator("CumSum", "extern", infer_scan, cum_sum_reference),
    Operator("CumProd", "extern", infer_scan, cum_prod_reference),
    Operator("ReverseSequence", "extern", infer_reverse_sequence, reverse_sequence_reference),
    Operator("TriluAt", "extern", infer_trilu_at, trilu_at_reference),
)
