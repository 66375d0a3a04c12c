"""The order in which activations lie in memory.

Read `choose_layouts` first. Invariant: inputs, outputs and parameters of the graph stay row-major,
and no layout changes what a node computes.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

from ago.ir.graph import Graph, Layout, Node, TensorType


def choose_layouts(graph: Graph, lanes: int) -> Graph:
    """Give a layout to every activation.

    Results of rank 3 and 4 are channels-last with the channels rounded up to `lanes`. Those of
    rank 1 and 2 are row-major and rounded, except that the two sides of a Reshape are rounded only
    where it stays a view. Outputs of the graph are row-major without rounding.

    Args:
        graph: Any graph.
        lanes: float32 lanes of a vector register of the target.

    Returns:
        The same graph with layouts in its types.
    """
    types = {value: replace(kind, layout=None) for value, kind in graph.types.items()}
    nodes = []
    for node in graph.nodes:
        for value in node.outputs:
            types[value] = _with_layout(graph, types, node, value, lanes)
        nodes.append(replace(node, types=tuple(types[value] for value in node.outputs)))
    return graph.with_nodes(nodes)


def is_view(graph: Graph, node: Node) -> bool:
    """Tell whether a Reshape or Identity may share its input's memory.

    It may if each element stays at its place and the output is not longer in memory than the input.

    Args:
        graph: The graph, with layouts.
        node: Any of its nodes.
    """
    if node.op not in ("Reshape", "Identity"):
        return False
    return _same_memory(graph.types[node.inputs[0]], node.type)


def _with_layout(
    graph: Graph, types: dict[str, TensorType], node: Node, value: str, lanes: int
) -> TensorType:
    kind = types[value]
    if value in graph.outputs:
        return kind
    if kind.rank in (3, 4):
        return replace(kind, layout=Layout.channels_last(kind.rank, lanes))
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
