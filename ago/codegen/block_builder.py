"""Collects the nodes and actions of one block, equal nodes once.

Read `BlockBuilder` first. Invariant: a node that only one branch may evaluate is shared with
nothing outside of it.
"""

from __future__ import annotations

from collections.abc import Callable

from ago.codegen.tree import Action, Block, Node


class BlockBuilder:
    """Collects the nodes and actions of one block."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.actions: list[Action] = []
        self.versions: dict[str, int] = {}
        self.lazy: set[int] = set()
        self._known: dict[Node, int] = {}
        self._depth = 0

    def add(self, node: Node) -> int:
        """The position of `node`, new or shared."""
        if self._depth:
            self.lazy.add(len(self.nodes))
        else:
            position = self._known.get(node)
            if position is not None:
                return position
            self._known[node] = len(self.nodes)
        self.nodes.append(node)
        return len(self.nodes) - 1

    def branch(self, make: Callable[[], int]) -> int:
        """The node that `make` builds, evaluated only where its parent asks for it."""
        self._depth += 1
        node = make()
        self._depth -= 1
        return node

    def build(self) -> Block:
        """The block."""
        return Block(tuple(self.nodes), tuple(self.actions), frozenset(self.lazy))
