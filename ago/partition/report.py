"""How good a partition is: sizes, weights, balance, and what it cuts.

Read `PartitionReport` first; `compare` puts the three partitioners side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ago.partition.cluster import cluster
from ago.partition.contraction import AFFIX_RULES, EXACT_RULES
from ago.partition.dependency import DependencyGraph
from ago.partition.relay import relay_groups

TRIVIAL_SHARE = 0.05
"""A subgraph is trivial if it weighs less than this share of the mean."""


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """Figures of one partition.

    Attributes:
        name: Of the partitioner.
        operators: Operators in each subgraph.
        complex_operators: Convolutions and matrix products in each.
        weights: Weight of each.
        large_cuts: Tensors larger than the L2 cache that go from one subgraph to another although
            their two ends together would have kept the threshold.
    """

    name: str
    operators: tuple[int, ...]
    complex_operators: tuple[int, ...]
    weights: tuple[float, ...]
    large_cuts: tuple[str, ...]

    @property
    def jain(self) -> float:
        """Jain's fairness index of the weights, `(Σw)² / (n Σw²)`: 1 where all are equal."""
        squares = sum(weight * weight for weight in self.weights)
        total = sum(self.weights)
        return total * total / (len(self.weights) * squares) if squares else 1.0

    @property
    def trivial(self) -> int:
        """Number of subgraphs that weigh less than 5 % of the mean."""
        mean = sum(self.weights) / max(len(self.weights), 1)
        return sum(weight < TRIVIAL_SHARE * mean for weight in self.weights)

    def row(self) -> tuple[str, ...]:
        """The figures as text, under `COLUMNS`."""
        count = max(len(self.weights), 1)
        return (
            self.name,
            str(len(self.weights)),
            f"{self.trivial} ({self.trivial / count:.0%})",
            f"{self.jain:.2f}",
            f"{sum(self.weights) / count:.1f}",
            f"{max(self.weights, default=0.0):.1f}",
            str(max(self.complex_operators, default=0)),
            str(len(self.large_cuts)),
        )


COLUMNS = (
    "partitioner",
    "subgraphs",
    "trivial",
    "Jain",
    "mean weight",
    "max weight",
    "max complex",
    "large cuts",
)
"""Titles of `PartitionReport.row`."""


def report(
    graph: DependencyGraph, groups: Sequence[int], threshold: float, l2_bytes: int, name: str
) -> PartitionReport:
    """The figures of a partition.

    Args:
        graph: The graph.
        groups: The number of each vertex's subgraph; the figures stand in order of these numbers.
        threshold: Most weight of a subgraph.
        l2_bytes: Size of the cache that decides which tensors are large.
        name: What to call the partition.
    """
    members: dict[int, list[int]] = {}
    for number, group in enumerate(groups):
        members.setdefault(group, []).append(number)
    members = dict(sorted(members.items()))
    weights = {g: sum(graph.vertices[n].weight for n in numbers) for g, numbers in members.items()}
    cuts = dict.fromkeys(
        edge.value
        for edge in graph.edges
        if edge.nbytes > l2_bytes
        and groups[edge.producer] != groups[edge.consumer]
        and weights[groups[edge.producer]] + weights[groups[edge.consumer]] <= threshold
    )
    return PartitionReport(
        name,
        tuple(len(numbers) for numbers in members.values()),
        tuple(
            sum(graph.vertices[n].kind == "complex" for n in numbers)
            for numbers in members.values()
        ),
        tuple(weights.values()),
        tuple(cuts),
    )


def compare(graph: DependencyGraph, threshold: float, l2_bytes: int) -> tuple[PartitionReport, ...]:
    """The figures of affix, exact and relay.

    Args:
        graph: The graph.
        threshold: Most weight of a subgraph.
        l2_bytes: Size of the cache that decides which tensors are large.
    """
    partitions = {
        "affix": cluster(graph, threshold, AFFIX_RULES),
        "exact": cluster(graph, threshold, EXACT_RULES),
        "relay": relay_groups(graph),
    }
    return tuple(report(graph, g, threshold, l2_bytes, name) for name, g in partitions.items())


def table(rows: Sequence[Sequence[str]]) -> str:
    """Lines of columns, the first flush left, the others flush right.

    Args:
        rows: Cells, the titles first.
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        cells[0] = row[0].ljust(widths[0])
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
