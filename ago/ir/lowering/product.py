"""Lowering of matrix products, of whole batches too.

Read `lower_matmul` first. Invariant: the axis that the result's columns come from is contiguous in
the right operand, which is copied where it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from ago.ir.attributes import read_float, read_int
from ago.ir.graph import Node
from ago.ir.index import Index, var
from ago.ir.lowering.context import Lowering, Reader
from ago.ir.nest import Axis
from ago.ir.value import Const, Value, mul

_FEW_ROWS = 4
"""Rows for which a copy of the right operand costs more than it saves."""


def lower_matmul(node: Node, lowering: Lowering) -> None:
    """`a[..., M, K] @ b[..., K, N]`; batches broadcast, and a vector has no `M` or `N`."""
    a, b = node.inputs
    left, right = lowering.types(a).shape, lowering.types(b).shape
    name = lowering.stage_name("matmul")
    out = lowering.axes_of(name, node.output)
    ends = min(len(left) - 1, 1) + min(len(right) - 1, 1)
    batch = out.index[: len(out.index) - ends]
    rows = out.index[len(batch) : len(batch) + 1] if len(left) > 1 else ()
    columns = out.index[-1:] if len(right) > 1 else ()
    k = var(f"{name}.k")
    load = _right_operand(node, lowering, name, len(right) - 1, left[-2] if rows else 1)
    value = mul(
        lowering.load(a, [*_batch(batch, left), *rows, k]),
        load([*_batch(batch, right), k, *columns]),
    )
    axes = [*out.axes, Axis("k", left[-1], "reduce")]
    lowering.store(node, name, axes, out.index, value, reduce="add", init=Const(0.0))


def lower_gemm(node: Node, lowering: Lowering) -> None:
    """`alpha * op(a) @ op(b) + beta * c`; the addend starts the accumulation."""
    a = node.inputs[0]
    trans_a, trans_b = read_int(node.attrs, "trans_a"), read_int(node.attrs, "trans_b")
    depth = lowering.types(a).shape[0 if trans_a else 1]
    name = lowering.stage_name("matmul")
    out = lowering.axes_of(name, node.output)
    m, n = out.index
    k = var(f"{name}.k")
    left: Value = lowering.load(a, (k, m) if trans_a else (m, k))
    load = _right_operand(node, lowering, name, 0 if trans_b else 1, node.type.shape[0])
    right = load((n, k) if trans_b else (k, n))
    alpha = read_float(node.attrs, "alpha")
    value = mul(left if alpha == 1.0 else mul(Const(alpha), left), right)
    axes = [*out.axes, Axis("k", depth, "reduce")]
    init = _addend(node, lowering, name, (m, n))
    lowering.store(node, name, axes, (m, n), value, reduce="add", init=init)


def _right_operand(node: Node, lowering: Lowering, name: str, columns: int, rows: int) -> Reader:
    """What loads the right operand, whose axis `columns` is contiguous if that pays."""
    b, role = node.inputs[1], f"{name}_weight"
    axes = [axis for axis in range(lowering.types(b).rank) if axis != columns]
    if rows < _FEW_ROWS or not axes:
        return lambda index: lowering.load(b, index, role)
    return lowering.reordered(node, b, [*axes, columns], role)


def _batch(index: Sequence[Index], shape: Sequence[int]) -> list[Index]:
    """The batch index of an operand, which broadcasts to that of the result."""
    extents = shape[:-2]
    tail = index[len(index) - len(extents) :]
    return [i if extent > 1 else Index() for i, extent in zip(tail, extents, strict=True)]


def _addend(node: Node, lowering: Lowering, name: str, at: tuple[Index, Index]) -> Value:
    if len(node.inputs) < 3 or not node.inputs[2]:
        return Const(0.0)
    c = node.inputs[2]
    load = lowering.broadcast(c, at, f"{name}_bias")
    beta = read_float(node.attrs, "beta")
    return load if beta == 1.0 else mul(Const(beta), load)
