"""Lowering of operators that only move elements."""

from __future__ import annotations

import itertools

from ago.ir.attributes import read_float, read_int, read_ints
from ago.ir.bounds import simplify
from ago.ir.graph import Node
from ago.ir.index import Index
from ago.ir.lowering.context import Lowering
from ago.ir.value import Const, Select, Value


def lower_pad(node: Node, lowering: Lowering) -> None:
    """A border of a constant; negative pads crop."""
    x = node.inputs[0]
    kind = lowering.types(x)
    pads = read_ints(node.attrs, "pads")
    befores, afters = pads[: kind.rank], pads[kind.rank :]
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
        value = Select(tuple(guard), value, Const(read_float(node.attrs, "value")))
    lowering.store(node, name, out.axes, out.index, value)


def lower_concat(node: Node, lowering: Lowering) -> None:
    """The inputs one after the other: a choice by the position along the axis."""
    axis = read_int(node.attrs, "axis")
    name = lowering.stage_name("concat")
    out = lowering.axes_of(name, node.output)
    end = node.type.shape[axis]
    value: Value = Const(0.0)
    for source in reversed(node.inputs):
        start = end - lowering.types(source).shape[axis]
        at = out.index[axis] - start
        place = [at if d == axis else i for d, i in enumerate(out.index)]
        inside = (at, end - 1 - out.index[axis])
        value = Select(inside, lowering.load(source, place), value)
        end = start
    lowering.store(node, name, out.axes, out.index, value)


def lower_reshape(node: Node, lowering: Lowering) -> None:
    """A copy from the element of the same row-major number."""
    x = node.inputs[0]
    source, target = lowering.types(x).shape, node.type.shape
    name = lowering.stage_name("reshape")
    out = lowering.axes_of(name, node.output)
    number = Index()
    for i, stride in zip(out.index, _strides(target), strict=True):
        number = number + i * stride
    ranges = {f"{name}.{a.name}": (0, a.extent - 1) for a in out.axes}
    places = [
        simplify(number // stride % extent, ranges) if extent > 1 else Index()
        for stride, extent in zip(_strides(source), source, strict=True)
    ]
    lowering.store(node, name, out.axes, out.index, lowering.load(x, places))


def _strides(shape: tuple[int, ...]) -> list[int]:
    """Row-major strides in elements."""
    steps = itertools.accumulate(reversed(shape[1:]), lambda a, b: a * b, initial=1)
    return list(steps)[::-1] if shape else []
