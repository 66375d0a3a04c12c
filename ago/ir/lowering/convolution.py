"""Lowering of convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from ago.ir.attributes import read_int
from ago.ir.graph import Node
from ago.ir.index import Index, var
from ago.ir.lowering.context import TAPS, Lowering
from ago.ir.nest import Axis
from ago.ir.ops.window import Window
from ago.ir.tensor import Layout, TensorType
from ago.ir.value import Condition, Const, Select, Value, mul


def lower_conv(node: Node, lowering: Lowering) -> None:
    """Convolution of any group, stride, dilation and padding.

    Loops nest channels-last whatever the layout of the result, so that the channels, which are
    vectorised, are innermost in accumulators too. The group is `c` divided by the channels that a
    group makes, an index of the input only. Reduce axes are the taps, then the input channels of a
    group; those of extent 1 are left out, so that a pointwise convolution is seen to be a matrix
    product.
    """
    x, w = node.inputs[:2]
    kind, weight = lowering.types(x), lowering.types(w)
    groups = read_int(node.attrs, "group")
    window = Window.read(node.attrs, weight.shape[2:])
    name = lowering.stage_name("conv")
    out = lowering.axes_of(name, node.output, Layout.channels_last(kind.rank).order)
    order = [*range(2, weight.rank), 1, 0]
    read_weight = lowering.reordered(node, w, order, f"{name}_weight")
    channel = out.index[1]
    group = Index() if groups == 1 else channel // (node.type.shape[1] // groups)
    names = TAPS[len(window.kernel)]
    taps = [Axis(t, k, "reduce") for t, k in zip(names, window.kernel, strict=True) if k > 1]
    depth = weight.shape[1]
    inner: list[Axis] = [Axis("k", depth, "reduce")] if depth > 1 else []
    k = var(f"{name}.k") if inner else Index()
    at_taps = [
        var(f"{name}.{tap}") if k > 1 else Index()
        for tap, k in zip(names, window.kernel, strict=True)
    ]
    places = [
        y * stride + tap * dilation - pad
        for y, tap, stride, dilation, pad in zip(
            out.index[2:], at_taps, window.strides, window.dilations, window.pads, strict=False
        )
    ]
    load: Value = lowering.load(x, (out.index[0], group * depth + k, *places))
    guard = _inside(places, window, kind)
    if guard:
        load = Select(guard, load, Const(0.0))
    value = mul(load, read_weight((channel, k, *at_taps)))
    init: Value = Const(0.0)
    if len(node.inputs) > 2 and node.inputs[2]:
        init = lowering.load(node.inputs[2], (channel,), f"{name}_bias")
    lowering.store(
        node, name, [*out.axes, *taps, *inner], out.index, value, reduce="add", init=init
    )


def _inside(places: Sequence[Index], window: Window, kind: TensorType) -> Condition:
    """Conditions under which the window's tap lies inside the input, where padding is possible."""
    rank = len(places)
    conditions: list[Index] = []
    for d, place in enumerate(places):
        if window.pads[d] > 0:
            conditions.append(place)
        if window.pads[rank + d] > 0:
            conditions.append(kind.shape[2 + d] - 1 - place)
    return tuple(conditions)
