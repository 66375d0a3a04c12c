"""What the passes share that see one operator in several: walking from node to node.

Read `Walk` first. Invariant: a walk only takes nodes in whose results nothing else is interested,
so that all of them can go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from ago.ir.graph import Graph, Node

_ROUNDING = 2.0**-22
"""How far a constant may be from a real number that it stands for, relative: two roundings."""


@dataclass(slots=True)
class Walk:
    """Nodes of a graph that may be one operator.

    Attributes:
        graph: The graph.
        taken: The nodes so far, by name.
    """

    graph: Graph
    taken: dict[str, Node] = field(default_factory=dict)

    def take(self, node: Node | None, *ops: str) -> Node | None:
        """Take a float32 node that is one of `ops`; None if it is something else."""
        if node is None or node.op not in ops or node.type.dtype != "f32":
            return None
        self.taken[node.name] = node
        return node

    def producer(self, value: str, *ops: str) -> Node | None:
        """Take the node that makes a value, if it is one of `ops`."""
        return self.take(self.graph.producer(value), *ops)

    def reader(self, value: str, *ops: str) -> Node | None:
        """Take the only node that reads a value, if it is one of `ops`."""
        readers = self.graph.consumers(value)
        return self.take(readers[0], *ops) if len(readers) == 1 else None

    def constant(self, value: str) -> float | None:
        """The number that a parameter of one element holds; None for anything else."""
        array = self.graph.params.get(value)
        if array is None or array.size != 1 or array.dtype != np.float32:
            return None
        return float(array.reshape(()))

    def with_constant(self, node: Node) -> tuple[str, float] | None:
        """The other operand and the number, of a node with two operands one of which is a number.

        The second operand where the order matters.
        """
        a, b = node.inputs
        number = self.constant(b)
        if number is not None:
            return a, number
        number = self.constant(a) if node.op in ("Add", "Mul") else None
        return None if number is None else (b, number)

    def scaled(self, value: str) -> tuple[str, float]:
        """What a value is a multiple of, and which; the node that scales it is taken."""
        node = self.graph.producer(value)
        if node is None or node.op not in ("Div", "Mul") or node.type.dtype != "f32":
            return value, 1.0
        found = self.with_constant(node)
        if found is None or (node.op == "Div" and found[1] == 0.0):
            return value, 1.0
        self.take(node, node.op)
        return found[0], (found[1] if node.op == "Mul" else 1.0 / found[1])

    def ends_in(self, root: Node) -> bool:
        """Whether nothing but the nodes taken reads the results of them, except of `root`."""
        return all(
            node is root or (self._is_inside(value) and value not in self.graph.outputs)
            for node in self.taken.values()
            for value in node.outputs
        )

    def _is_inside(self, value: str) -> bool:
        return all(reader.name in self.taken for reader in self.graph.consumers(value))


def close(number: float, wanted: float) -> bool:
    """Whether a float32 constant stands for a real number."""
    return abs(number - wanted) <= _ROUNDING * abs(wanted)


@dataclass(frozen=True, slots=True)
class Found:
    """One operator in several nodes.

    Attributes:
        root: The last of the nodes.
        node: What takes its place.
        gone: Names of all others.
    """

    root: Node
    node: Node
    gone: frozenset[str]

    @staticmethod
    def of(walk: Walk, root: Node, node: Node) -> Found | None:
        """What a walk has found; None if others read what lies inside."""
        if not walk.ends_in(root):
            return None
        return Found(root, node, frozenset(walk.taken) - {root.name})


def rewrite_found(graph: Graph, find: Callable[[Graph, Node], Found | None]) -> Graph:
    """Put one operator in the place of several, wherever `find` sees one from any of its nodes."""
    every = (find(graph, node) for node in graph.nodes)
    found = _disjoint(match for match in every if match is not None)
    places = {match.root.name: match.node for match in found}
    gone = {name for match in found for name in match.gone}
    nodes = (places.get(node.name, node) for node in graph.nodes if node.name not in gone)
    return graph.with_nodes(nodes)


def _disjoint(found: Iterable[Found]) -> list[Found]:
    taken: set[str] = set()
    kept = []
    for match in found:
        own = {*match.gone, match.root.name}
        if not taken & own:
            kept.append(match)
            taken |= own
    return kept
