"""What became of the operators that only move elements: views of memory, or moved, and why.

Read `report_movement` first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ago.ir.graph import Graph, Node
from ago.ir.ops import OPERATORS
from ago.passes.memory_views import (
    VIEWING,
    concat_slots,
    is_view,
    may_lie_elsewhere,
    view_layout,
)

_REASONS: Mapping[str, str] = {
    "Pad": "it puts borders around them; what makes them may store them there",
    "Interleave": "it deals out the elements of several tensors",
}


@dataclass(frozen=True, slots=True)
class Movement:
    """One operator that only moves elements.

    Attributes:
        node: Its name.
        op: What it is.
        nbytes: Size of its result, in bytes.
        reason: Why its elements are moved; empty for a view, which costs nothing.
    """

    node: str
    op: str
    nbytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class MovementReport:
    """All operators of a graph that only move elements, in its order."""

    movements: tuple[Movement, ...]

    @property
    def moved(self) -> tuple[Movement, ...]:
        """Those that are no views."""
        return tuple(m for m in self.movements if m.reason)

    def __str__(self) -> str:
        moved = self.moved
        total = sum(m.nbytes for m in moved)
        lines = [
            f"{len(self.movements)} operators only move elements: "
            f"{len(self.movements) - len(moved)} are views, {len(moved)} move {total} bytes"
        ]
        lines += [f"  {m.op:<12} {m.nbytes:>10}  {m.node}: {m.reason}" for m in moved]
        return "\n".join(lines)


def report_movement(graph: Graph) -> MovementReport:
    """Say of each operator that only moves elements whether it does, and why.

    Args:
        graph: The graph after all passes, with layouts.
    """
    return MovementReport(
        tuple(
            Movement(node.name, node.op, replace(node.type, layout=None).nbytes, _why(graph, node))
            for node in graph.nodes
            if OPERATORS[node.op].kind == "movement"
        )
    )


def _why(graph: Graph, node: Node) -> str:
    """Why a node moves elements; an empty string for one that does not."""
    if node.output in graph.outputs:
        return "its result is an output of the graph, which has memory of its own"
    if is_view(graph, node):
        return ""
    if node.op == "Concat":
        return _why_joined(graph, node)
    if node.op not in VIEWING:
        return _REASONS.get(node.op, "it repeats or chooses elements")
    layout = view_layout(graph.types, node)
    if layout is None:
        return "its result has no single step an axis in its input's memory"
    wanted = node.type.layout
    if layout.within is not None and wanted is not None and layout.order == wanted.order:
        return "it is a part of rows that is no whole number of vectors"
    return f"its readers want the order {wanted}, its input lies as {layout}"


def _why_joined(graph: Graph, node: Node) -> str:
    """Why the inputs of a Concat do not lie in its output."""
    slots = concat_slots(graph.types, node)
    for value, slot in zip(node.inputs, slots, strict=False):
        layout = graph.types[value].layout
        if node.inputs.count(value) > 1:
            return f"{value} is joined twice"
        if not may_lie_elsewhere(graph, value):
            return f"{value} is a view or viewed, an input or an output"
        if layout is None or layout.order != slot.order:
            return f"{value} lies in another order"
        if layout.within is not None and layout != slot:
            return f"{value} lies in another tensor"
    return "a part is no whole number of vectors" if slots else "it lies inside another tensor"
