"""Lowering of operators that change the order of elements by their digits.

Read `lower_rearrange` first. The loops run over digits, of which both the place that is read and
the place that is written are linear; so any loop along which both are contiguous is a vector.
"""

from __future__ import annotations

from collections.abc import Sequence

from ago.ir.attributes import read_int, read_ints
from ago.ir.graph import Node
from ago.ir.index import Index, var
from ago.ir.lowering.context import Lowering, layout_of
from ago.ir.nest import Axis
from ago.ir.ops.rearrange import digit_groups
from ago.ir.value import Select, Value


def lower_rearrange(node: Node, lowering: Lowering) -> None:
    """One loop a digit, in the order in which the result lies in memory."""
    split, perm = (read_ints(node.attrs, key) for key in ("split", "perm"))
    source, target = lowering.types(node.inputs[0]), node.type
    moved = tuple(split[digit] for digit in perm)
    before, after = digit_groups(split, source.shape), digit_groups(moved, target.shape)
    assert before is not None, f"an axis of {source} is no run of the digits {split}"
    assert after is not None, f"an axis of {target} is no run of the digits {moved}"
    name = lowering.stage_name("rearrange")
    digits = [var(f"{name}.d{digit}") for digit in range(len(split))]
    lies = layout_of(lowering.types(node.output)).order
    nested = [perm[place] for axis in lies for place in after[axis]]
    axes = [Axis(f"d{digit}", split[digit]) for digit in nested]
    read = [_number([(digits[d], split[d]) for d in group]) for group in before]
    made = [_number([(digits[perm[p]], moved[p]) for p in group]) for group in after]
    lowering.store(node, name, axes, made, lowering.load(node.inputs[0], read))


def lower_interleave(node: Node, lowering: Lowering) -> None:
    """One loop along the inputs' elements, and inside it one over the inputs."""
    axis, start, count = (read_int(node.attrs, key) for key in ("axis", "start", "count"))
    parts = len(node.inputs)
    name = lowering.stage_name("interleave")
    out = lowering.axes_of(name, node.output)
    element, part = var(f"{name}.e"), var(f"{name}.part")
    place = list(out.index)
    place[axis] = element + start
    value: Value = lowering.load(node.inputs[-1], place)
    for number in reversed(range(parts - 1)):
        at_most = (number - part,)
        value = Select(at_most, lowering.load(node.inputs[number], place), value)
    place[axis] = element * parts + part
    order = layout_of(lowering.types(node.output)).order
    axes: list[Axis] = []
    for own, logical in zip(out.axes, order, strict=True):
        inner = [Axis("e", count), Axis("part", parts)]
        axes += inner if logical == axis else [own]
    lowering.store(node, name, axes, place, value)


def _number(digits: Sequence[tuple[Index, int]]) -> Index:
    """The number that digits, slowest first, make up."""
    total = Index()
    for index, extent in digits:
        total = total * extent + index
    return total
