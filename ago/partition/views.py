"""Subgraphs without the nodes that need no code: views of memory.

Read `strip_views` first, then `order_for_memory`. Invariant: a value that a view shows, or that
lies in a view's memory, is an output of what is compiled, so that it has a place of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ago.ir.graph import Graph, Node
from ago.memory import Task, aligned, lowest_peak
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
    """Take the views out of all subgraphs.

    A subgraph with a view between two of its nodes becomes several, one after another: what is
    made before the view, and what reads it.

    Args:
        graph: The graph, with layouts.
        partition: Its subgraphs.

    Returns:
        What is left; a subgraph of views only is gone.
    """
    views = [n for s in partition.subgraphs for n in s.nodes if _is_free(graph, n)]
    names = frozenset(node.name for node in views)
    parts = [part for s in partition.subgraphs for part in _parts(graph, s.nodes, names)]
    return Work(tuple(boundary(graph, nodes) for nodes in parts), _sources(views))


def order_for_memory(graph: Graph, work: Work) -> Work:
    """Let the subgraphs run in an order in which few bytes are live at once.

    Args:
        graph: The graph, with layouts.
        work: Its subgraphs and views.

    Returns:
        The same subgraphs in another order of execution, or in the same one if none needs less.
    """

    def roots(values: Sequence[str]) -> tuple[str, ...]:
        return tuple(work.views.get(value, value) for value in values)

    tasks = [Task(roots(part.outputs), roots(part.inputs)) for part in work.subgraphs]
    outside = {*graph.inputs, *graph.outputs}
    sizes = {
        value: aligned(graph.type_of(value).nbytes)
        for task in tasks
        for value in task.writes
        if value not in outside
    }
    order = lowest_peak(tasks, sizes)
    return Work(tuple(work.subgraphs[number] for number in order), work.views)


def _parts(graph: Graph, nodes: Sequence[Node], views: frozenset[str]) -> list[list[Node]]:
    """The nodes that are no views, by the number of parts that must come before."""
    turn: dict[str, int] = {}
    parts: dict[int, list[Node]] = {}
    for node in nodes:
        shows = node.name in views
        makers = [maker.name for maker in map(graph.producer, node.inputs) if maker is not None]
        turn[node.name] = max(
            (turn[m] + (shows and m not in views) for m in makers if m in turn), default=0
        )
        if not shows:
            parts.setdefault(turn[node.name], []).append(node)
    return [parts[number] for number in sorted(parts)]


def _is_free(graph: Graph, node: Node) -> bool:
    """Whether a node makes nothing, or only renames memory of which the caller owns none."""
    if not any(kind.size for kind in node.types):
        return True
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
