"""The baseline partition: at most one complex operator a subgraph."""

from __future__ import annotations

from collections.abc import Sequence

from ago.ir.graph import Graph
from ago.partition.dependency import DependencyGraph, dependency_graph
from ago.partition.partition import Partition, make_partition


def relay_style(graph: Graph) -> Partition:
    """Partition as TVM's Relay does: a complex operator and the element-wise operators after it.

    Args:
        graph: Any graph.

    Returns:
        The partition; see `relay_groups`.
    """
    groups = relay_groups(dependency_graph(graph, lambda graph, node: 0.0))
    return make_partition(graph, dict(zip((n.name for n in graph.nodes), groups, strict=True)))


def relay_groups(graph: DependencyGraph, within: Sequence[int] | None = None) -> list[int]:
    """The subgraph of each vertex in Relay's style.

    A vertex joins the subgraph of its producer if it is element-wise, or a `Pad`, which stores what
    its producer made with a border, and nothing else reads the producer, the graph's caller
    included. So the subgraph has one way out, through that vertex, and the quotient graph stays
    acyclic. Of several such producers it joins the one that is executed last.

    Args:
        graph: Any graph.
        within: A subgraph of each vertex, if there is a partition to refine: no vertex joins a
            producer of another subgraph.

    Returns:
        For each vertex, the position of the first vertex of its subgraph.
    """
    group: list[int] = []
    closed: set[int] = set()
    for number, vertex in enumerate(graph.vertices):
        candidates = [
            group[producer]
            for producer in _sole_suppliers(graph, number)
            if group[producer] not in closed
            and (within is None or within[producer] == within[number])
        ]
        group.append(max(candidates, default=number))
        if vertex.op == "Pad":
            closed.add(group[number])
    return group


def _sole_suppliers(graph: DependencyGraph, number: int) -> list[int]:
    """The producers to which an element-wise vertex or a `Pad` may be an epilogue."""
    vertex = graph.vertices[number]
    if vertex.kind != "elementwise" and vertex.op != "Pad":
        return []
    return [
        edge.producer
        for edge in graph.incoming[number]
        if graph.vertices[edge.producer].kind not in ("movement", "extern")
        and edge.value not in graph.outputs
        and (vertex.op == "Pad" or edge.nbytes == vertex.nbytes)
        and len(graph.outgoing[edge.producer]) == 1
    ]
