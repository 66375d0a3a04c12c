"""The order in which activations lie in memory.

Read `choose_layouts` first. Invariant: inputs, outputs and parameters of the graph stay row-major,
and no layout changes what a node computes; a tensor that lies within another is written before
the Concat that joins them.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

from ago.ir.attributes import read_int
from ago.ir.graph import Graph, Layout, Node, TensorType
from ago.ir.ops import OPERATORS
from ago.ir.tensor import Slice


def choose_layouts(graph: Graph, lanes: int) -> Graph:
    """Give a layout to every activation.

    Results of rank 3 and 4 are channels-last, with the channels rounded up to `lanes` where there
    are at least as many: fewer would more than double the tensor for one partial vector. Those of
    rank 1 and 2 are row-major and rounded, except that the two sides of a Reshape are rounded only
    where it stays a view. Outputs of the graph, and what an extern
    reads or writes, are row-major without rounding.

    Args:
        graph: Any graph.
        lanes: float32 lanes of a vector register of the target.

    Returns:
        The same graph with layouts in its types.
    """
    types = {value: replace(kind, layout=None) for value, kind in graph.types.items()}
    for node in graph.nodes:
        for value in node.outputs:
            types[value] = _with_layout(graph, types, node, value, lanes)
    for node in reversed(graph.nodes):
        if node.op == "Concat":
            _place_inputs(graph, types, node, lanes)
    return graph.with_nodes(
        replace(node, types=tuple(types[value] for value in node.outputs)) for node in graph.nodes
    )


def _place_inputs(graph: Graph, types: dict[str, TensorType], node: Node, lanes: int) -> None:
    """Let the inputs of a Concat lie in its output, so that it costs nothing, where they may.

    They may if it concatenates along the contiguous axis of a tensor that is no output of the
    graph, and each input is made by a node for this Concat once, lies nowhere else yet, and is made
    of whole vectors: a rounded store would run into its neighbour.
    """
    kind = types[node.output]
    layout = kind.layout
    if layout is None or layout.order[-1] != read_int(node.attrs, "axis"):
        return
    axis, parts = layout.order[-1], [types[value] for value in node.inputs]
    free = len(set(node.inputs)) == len(node.inputs) and all(
        graph.producer(value) is not None
        and value not in graph.outputs
        and part.layout is not None
        and part.layout.order == layout.order
        and part.layout.within is None
        and part.shape[axis] % lanes == 0
        and not any(n.op in ("Reshape", "Identity") for n in graph.consumers(value))
        and _producer_op(graph, value) not in ("Reshape", "Identity")
        and not _meets_extern(graph, value)
        for value, part in zip(node.inputs, parts, strict=True)
    )
    if not free:
        return
    offset, extent = layout.offset, layout.physical_shape(kind.shape)[-1]
    for value, part in zip(node.inputs, parts, strict=True):
        slot = Layout(layout.order, 1, Slice(offset, extent))
        types[value] = replace(part, layout=slot)
        offset += part.shape[axis]


def _producer_op(graph: Graph, value: str) -> str:
    producer = graph.producer(value)
    return "" if producer is None else producer.op


def _meets_extern(graph: Graph, value: str) -> bool:
    """Tell whether an extern reads or writes a value, so that it must be dense and row-major."""
    producer = graph.producer(value)
    ends = graph.consumers(value) if producer is None else (producer, *graph.consumers(value))
    return any(OPERATORS[node.op].kind == "extern" for node in ends)


def is_view(graph: Graph, node: Node) -> bool:
    """Tell whether a node needs no code, because its result lies in memory already.

    A Reshape or Identity may share its input's memory if each element stays at its place and the
    output is not longer than the input; a Concat needs no code if its inputs lie in its output.

    Args:
        graph: The graph, with layouts.
        node: Any of its nodes.
    """
    if node.op == "Concat":
        layouts = [graph.types[value].layout for value in node.inputs]
        return all(layout is not None and layout.within is not None for layout in layouts)
    if node.op not in ("Reshape", "Identity"):
        return False
    return _same_memory(graph.types[node.inputs[0]], node.type)


def _with_layout(
    graph: Graph, types: dict[str, TensorType], node: Node, value: str, lanes: int
) -> TensorType:
    kind = types[value]
    if value in graph.outputs:
        return kind
    if _meets_extern(graph, value):
        return replace(kind, layout=Layout.row_major(kind.rank))
    if kind.rank in (3, 4):
        round = lanes if kind.shape[1] >= lanes else 1
        return replace(kind, layout=Layout.channels_last(kind.rank, round))
    plain = replace(kind, layout=Layout.row_major(kind.rank))
    if kind.rank not in (1, 2) or any(n.op == "Reshape" for n in graph.consumers(value)):
        return plain
    rounded = replace(kind, layout=Layout.row_major(kind.rank, lanes))
    if node.op == "Reshape" and not _same_memory(types[node.inputs[0]], rounded):
        return plain
    return rounded


def _same_memory(source: TensorType, target: TensorType) -> bool:
    """Tell whether row-major element `i` of both lies at the same place, for all `i`."""
    return _addresses(source) == _addresses(target) and target.nbytes <= source.nbytes


def _addresses(kind: TensorType) -> list[tuple[int, int]]:
    """Return the map from row-major number to place as digits `(extent, stride)`, fewest first.

    Axes of extent 1 play no part, and neighbours that continue each other are one digit, so equal
    maps have equal lists.
    """
    layout = kind.layout or Layout.row_major(kind.rank)
    physical = layout.physical_shape(kind.shape)
    steps = [1, *itertools.accumulate(reversed(physical[1:]), lambda a, b: a * b)][::-1]
    stride = dict(zip(layout.order, steps, strict=False))
    digits: list[tuple[int, int]] = []
    for axis in range(kind.rank):
        extent = kind.shape[axis]
        if extent == 1:
            continue
        if digits and digits[-1][1] == extent * stride[axis]:
            extent *= digits.pop()[0]
        digits.append((extent, stride[axis]))
    return digits
