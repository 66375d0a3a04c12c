"""Nodes that need no code, because their result lies in memory already.

Read `is_view` first. Invariant: what is a view is decided by the layouts of a node's values and the
operators beside it alone, so that every part of the compiler decides alike.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ago.ir.attributes import read_int, read_ints
from ago.ir.graph import Graph, Node
from ago.ir.ops import OPERATORS
from ago.ir.tensor import Layout, Slice, TensorType

VIEWING = ("Reshape", "Identity", "Transpose", "Rearrange", "Slice")
"""Operators whose result may share their input's memory."""

Types = Mapping[str, TensorType]


def is_view(graph: Graph, node: Node) -> bool:
    """Tell whether a node needs no code, because its result lies in memory already.

    A node of `VIEWING` may share its input's memory if each element stays at its place and the
    output is not longer than the input; a Concat needs no code if its inputs lie in its output.

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
    found = _viewed(types, node)
    own = _strides(target)
    return (
        found is not None
        and found.start == _start(target)
        and all(a == b for a, b, e in zip(found.steps, own, target.shape, strict=True) if e > 1)
    )


def view_layout(types: Types, node: Node) -> Layout | None:
    """The layout with which a node's result shares its input's memory; None if there is none.

    Args:
        types: Types, with layouts, of the node's inputs.
        node: A node of `VIEWING`.
    """
    source = types[node.inputs[0]]
    found = _viewed(types, node)
    if found is None:
        return None
    layout = _fitting(node.type.shape, found)
    if layout is None:
        return None
    shown = {**types, node.output: replace(node.type, layout=layout)}
    return layout if views_input(shown, node) and node.type.dtype == source.dtype else None


def layout_before(types: Types, node: Node) -> Layout | None:
    """The layout of a move's input with which its result is a view of it; None if there is none.

    Args:
        types: Types, with layouts, of the node's values.
        node: A Reshape, Transpose or Rearrange.
    """
    attrs: dict[str, object] = {"shape": types[node.inputs[0]].shape}
    if node.op == "Transpose":
        attrs = {"perm": _inverse(read_ints(node.attrs, "perm"))}
    elif node.op == "Rearrange":
        split, perm = (read_ints(node.attrs, key) for key in ("split", "perm"))
        attrs.update(split=tuple(split[digit] for digit in perm), perm=_inverse(perm))
    source = types[node.inputs[0]]
    back = Node(node.name, node.op, node.outputs, node.inputs, attrs, (source,))
    return view_layout(types, back)


def _inverse(perm: Sequence[int]) -> tuple[int, ...]:
    return tuple(perm.index(axis) for axis in range(len(perm)))


def concat_slots(types: Types, node: Node) -> list[Layout]:
    """Layouts with which the inputs of a Concat lie in its output; none where that cannot be."""
    kind, axis = types[node.output], read_int(node.attrs, "axis")
    layout = kind.layout
    if layout is None or (layout.within is not None and layout.within.axis != axis):
        return []
    extents = [types[value].shape[axis] for value in node.inputs]
    place = layout.order.index(axis)
    offsets = itertools.accumulate(extents[:-1], initial=layout.starts[place])
    wide = layout.physical_shape(kind.shape)[place]
    round = 1 if axis == layout.order[-1] else layout.round
    return [Layout(layout.order, round, Slice(offset, wide, axis)) for offset in offsets]


@dataclass(frozen=True, slots=True)
class _Places:
    """Where elements lie in memory, in elements.

    Attributes:
        start: Place of the first one.
        steps: Steps between neighbours along each axis; of one of extent 1 any number.
    """

    start: int
    steps: tuple[int, ...]


def _viewed(types: Types, node: Node) -> _Places | None:
    """Where the elements of a node's result lie in its input; None if not evenly."""
    source = types[node.inputs[0]]
    steps, start = _strides(source), _start(source)
    if node.op == "Transpose":
        return _Places(start, tuple(steps[axis] for axis in read_ints(node.attrs, "perm")))
    if node.op == "Slice":
        starts = read_ints(node.attrs, "starts")
        start += sum(first * step for first, step in zip(starts, steps, strict=True))
        every = zip(steps, read_ints(node.attrs, "steps"), strict=True)
        return _Places(start, tuple(step * count for step, count in every))
    digits = _digits(source.shape, steps)
    if node.op == "Rearrange":
        split, perm = (read_ints(node.attrs, key) for key in ("split", "perm"))
        parts = _divided(digits, split)
        if parts is None:
            return None
        digits = _digits([split[d] for d in perm], [parts[d] for d in perm])
    divided = _divided(digits, node.type.shape)
    return None if divided is None else _Places(start, divided)


def _fitting(shape: Sequence[int], places: _Places) -> Layout | None:
    """The layout with the given places; None if there is none."""
    long = [axis for axis, extent in enumerate(shape) if extent > 1]
    inside = sorted(long, key=lambda axis: -places.steps[axis])
    short = [axis for axis in range(len(shape)) if axis not in long]
    steps = [places.steps[axis] for axis in inside]
    if not inside or steps[-1] != 1:
        return Layout.row_major(len(shape)) if places.start == 0 and not inside else None
    part: Slice | None = None
    rest = places.start
    for axis, outer, step in zip(inside, [0, *steps], steps, strict=False):
        # Elements of the physical axis; the outermost one is as long as is needed.
        extent = outer // step if outer else max(shape[axis], rest // step + shape[axis])
        if extent < shape[axis] or (outer and outer % step):
            return None
        first = rest // step
        if first or extent > shape[axis]:
            if part is not None or first + shape[axis] > extent:
                return None
            part = Slice(first, extent, axis)
        rest -= first * step
    order = range(len(shape)) if inside == long else (*short, *inside)
    return Layout(tuple(order), 1, part) if rest == 0 else None


def _strides(kind: TensorType) -> list[int]:
    """Elements in memory between neighbours along each logical axis."""
    layout = kind.layout or Layout.row_major(kind.rank)
    stride = dict(zip(layout.order, _physical_steps(kind), strict=True))
    return [stride[axis] for axis in range(kind.rank)]


def _start(kind: TensorType) -> int:
    """Place of a tensor's first element in its memory."""
    layout = kind.layout or Layout.row_major(kind.rank)
    return sum(a * b for a, b in zip(layout.starts, _physical_steps(kind), strict=True))


def _physical_steps(kind: TensorType) -> list[int]:
    steps = itertools.accumulate(reversed(kind.physical_shape[1:]), lambda a, b: a * b, initial=1)
    return list(steps)[::-1] if kind.rank else []


def _divided(digits: Sequence[tuple[int, int]], shape: Sequence[int]) -> tuple[int, ...] | None:
    """Steps along the axes of `shape` whose row-major elements lie as the digits say."""
    steps: list[int] = []
    left = list(reversed(digits))
    for extent in reversed(shape):
        if extent == 1:
            steps.append(1)
            continue
        if not left or left[0][0] % extent:
            return None
        whole, step = left.pop(0)
        steps.append(step)
        if whole > extent:
            left.insert(0, (whole // extent, step * extent))
    return tuple(reversed(steps))


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
