"""Lowering of pools: reductions over sliding windows, whose padding is a node of its own."""

from __future__ import annotations

import math
from collections.abc import Callable

from ago.ir.attributes import read_int, read_ints
from ago.ir.graph import Node
from ago.ir.index import var
from ago.ir.lowering.context import TAPS, LogicalAxes, Lowering
from ago.ir.lowering.reduction import absolute, square
from ago.ir.nest import Axis
from ago.ir.ops.window import Window
from ago.ir.tensor import Layout
from ago.ir.value import Call, Const, Load, Value


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
    count = math.prod(read_ints(node.attrs, "kernel_shape"))
    _total(
        node,
        lowering,
        "mean",
        lambda element: element,
        lambda total: Call("div", (total, Const(float(count)))),
    )


def lower_lp_pool(node: Node, lowering: Lowering) -> None:
    """The norm of each window of elements."""
    order = read_int(node.attrs, "p")
    if order == 1:
        _total(node, lowering, "norm", absolute, lambda total: total)
    elif order == 2:
        _total(node, lowering, "norm", square, lambda total: Call("sqrt", (total,)))
    else:
        _total(
            node,
            lowering,
            "norm",
            lambda element: Call("pow", (absolute(element), Const(float(order)))),
            lambda total: Call("pow", (total, Const(1.0 / order))),
        )


def _total(
    node: Node,
    lowering: Lowering,
    kind: str,
    before: Callable[[Value], Value],
    after: Callable[[Value], Value],
) -> None:
    """A function of the sum, over each window, of a function of its elements."""
    name, total = lowering.stage_name(kind), lowering.stage_name("sum")
    order = Layout.channels_last(node.type.rank).order
    inner = lowering.axes_of(total, node.output, order)
    taps, load = _window_load(node, lowering, total, inner)
    axes = [*inner.axes, *taps]
    lowering.temporary(node, total, axes, before(load), reduce="add", init=Const(0.0))
    out = lowering.axes_of(name, node.output, order)
    at = tuple(out.index[axis] for axis in order)
    lowering.store(node, name, out.axes, out.index, after(Load(total, at)))


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
