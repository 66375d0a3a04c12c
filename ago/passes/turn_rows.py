"""Softmax between two products, turned so that its rows lie side by side.

Read `turn_rows` first. Invariant: what is turned is read by what is turned; whatever leaves is
turned back by a `Transpose`, which later passes make a view or fold into its reader.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ago.ir.attributes import read_int, read_ints
from ago.ir.graph import Graph, Node, TensorType
from ago.ir.ops import OPERATORS
from ago.passes.draft import Draft

_REDUCING = frozenset(("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"))
_OVER_ROWS = _REDUCING | {"Softmax", "SoftmaxPowers"}
"""Operators with the attribute `axes`, turned by naming the other axis."""

Side = Literal["between", "behind"]
"""Of the second product."""


def turn_rows(graph: Graph, lanes: int) -> Graph:
    """Compute `f(q @ k) @ v`, where `f` reduces rows, as attention does, by its transpose.

    That is `(v^T @ f(k^T @ q^T))^T`, where `f` reduces columns: whole vectors are compared and
    added up, each lane another row, and none ends inside a row, whatever the number of columns is.
    Of the operands only `q` has to be transposed in memory.

    Args:
        graph: Any graph.
        lanes: float32 lanes of a vector: where there are fewer rows, nothing is turned.

    Returns:
        An equivalent graph.
    """
    places = {node.name: place for place, node in enumerate(graph.nodes)}
    regions: dict[str, _Region] = {}
    for node in graph.nodes:
        if node.name not in regions and _is_first(graph, node, lanes):
            region = _region(graph, node, places)
            regions.update(dict.fromkeys(region.members if region.pays(graph) else (), region))
    if not regions:
        return graph
    turned = _Turned(Draft(graph))
    for node in graph.nodes:
        if node.name in regions:
            turned.append(node, back=regions[node.name].leaves(graph, node.output))
        else:
            turned.draft.append(node)
    return turned.draft.finish()


@dataclass(slots=True)
class _Region:
    """Nodes that are turned together.

    Attributes:
        members: Their names.
        sides: Where each value that they make is.
        reduces: Whether one of them reduces rows.
    """

    members: set[str] = field(default_factory=set)
    sides: dict[str, Side] = field(default_factory=dict)
    reduces: bool = False

    def add(self, node: Node, side: Side) -> None:
        """Take a node in."""
        self.members.add(node.name)
        self.sides[node.output] = side
        self.reduces |= node.op in _OVER_ROWS

    def leaves(self, graph: Graph, value: str) -> bool:
        """Whether other nodes read a value, or it is an output of the graph."""
        outside = any(reader.name not in self.members for reader in graph.consumers(value))
        return outside or value in graph.outputs

    def pays(self, graph: Graph) -> bool:
        """Whether rows are reduced, and only what is behind the second product leaves."""
        leaving = {side for value, side in self.sides.items() if self.leaves(graph, value)}
        return self.reduces and leaving == {"behind"}


def _is_first(graph: Graph, node: Node, lanes: int) -> bool:
    """Whether a node is a product of two activations with rows enough."""
    if node.op != "MatMul" or node.type.rank < 2 or node.type.dtype != "f32":
        return False
    whole = all(v not in graph.params and graph.types[v].rank > 1 for v in node.inputs)
    return whole and node.type.shape[-2] >= lanes


def _region(graph: Graph, first: Node, places: Mapping[str, int]) -> _Region:
    """What can be turned together with a product."""
    region = _Region()
    region.add(first, "between")
    seen = {first.name}
    pending: list[int] = []

    def follow(value: str) -> None:
        for reader in graph.consumers(value):
            if reader.name not in seen:
                seen.add(reader.name)
                heapq.heappush(pending, places[reader.name])

    follow(first.output)
    while pending:
        node = graph.nodes[heapq.heappop(pending)]
        side = _side(graph, node, region.sides)
        if side is not None and node.type.rank == first.type.rank:
            region.add(node, side)
            follow(node.output)
    return region


def _side(graph: Graph, node: Node, sides: Mapping[str, Side]) -> Side | None:
    """Where the result of a node would be; None if it has to stay as it is."""
    found = [sides.get(value) for value in node.inputs]
    if node.op == "MatMul":
        whole = graph.types[node.inputs[1]].rank > 1
        return "behind" if found == ["between", None] and whole else None
    if node.type.dtype != "f32" or len(node.outputs) > 1:
        return None
    if OPERATORS[node.op].kind == "elementwise":
        if "behind" in found:
            return None if None in found else "behind"
        return "between"
    along = node.op in _OVER_ROWS and read_ints(node.attrs, "axes") == (node.type.rank - 1,)
    kept = along and (node.op not in _REDUCING or read_int(node.attrs, "keepdims") == 1)
    return "between" if kept and found == ["between"] else None


@dataclass(frozen=True, slots=True)
class _Turned:
    """A graph with turned nodes, under construction.

    Attributes:
        draft: The graph.
        names: What each value is called when turned.
    """

    draft: Draft
    names: dict[str, str] = field(default_factory=dict)

    def append(self, node: Node, *, back: bool) -> None:
        """Append a node of a region, turned; and if asked, its result turned back."""
        rank = node.type.rank
        inputs = [self._turned(value, rank) for value in node.inputs]
        attrs = {**node.attrs, "axes": (rank - 2,)} if node.op in _OVER_ROWS else node.attrs
        if node.op == "MatMul":
            inputs.reverse()
        made = self.names[node.output] = self.draft.fresh(f"{node.output}.turned")
        kind = _swapped(node.type)
        self.draft.append(
            replace(node, inputs=tuple(inputs), outputs=(made,), attrs=attrs, types=(kind,))
        )
        if back:
            self._transpose(made, node.output, node.type)

    def _turned(self, value: str, rank: int) -> str:
        """What a value is called when turned; one that broadcasts along both axes stays.

        Constants are turned here and now.
        """
        if value not in self.names:
            kind = self.draft.graph.types[value]
            if kind.size == 1:
                return value
            constant = self.draft.param(value)
            if constant is not None:
                turned = constant[:, None] if kind.rank < 2 else constant.swapaxes(-1, -2)
                self.names[value] = self.draft.add_param(f"{value}.turned", turned, kind.dtype)
                return self.names[value]
            made = self.names[value] = self.draft.fresh(f"{value}.turned")
            if kind.rank < 2:
                self._append("Reshape", value, made, TensorType((*kind.shape, 1), kind.dtype))
            else:
                self._transpose(value, made, _swapped(kind))
        return self.names[value]

    def _transpose(self, value: str, made: str, kind: TensorType) -> None:
        order = (*range(kind.rank - 2), kind.rank - 1, kind.rank - 2)
        self._append("Transpose", value, made, kind, perm=order)

    def _append(self, op: str, value: str, made: str, kind: TensorType, **attrs: object) -> None:
        attrs = attrs or {"shape": kind.shape}
        name = self.draft.fresh(f"{made}.{op.lower()}")
        self.draft.append(Node(name, op, (value,), (made,), attrs, (kind,)))


def _swapped(kind: TensorType) -> TensorType:
    *outer, rows, columns = kind.shape
    return TensorType((*outer, columns, rows), kind.dtype)
