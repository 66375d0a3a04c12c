"""Lowering of weighted sums at constant places."""

from __future__ import annotations

from ago.ir.attributes import read_int, read_ints
from ago.ir.graph import Node
from ago.ir.index import var
from ago.ir.lowering.context import Lowering
from ago.ir.lowering.movement import table_index
from ago.ir.nest import Axis
from ago.ir.value import Const, mul


def lower_interpolate(node: Node, lowering: Lowering) -> None:
    """A short reduction over taps, whose places come from a constant table."""
    x, weights = node.inputs
    axis, taps = read_int(node.attrs, "axis"), lowering.types(weights).shape[1]
    name = lowering.stage_name("interpolate")
    out = lowering.axes_of(name, node.output)
    tap = var(f"{name}.tap")
    at = out.index[axis]
    place = table_index(read_ints(node.attrs, "indices"), at * taps + tap)
    index = [place if d == axis else i for d, i in enumerate(out.index)]
    value = mul(lowering.load(x, index), lowering.load(weights, (at, tap), f"{name}_weight"))
    axes = [*out.axes, Axis("tap", taps, "reduce")]
    lowering.store(node, name, axes, out.index, value, reduce="add", init=Const(0.0))
