"""Subgraphs without the nodes that need no code: views of memory at their borders.

Read `strip_views` first. A view inside a subgraph, between two of its nodes, stays and is lowered
as a copy, which scheduling inlines where it can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ago.ir.graph import Graph, Node
from ago.partition.partition import Partition, Subgraph, boundary
from ago.passes import is_view


@dataclass(frozen=True, slots=True)
class Work:
    """What is left to compile of a partition.

    Attributes:
        subgraphs: In an order of execution; none is empty.
        views: For each value that shares another's memory, the value whose memory it is.
    """

    subgraphs: tuple[Subgraph, ...]
    views: Mapping[str, str]


def strip_views(graph: Graph, partition: Partition) -> Work:
    """Take out the views at the borders of all subgraphs.

    Args:
        graph: The graph, with layouts.
        partition: Its subgraphs.

    Returns:
        What is left. A subgraph of views only is gone; a value that a view shows is an output of
        the subgraph that makes it.
    """
    kept: list[tuple[Node, ...]] = []
    views: list[Node] = []
    for subgraph in partition.subgraphs:
        inside = _inner(graph, subgraph.nodes)
        names = {node.name for node in inside}
        views += [node for node in subgraph.nodes if node.name not in names]
        if inside:
            kept.append(inside)
    return Work(tuple(boundary(graph, nodes) for nodes in kept), _sources(views))


def _inner(graph: Graph, nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The nodes without those views that only outer nodes feed or only outer nodes read."""
    remaining = {node.name: node for node in nodes}
    for node in nodes:
        if _is_free(graph, node) and not any(
            producer.name in remaining
            for producer in map(graph.producer, node.inputs)
            if producer is not None
        ):
            del remaining[node.name]
    for node in reversed(list(remaining.values())):
        readers = graph.consumers(node.output)
        if _is_free(graph, node) and not any(reader.name in remaining for reader in readers):
            del remaining[node.name]
    return tuple(remaining.values())


def _is_free(graph: Graph, node: Node) -> bool:
    """Whether a node only renames memory, of which the caller of the graph owns none."""
    return node.output not in graph.outputs and is_view(graph, node)


def _sources(views: Sequence[Node]) -> dict[str, str]:
    sources: dict[str, str] = {}
    for node in views:
        if node.op == "Concat":
            sources.update((value, node.output) for value in node.inputs)
        else:
            sources[node.output] = node.inputs[0]
    return {view: _root(sources, view) for view in sources}


def _root(sources: Mapping[str, str], value: str) -> str:
    while value in sources:
        value = sources[value]
    return value
