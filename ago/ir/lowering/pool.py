"""Lowering of pools: reductions over sliding windows, whose padding is a node of its own."""

from __future__ import annotations

import math

from ago.ir.attributes import read_ints
from ago.ir.graph import Node
from ago.ir.index import var
from ago.ir.lowering.context import TAPS, LogicalAxes, Lowering
from ago.ir.nest import Axis
from ago.ir.ops.window import Window
from ago.ir.tensor import Layout
from ago.ir.value import Call, Const, Load


def lower_max_pool(node: Node, lowering: Lowering) -> None:
    """The maximum of each window; NaN where the window holds one."""
    name = lowering.stage_name("pool")
    out = lowering.axes_of(name, node.output, Layout.channels_last(node.type.rank).order)
    taps, load = _window_load(node, lowering, name, out)
    lowering.store(
        node, name, [*out.axes, *taps], out.index, load, reduce="nanmax", init=Const(-math.inf)
    )


def lower_average_pool(node: Node, lowering: Lowering) -> None:
    """The mean of each window of elements."""
    name, total = lowering.stage_name("mean"), lowering.stage_name("sum")
    order = Layout.channels_last(node.type.rank).order
    inner = lowering.axes_of(total, node.output, order)
    taps, load = _window_load(node, lowering, total, inner)
    axes = [*inner.axes, *taps]
    lowering.temporary(node, total, axes, load, reduce="add", init=Const(0.0))
    out = lowering.axes_of(name, node.output, order)
    count = math.prod(read_ints(node.attrs, "kernel_shape"))
    at = tuple(out.index[axis] for axis in order)
    mean = Call("div", (Load(total, at), Const(float(count))))
    lowering.store(node, name, out.axes, out.index, mean)


def _window_load(
    node: Node, lowering: Lowering, stage: str, out: LogicalAxes
) -> tuple[list[Axis], Load]:
    """The reduce axes of a window without padding, and the load of one of its elements."""
    window = Window.read(node.attrs, read_ints(node.attrs, "kernel_shape"))
    names = TAPS[len(window.kernel)]
    taps = [Axis(t, k, "reduce") for t, k in zip(names, window.kernel, strict=True)]
    places = [
        place * stride + var(f"{stage}.{tap}") * dilation
        for place, tap, stride, dilation in zip(
            out.index[2:], names, window.strides, window.dilations, strict=True
        )
    ]
    return taps, lowering.load(node.inputs[0], (*out.index[:2], *places))
