"""The baseline partition: at most one complex operator a subgraph."""

from __future__ import annotations

from ago.ir.graph import Graph, Node
from ago.ir.ops import OPERATORS
from ago.partition.partition import Partition, make_partition


def relay_style(graph: Graph) -> Partition:
    """Partition as TVM's Relay does: a complex operator and the element-wise operators after it.

    A node joins the subgraph of its producer if it is element-wise, or a `Pad`, which stores what
    its producer made with a border, and is the only reader of a value that stays inside the graph.
    So the subgraph has one way out, through that node, and the quotient graph stays acyclic. Of
    several such producers it joins the one that is executed last.

    Args:
        graph: Any graph.

    Returns:
        The partition.
    """
    group: dict[str, int] = {}
    closed: set[int] = set()
    for number, node in enumerate(graph.nodes):
        joined = _producer_group(graph, node, group, closed)
        group[node.name] = number if joined is None else joined
        if node.op == "Pad":
            closed.add(group[node.name])
    return make_partition(graph, group)


def _producer_group(
    graph: Graph, node: Node, group: dict[str, int], closed: set[int]
) -> int | None:
    """The latest subgraph that `node` may join, or None."""
    if OPERATORS[node.op].kind != "elementwise" and node.op != "Pad":
        return None
    candidates = []
    for value in node.inputs:
        producer = graph.producer(value)
        if producer is None or value in graph.outputs or OPERATORS[producer.op].kind == "movement":
            continue
        shape = graph.type_of(value).shape
        same = node.op == "Pad" or shape == node.type.shape
        if same and graph.consumers(value) == (node,) and group[producer.name] not in closed:
            candidates.append(group[producer.name])
    return max(candidates, default=None)
