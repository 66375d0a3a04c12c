"""Lowering of reductions: over whole axes and over sliding windows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ago.ir.attributes import read_int, read_ints
from ago.ir.graph import Node
from ago.ir.index import Index, var
from ago.ir.lowering.context import TAPS, LogicalAxes, Lowering, layout_of
from ago.ir.nest import Axis
from ago.ir.ops.window import Window
from ago.ir.tensor import Layout
from ago.ir.value import Call, Condition, Const, Load, Select, Value


def lower_global_average_pool(node: Node, lowering: Lowering) -> None:
    """The mean over all spatial axes."""
    rank = lowering.types(node.inputs[0]).rank
    _mean(node, lowering, tuple(range(2, rank)), keepdims=True)


def lower_reduce_mean(node: Node, lowering: Lowering) -> None:
    """The mean over the axes named by the node."""
    keepdims = bool(read_int(node.attrs, "keepdims"))
    _mean(node, lowering, read_ints(node.attrs, "axes"), keepdims=keepdims)


def lower_max_pool(node: Node, lowering: Lowering) -> None:
    """The maximum of each window, which lies inside; NaN where the window holds one."""
    name = lowering.stage_name("pool")
    out = lowering.axes_of(name, node.output, Layout.channels_last(node.type.rank).order)
    taps, places = _window(node, name, out)
    load = lowering.load(node.inputs[0], (*out.index[:2], *places))
    lowering.store(
        node, name, [*out.axes, *taps], out.index, load, reduce="nanmax", init=Const(-math.inf)
    )


def lower_average_pool(node: Node, lowering: Lowering) -> None:
    """The sum of each window divided by how many elements count, at each place if that varies."""
    name, total = lowering.stage_name("mean"), lowering.stage_name("sum")
    order = Layout.channels_last(node.type.rank).order
    inner = lowering.axes_of(total, node.output, order)
    taps, places = _window(node, total, inner)
    load: Value = lowering.load(node.inputs[0], (*inner.index[:2], *places))
    reach = _inside(node, lowering, places)
    if reach:
        load = Select(reach, load, Const(0.0))
    lowering.temporary(node, total, [*inner.axes, *taps], load, reduce="add", init=Const(0.0))
    out = lowering.axes_of(name, node.output, order)
    count: Value = Const(float(math.prod(read_ints(node.attrs, "kernel_shape"))))
    if reach:
        count = Load(_count(node, lowering), out.index[2:])
    at = tuple(out.index[axis] for axis in order)
    mean = Call("div", (Load(total, at), count))
    lowering.store(node, name, out.axes, out.index, mean)


def _count(node: Node, lowering: Lowering) -> str:
    """A stage that counts the elements of each window that take part; the name of its buffer."""
    name = lowering.stage_name("count")
    out = lowering.axes_of(name, node.output, range(node.type.rank))
    taps, places = _window(node, name, out)
    counted = bool(read_int(node.attrs, "count_include_pad"))
    inside = _inside(node, lowering, places, with_padding=counted)
    one: Value = Select(inside, Const(1.0), Const(0.0)) if inside else Const(1.0)
    axes = [*out.axes[2:], *taps]
    return lowering.temporary(node, name, axes, one, reduce="add", init=Const(0.0))


def _window(node: Node, stage: str, out: LogicalAxes) -> tuple[list[Axis], list[Index]]:
    """The reduce axes of a window, and where its taps are along the input's spatial axes."""
    window = Window.read(node.attrs, read_ints(node.attrs, "kernel_shape"))
    names = TAPS[len(window.kernel)]
    taps = [Axis(t, k, "reduce") for t, k in zip(names, window.kernel, strict=True)]
    rank = len(names)
    places = [
        place * stride + var(f"{stage}.{tap}") * dilation - pad
        for place, tap, stride, dilation, pad in zip(
            out.index[2:],
            names,
            window.strides,
            window.dilations,
            window.pads[:rank],
            strict=True,
        )
    ]
    return taps, places


def _inside(
    node: Node, lowering: Lowering, places: Sequence[Index], *, with_padding: bool = False
) -> Condition:
    """Where taps lie in the input, or in its padding too; empty if all of them do."""
    window = Window.read(node.attrs, read_ints(node.attrs, "kernel_shape"))
    extents = lowering.types(node.inputs[0]).shape[2:]
    reached = window.covering_pads(extents, node.type.shape[2:])
    rank = len(extents)
    margins = window.pads if with_padding else (0,) * (2 * rank)
    conditions: list[Index] = []
    for axis, place in enumerate(places):
        if reached[axis] > margins[axis]:
            conditions.append(place + margins[axis])
        if reached[rank + axis] > margins[rank + axis]:
            conditions.append(extents[axis] - 1 + margins[rank + axis] - place)
    return tuple(conditions)


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
