"""Lowering of operators that only move elements.

Read `lower_movement` first. Most of them are one nest in which each output element is loaded from a
place that its own index gives.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from ago.ir.attributes import read_int, read_ints
from ago.ir.bounds import simplify
from ago.ir.graph import Node
from ago.ir.index import Index, as_index, lookup
from ago.ir.lowering.context import Lowering
from ago.ir.value import Select, Value, zero

Source = Callable[[Node, Sequence[Index], Sequence[int]], Sequence[Index]]
"""Index into the input, from the node, an index of the output and the input's extents."""


def lower_movement(kind: str, source: Source) -> Callable[[Node, Lowering], None]:
    """The lowering of an operator whose elements are all elements of its first input.

    Args:
        kind: What to call the stage.
        source: Where an output element comes from.
    """

    def lower(node: Node, lowering: Lowering) -> None:
        x = node.inputs[0]
        name = lowering.stage_name(kind)
        out = lowering.axes_of(name, node.output)
        ranges = {f"{name}.{axis.name}": (0, axis.extent - 1) for axis in out.axes}
        places = source(node, out.index, lowering.types(x).shape)
        index = [simplify(place, ranges) for place in places]
        lowering.store(node, name, out.axes, out.index, lowering.load(x, index))

    return lower


def reshape(node: Node, index: Sequence[Index], shape: Sequence[int]) -> Sequence[Index]:
    """The element of the same row-major number."""
    number = Index()
    for i, stride in zip(index, _strides(node.type.shape), strict=True):
        number = number + i * stride
    return [
        number // stride % extent if extent > 1 else Index()
        for stride, extent in zip(_strides(shape), shape, strict=True)
    ]


def transpose(node: Node, index: Sequence[Index], shape: Sequence[int]) -> Sequence[Index]:
    """The axes in their old order."""
    old = dict(zip(read_ints(node.attrs, "perm"), index, strict=True))
    return [old[axis] for axis in range(len(shape))]


def slice_(node: Node, index: Sequence[Index], shape: Sequence[int]) -> Sequence[Index]:
    """Every `steps`-th element from `starts` on."""
    starts, steps = read_ints(node.attrs, "starts"), read_ints(node.attrs, "steps")
    return [i * step + start for i, start, step in zip(index, starts, steps, strict=True)]


def expand(node: Node, index: Sequence[Index], shape: Sequence[int]) -> Sequence[Index]:
    """The only element of axes of extent 1."""
    tail = index[len(index) - len(shape) :]
    return [i if extent > 1 else Index() for i, extent in zip(tail, shape, strict=True)]


def tile(node: Node, index: Sequence[Index], shape: Sequence[int]) -> Sequence[Index]:
    """The same place of the first copy."""
    return [i % extent for i, extent in zip(index, shape, strict=True)]


def take(node: Node, index: Sequence[Index], shape: Sequence[int]) -> Sequence[Index]:
    """The place that the constant table gives."""
    axis = read_int(node.attrs, "axis")
    place = table_index(read_ints(node.attrs, "indices"), index[axis])
    return [place if d == axis else i for d, i in enumerate(index)]


def table_index(table: Sequence[int], position: Index) -> Index:
    """`table[position]` for a constant table, as a progression where it is one."""
    if len(table) < 2:
        return as_index(table[0] if table else 0)
    step = table[1] - table[0]
    if all(b - a == step for a, b in itertools.pairwise(table)):
        return position * step + table[0]
    run = next(place for place, entry in enumerate(table) if entry != table[0])
    if all(entry == table[0] + place // run for place, entry in enumerate(table)):
        return position // run + table[0]
    return lookup(table, position)


def depth_to_space(node: Node, index: Sequence[Index], shape: Sequence[int]) -> Sequence[Index]:
    """The channel that holds a pixel's place in its block."""
    n, c, y, x = index
    block, channels = read_int(node.attrs, "block"), node.type.shape[1]
    place = y % block * block + x % block
    if read_int(node.attrs, "depth_first"):
        return n, place * channels + c, y // block, x // block
    return n, c * block * block + place, y // block, x // block


def space_to_depth(node: Node, index: Sequence[Index], shape: Sequence[int]) -> Sequence[Index]:
    """The pixel at the place in the block that a channel stands for."""
    n, c, y, x = index
    block, channels = read_int(node.attrs, "block"), shape[1]
    if read_int(node.attrs, "depth_first"):
        place, channel = c // channels, c % channels
    else:
        place, channel = c % (block * block), c // (block * block)
    return n, channel, y * block + place // block, x * block + place % block


def lower_concat(node: Node, lowering: Lowering) -> None:
    """The inputs one after the other: a choice by the position along the axis."""
    axis = read_int(node.attrs, "axis")
    name = lowering.stage_name("concat")
    out = lowering.axes_of(name, node.output)
    end = node.type.shape[axis]
    value: Value = zero(node.type.dtype)
    for source in reversed(node.inputs):
        start = end - lowering.types(source).shape[axis]
        at = out.index[axis] - start
        place = [at if d == axis else i for d, i in enumerate(out.index)]
        inside = (at, end - 1 - out.index[axis])
        value = Select(inside, lowering.load(source, place), value)
        end = start
    lowering.store(node, name, out.axes, out.index, value)


def lower_trilu(node: Node, lowering: Lowering) -> None:
    """The element on one side of a diagonal, 0 on the other."""
    name = lowering.stage_name("trilu")
    out = lowering.axes_of(name, node.output)
    *_, row, column = out.index
    above = column - row - read_int(node.attrs, "k")
    inside = above if read_int(node.attrs, "upper") else -above
    value = Select((inside,), lowering.load(node.inputs[0], out.index), zero(node.type.dtype))
    lowering.store(node, name, out.axes, out.index, value)


def _strides(shape: Sequence[int]) -> list[int]:
    """Row-major strides in elements."""
    steps = itertools.accumulate(reversed(shape[1:]), lambda a, b: a * b, initial=1)
    return list(steps)[::-1] if shape else []
