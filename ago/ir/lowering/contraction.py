"""Lowering of the complex operators: convolution and matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from ago.ir.attributes import read_float, read_int
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
    value = mul(load, lowering.load(w, (channel, k, *at_taps), f"{name}_weight"))
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


def lower_matmul(node: Node, lowering: Lowering) -> None:
    """`a[M, K] @ b[K, N]`."""
    _matrix_product(node, lowering, trans_a=False, trans_b=False, alpha=1.0)


def lower_gemm(node: Node, lowering: Lowering) -> None:
    """`alpha * op(a) @ op(b) + beta * c`; the addend starts the accumulation."""
    _matrix_product(
        node,
        lowering,
        trans_a=bool(read_int(node.attrs, "trans_a")),
        trans_b=bool(read_int(node.attrs, "trans_b")),
        alpha=read_float(node.attrs, "alpha"),
    )


def _matrix_product(
    node: Node, lowering: Lowering, *, trans_a: bool, trans_b: bool, alpha: float
) -> None:
    a, b = node.inputs[:2]
    depth = lowering.types(a).shape[0 if trans_a else 1]
    name = lowering.stage_name("matmul")
    out = lowering.axes_of(name, node.output)
    m, n = out.index
    k = var(f"{name}.k")
    left = lowering.load(a, (k, m) if trans_a else (m, k))
    right = lowering.load(b, (n, k) if trans_b else (k, n), f"{name}_weight")
    value: Value = mul(left, right)
    if alpha != 1.0:
        value = mul(mul(Const(alpha), left), right)
    axes = [*out.axes, Axis("k", depth, "reduce")]
    init = _addend(node, lowering, name, (m, n))
    lowering.store(node, name, axes, (m, n), value, reduce="add", init=init)


def _addend(node: Node, lowering: Lowering, name: str, at: tuple[Index, Index]) -> Value:
    if len(node.inputs) < 3 or not node.inputs[2]:
        return Const(0.0)
    c = node.inputs[2]
    load = lowering.broadcast(c, at, f"{name}_bias")
    beta = read_float(node.attrs, "beta")
    return load if beta == 1.0 else mul(Const(beta), load)
