"""Nodes that need no code, because their result lies in memory already.

Read `is_view` first. Invariant: what is a view is decided by the layouts of a node's values and the
operators beside it alone, so that every part of the compiler decides alike.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from ago.ir.attributes import read_int, read_ints
from ago.ir.graph import Graph, Node
from ago.ir.ops import OPERATORS
from ago.ir.tensor import Layout, Slice, TensorType

VIEWING = ("Reshape", "Identity", "Transpose", "Slice")
"""Operators whose result may share their input's memory."""

Types = Mapping[str, TensorType]


def is_view(graph: Graph, node: Node) -> bool:
    """Tell whether a node needs no code, because its result lies in memory already.

    A Reshape, Identity, Transpose or Slice may share its input's memory if each element stays at
    its place and the output is not longer than the input; a Concat needs no code if its inputs lie
    in its output.

    Args:
        graph: The graph, with layouts.
        node: Any of its nodes.
    """
    if node.op == "Concat":
        slots = concat_slots(graph.types, node)
        lying = [graph.types[value].layout for value in node.inputs]
        return lying == slots and all(may_lie_elsewhere(graph, value) for value in node.inputs)
    return views_input(graph.types, node)


def may_lie_elsewhere(graph: Graph, value: str) -> bool:
    """Tell whether a value may lie in another's memory: a node makes it and nothing views it."""
    producer = graph.producer(value)
    return (
        producer is not None
        and producer.op not in VIEWING
        and value not in graph.outputs
        and not any(node.op in VIEWING for node in graph.consumers(value))
        and not meets_extern(graph, value)
    )


def meets_extern(graph: Graph, value: str) -> bool:
    """Tell whether an extern reads or writes a value, so that it must be dense and row-major."""
    producer = graph.producer(value)
    ends = graph.consumers(value) if producer is None else (producer, *graph.consumers(value))
    return any(OPERATORS[node.op].kind == "extern" for node in ends)


def views_input(types: Types, node: Node) -> bool:
    """Tell whether a node's result may share the memory of its first input.

    Args:
        types: Types, with layouts, of the node's values.
        node: Any node.
    """
    if node.op not in VIEWING:
        return False
    source, target = types[node.inputs[0]], types[node.output]
    if target.nbytes > source.nbytes or target.dtype != source.dtype:
        return False
    steps, ours = _strides(source), _strides(target)
    start, own = _offset(source), _offset(target)
    if node.op == "Transpose":
        steps = [steps[axis] for axis in read_ints(node.attrs, "perm")]
    elif node.op == "Slice":
        starts = read_ints(node.attrs, "starts")
        start += sum(first * step for first, step in zip(starts, steps, strict=True))
        steps = [a * b for a, b in zip(steps, read_ints(node.attrs, "steps"), strict=True)]
    else:
        return start == own and _digits(source.shape, steps) == _digits(target.shape, ours)
    moved = [extent > 1 for extent in target.shape]
    return start == own and all(
        a == b for a, b, long in zip(steps, ours, moved, strict=True) if long
    )


def concat_slots(types: Types, node: Node) -> list[Layout]:
    """Layouts with which the inputs of a Concat lie in its output; none where that cannot be."""
    kind, axis = types[node.output], read_int(node.attrs, "axis")
    layout = kind.layout
    if layout is None or layout.order[-1] != axis:
        return []
    extents = [types[value].shape[axis] for value in node.inputs]
    offsets = itertools.accumulate(extents[:-1], initial=layout.offset)
    wide = layout.physical_shape(kind.shape)[-1]
    return [Layout(layout.order, 1, Slice(offset, wide)) for offset in offsets]


def _strides(kind: TensorType) -> list[int]:
    """Elements in memory between neighbours along each logical axis."""
    layout = kind.layout or Layout.row_major(kind.rank)
    physical = layout.physical_shape(kind.shape)
    steps = [1, *itertools.accumulate(reversed(physical[1:]), lambda a, b: a * b)][::-1]
    stride = dict(zip(layout.order, steps, strict=False))
    return [stride[axis] for axis in range(kind.rank)]


def _offset(kind: TensorType) -> int:
    return 0 if kind.layout is None else kind.layout.offset


def _digits(shape: Sequence[int], steps: Sequence[int]) -> list[tuple[int, int]]:
    """The map from row-major number to place as digits `(extent, stride)`, fewest first.

    Axes of extent 1 play no part, and neighbours that continue each other are one digit, so equal
    maps have equal lists.
    """
    digits: list[tuple[int, int]] = []
    for extent, stride in zip(shape, steps, strict=True):
        if extent == 1:
            continue
        if digits and digits[-1][1] == extent * stride:
            extent *= digits.pop()[0]
        digits.append((extent, stride))
    return digits
