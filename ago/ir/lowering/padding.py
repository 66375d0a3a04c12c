"""Lowering of borders: a select of a constant, or a load from the place that a border repeats."""

from __future__ import annotations

from collections.abc import Sequence

from ago.ir.attributes import read_float, read_ints, read_str
from ago.ir.functions import FLOATS
from ago.ir.graph import Node
from ago.ir.index import Index, maximum, minimum
from ago.ir.lowering.context import Lowering
from ago.ir.value import Const, Select, Value


def lower_pad(node: Node, lowering: Lowering) -> None:
    """A border of any mode; negative pads crop."""
    if read_str(node.attrs, "mode") == "constant":
        _constant(node, lowering)
    else:
        _repeated(node, lowering)


def _constant(node: Node, lowering: Lowering) -> None:
    x = node.inputs[0]
    kind = lowering.types(x)
    befores, afters = _amounts(node)
    name = lowering.stage_name("pad")
    out = lowering.axes_of(name, node.output)
    places = [i - before for i, before in zip(out.index, befores, strict=True)]
    guard: list[Index] = []
    for place, before, after, extent in zip(places, befores, afters, kind.shape, strict=True):
        if before > 0:
            guard.append(place)
        if after > 0:
            guard.append(extent - 1 - place)
    value: Value = lowering.load(x, places)
    if guard:
        value = Select(tuple(guard), value, _border(node, lowering, kind.dtype))
    lowering.store(node, name, out.axes, out.index, value)


def _border(node: Node, lowering: Lowering, dtype: str) -> Value:
    """What a constant border holds."""
    if len(node.inputs) > 1:
        return lowering.load(node.inputs[1], (), "border")
    value = read_float(node.attrs, "value")
    if dtype == "bool":
        return Const(bool(value), dtype)
    return Const(value if dtype in FLOATS else int(value), dtype)


def _repeated(node: Node, lowering: Lowering) -> None:
    x, mode = node.inputs[0], read_str(node.attrs, "mode")
    name = lowering.stage_name("pad")
    out = lowering.axes_of(name, node.output)
    befores, afters = _amounts(node)
    places = []
    for i, before, after, extent in zip(
        out.index, befores, afters, lowering.types(x).shape, strict=True
    ):
        left = extent + min(before, 0) + min(after, 0)
        border = (max(before, 0), max(after, 0))
        places.append(_inside(i - border[0], left, border, mode) + max(-before, 0))
    lowering.store(node, name, out.axes, out.index, lowering.load(x, places))


def _inside(place: Index, extent: int, border: tuple[int, int], mode: str) -> Index:
    """The element of `[0, extent)` that a place in or beside it repeats."""
    before, after = border
    if before == after == 0:
        return place
    last = extent - 1
    if mode == "wrap":
        return place % extent
    if mode == "edge" or last == 0:
        return minimum(maximum(place, 0), last)
    if max(before, after) <= last:
        mirrored = maximum(place, -place) if before else place
        return minimum(mirrored, 2 * last - mirrored) if after else mirrored
    phase = place % (2 * last)
    return minimum(minimum(phase, 2 * last - phase), last)


def _amounts(node: Node) -> tuple[Sequence[int], Sequence[int]]:
    pads, rank = read_ints(node.attrs, "pads"), node.type.rank
    return pads[:rank], pads[rank:]
