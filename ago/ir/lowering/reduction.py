"""Lowering of reductions: over whole axes and over sliding windows."""

from __future__ import annotations

import math

from ago.ir.attributes import read_int, read_ints
from ago.ir.graph import Node
from ago.ir.index import Index, var
from ago.ir.lowering.context import TAPS, LogicalAxes, Lowering, layout_of
from ago.ir.nest import Axis
from ago.ir.ops.window import Window
from ago.ir.tensor import Layout
from ago.ir.value import Call, Const, Load


def lower_global_average_pool(node: Node, lowering: Lowering) -> None:
    """The mean over all spatial axes."""
    rank = lowering.types(node.inputs[0]).rank
    _mean(node, lowering, tuple(range(2, rank)), keepdims=True)


def lower_reduce_mean(node: Node, lowering: Lowering) -> None:
    """The mean over the axes named by the node."""
    keepdims = bool(read_int(node.attrs, "keepdims"))
    _mean(node, lowering, read_ints(node.attrs, "axes"), keepdims=keepdims)


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


def _mean(node: Node, lowering: Lowering, axes: tuple[int, ...], *, keepdims: bool) -> None:
    """A sum into a temporary, then a division by the number of elements."""
    x = node.inputs[0]
    kind = lowering.types(x)
    if not axes:
        axes = tuple(range(kind.rank)) if kind.rank else ()
    name, total = lowering.stage_name("mean"), lowering.stage_name("sum")
    out = lowering.axes_of(name, node.output)
    kept = [d for d in range(kind.rank) if d not in axes]
    ours = {d: i for d, i in zip(kept, _kept(out.index, axes, keepdims), strict=True)}
    spatial = [a for a in out.axes if any(i == var(f"{name}.{a.name}") for i in ours.values())]
    order = [d for d in layout_of(kind).order if d in axes]
    reduced = [Axis(f"r{d}", kind.shape[d], "reduce") for d in order]
    renamed = {var(f"{name}.{a.name}"): var(f"{total}.{a.name}") for a in spatial}
    place = [renamed[ours[d]] if d in ours else var(f"{total}.r{d}") for d in range(kind.rank)]
    value = lowering.load(x, place)
    lowering.temporary(node, total, [*spatial, *reduced], value, reduce="add", init=Const(0.0))
    count = math.prod(kind.shape[d] for d in axes)
    at = tuple(var(f"{name}.{a.name}") for a in spatial)
    mean = Call("div", (Load(total, at), Const(float(count))))
    lowering.store(node, name, out.axes, out.index, mean)


def _kept(index: tuple[Index, ...], axes: tuple[int, ...], keepdims: bool) -> list[Index]:
    """The output's indices that are axes of the input, in order."""
    if not keepdims:
        return list(index)
    return [i for d, i in enumerate(index) if d not in axes]
