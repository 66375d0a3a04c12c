"""Lowering of reductions over whole axes."""

from __future__ import annotations

import math

from ago.ir.attributes import read_int, read_ints
from ago.ir.graph import Node
from ago.ir.index import Index, var
from ago.ir.lowering.context import Lowering, layout_of
from ago.ir.nest import Axis
from ago.ir.value import Call, Const, Load


def lower_global_average_pool(node: Node, lowering: Lowering) -> None:
    """The mean over all spatial axes."""
    rank = lowering.types(node.inputs[0]).rank
    _mean(node, lowering, tuple(range(2, rank)), keepdims=True)


def lower_reduce_mean(node: Node, lowering: Lowering) -> None:
    """The mean over the axes named by the node."""
    keepdims = bool(read_int(node.attrs, "keepdims"))
    _mean(node, lowering, read_ints(node.attrs, "axes"), keepdims=keepdims)


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
