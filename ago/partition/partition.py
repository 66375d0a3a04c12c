"""The result of partitioning: subgraphs and the acyclic graph they form.

Read `Partition` first. Invariant: every node of the graph is in exactly one subgraph, and the
subgraphs stand in an order in which each only reads what earlier ones made.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ago.errors import IRError
from ago.ir.graph import Graph, Node
from ago.ir.ops import OPERATORS


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Nodes that are compiled into one function.

    Attributes:
        nodes: In topological order.
        inputs: Values read that are made outside: other nodes' or the graph's inputs, each once.
        outputs: Values made here that other subgraphs read or the graph returns.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def complex_nodes(self) -> tuple[Node, ...]:
        """The convolutions and matrix products among the nodes."""
        return tuple(n for n in self.nodes if OPERATORS[n.op].kind == "complex")

    def __str__(self) -> str:
        return " → ".join(node.op for node in self.nodes)


@dataclass(frozen=True, slots=True)
class Partition:
    """A graph cut into subgraphs.

    Attributes:
        subgraphs: In an order of execution.
        threshold: Most weight of a subgraph that was asked for; None if none was.
    """

    subgraphs: tuple[Subgraph, ...]
    threshold: float | None = None

    def __str__(self) -> str:
        noun = "subgraph" if len(self.subgraphs) == 1 else "subgraphs"
        lines = [f"{len(self.subgraphs)} {noun}"]
        lines += [f"  {i:3d}  {subgraph}" for i, subgraph in enumerate(self.subgraphs)]
        return "\n".join(lines)


def make_partition(
    graph: Graph, group: Mapping[str, int], threshold: float | None = None
) -> Partition:
    """The partition that puts each node into the group of its number.

    Args:
        graph: The graph.
        group: A group number for each node name.
        threshold: Most weight of a subgraph that was asked for.

    Returns:
        The subgraphs in an order of execution; among free ones, by their first node.

    Raises:
        IRError: `not-a-partition` if a node has no group, `cyclic-partition` if groups depend on
            each other.
    """
    missing = [node.name for node in graph.nodes if node.name not in group]
    if missing:
        raise IRError("not-a-partition", f"nodes without a subgraph: {', '.join(missing)}")
    members: dict[int, list[Node]] = {}
    for node in graph.nodes:
        members.setdefault(group[node.name], []).append(node)
    order = _execution_order(graph, members, group)
    return Partition(tuple(boundary(graph, members[number]) for number in order), threshold)


def _execution_order(
    graph: Graph, members: Mapping[int, Sequence[Node]], group: Mapping[str, int]
) -> list[int]:
    """Group numbers, each after those it reads from; of the free ones always the first listed."""
    place = {number: position for position, number in enumerate(members)}
    waits: dict[int, set[int]] = {number: set() for number in members}
    readers: dict[int, set[int]] = {number: set() for number in members}
    for number, nodes in members.items():
        for value in (value for node in nodes for value in node.inputs):
            producer = graph.producer(value)
            if producer is not None and group[producer.name] != number:
                waits[number].add(group[producer.name])
                readers[group[producer.name]].add(number)
    free = [(place[number], number) for number in members if not waits[number]]
    order: list[int] = []
    while free:
        _, number = heapq.heappop(free)
        order.append(number)
        for reader in readers[number]:
            waits[reader].discard(number)
            if not waits[reader]:
                heapq.heappush(free, (place[reader], reader))
    if len(order) < len(members):
        names = sorted(members[n][0].name for n in members if waits[n])
        raise IRError("cyclic-partition", f"subgraphs depend on each other: {names}")
    return order


def boundary(graph: Graph, nodes: Sequence[Node]) -> Subgraph:
    """Some nodes as a subgraph: what they read from outside, and what is read of them.

    Args:
        graph: The graph.
        nodes: Nodes of it in topological order.
    """
    names = {node.name for node in nodes}
    made = [value for node in nodes for value in node.outputs]
    inside = set(made)
    read = dict.fromkeys(v for node in nodes for v in node.inputs if v and v not in graph.params)
    outputs = tuple(
        value
        for value in made
        if value in graph.outputs
        or any(consumer.name not in names for consumer in graph.consumers(value))
    )
    return Subgraph(tuple(nodes), tuple(v for v in read if v not in inside), outputs)
