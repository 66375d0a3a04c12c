"""Lowering of sums of products."""

from __future__ import annotations

from ago.ir.attributes import read_str
from ago.ir.graph import Node
from ago.ir.index import Index, var
from ago.ir.lowering.context import Lowering, Reader, layout_of
from ago.ir.nest import Axis
from ago.ir.ops.einsum import Equation
from ago.ir.value import Const, Value, mul


def lower_einsum(node: Node, lowering: Lowering) -> None:
    """One nest over all letters.

    The last operand that varies along the result's innermost axis is copied where that axis is not
    contiguous in it, as the right operand of a matrix product is.
    """
    equation = Equation.parse(read_str(node.attrs, "equation"))
    kinds = [lowering.types(value) for value in node.inputs]
    extents = equation.extents([kind.shape for kind in kinds])
    name = lowering.stage_name("einsum")
    out = lowering.axes_of(name, node.output)
    index = dict(zip(equation.result, out.index, strict=True))
    reduced = [Axis(f"r{d}", extents[c], "reduce") for d, c in enumerate(equation.summed)]
    index.update((c, var(f"{name}.r{d}")) for d, c in enumerate(equation.summed))
    order = layout_of(node.type).order
    inner = equation.result[order[-1]] if order else ""
    along = [k for k, letters in enumerate(equation.operands) if inner and inner in letters]
    value: Value | None = None
    for k, (letters, kind) in enumerate(zip(equation.operands, kinds, strict=True)):
        place = [
            index[c] if extent > 1 else Index()
            for c, extent in zip(letters, kind.shape, strict=True)
        ]
        ends = letters.index(inner) if reduced and along[-1:] == [k] else None
        load = _reader(node, lowering, k, ends)(place)
        value = load if value is None else mul(value, load)
    assert value is not None
    if not reduced:
        lowering.store(node, name, out.axes, out.index, value)
        return
    axes = [*out.axes, *reduced]
    lowering.store(node, name, axes, out.index, value, reduce="add", init=Const(0.0))


def _reader(node: Node, lowering: Lowering, position: int, last: int | None) -> Reader:
    """What loads an operand, whose axis `last`, if any is given, is contiguous."""
    value = node.inputs[position]
    role = "einsum_weight" if value in lowering.constants else "input"
    if last is None:
        return lambda place: lowering.load(value, place, role)
    axes = [axis for axis in range(lowering.types(value).rank) if axis != last]
    return lowering.reordered(node, value, [*axes, last], role)
