"""A partition for reading: its subgraphs with their weights, and the partitioners side by side.

Read `summarise` first; `print` shows all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ago.ir.graph import Graph
from ago.partition.affix import DEFAULT_THRESHOLD
from ago.partition.dependency import dependency_graph
from ago.partition.partition import Partition, Subgraph
from ago.partition.report import COLUMNS, PartitionReport, compare, report, table

_LONGEST = 12
"""Most operators of a subgraph that are written out."""


@dataclass(frozen=True, slots=True)
class PartitionSummary:
    """A partition with its figures.

    Attributes:
        partition: The partition.
        chosen: Its figures; subgraphs in its order.
        others: The figures of affix, exact and relay on the same graph.
        threshold: Most weight of a subgraph, for affix and exact.
    """

    partition: Partition
    chosen: PartitionReport
    others: tuple[PartitionReport, ...]
    threshold: float

    def to_dict(self) -> dict[str, object]:
        """The summary as plain data."""
        subgraphs = [
            {"nodes": [n.name for n in s.nodes], "complex": len(s.complex_nodes), "weight": w}
            for s, w in zip(self.partition.subgraphs, self.chosen.weights, strict=True)
        ]
        return {
            "threshold": self.threshold,
            "subgraphs": subgraphs,
            "large_cuts": list(self.chosen.large_cuts),
            "partitioners": {r.name: _figures(r) for r in (self.chosen, *self.others)},
        }

    def __str__(self) -> str:
        rows = [
            (f"{i:4d}", f"{weight:.1f}", str(len(s.complex_nodes)), _operators(s))
            for i, (s, weight) in enumerate(
                zip(self.partition.subgraphs, self.chosen.weights, strict=True)
            )
        ]
        width = max((len(row[1]) for row in rows), default=0)
        noun = "subgraph" if len(rows) == 1 else "subgraphs"
        lines = [f"{len(rows)} {noun}: weight, complex operators, operators"]
        lines += [f"{number}  {w.rjust(width)}  {c:>3}  {text}" for number, w, c, text in rows]
        lines.append("")
        lines.append(table([COLUMNS, *(r.row() for r in (self.chosen, *self.others))]))
        lines.append(f"threshold of affix and exact: {self.threshold:g}")
        lines += [f"cut though larger than L2: {value}" for value in self.chosen.large_cuts]
        return "\n".join(lines)


def summarise(graph: Graph, partition: Partition, l2_bytes: int) -> PartitionSummary:
    """The figures of a partition beside those of affix, exact and relay.

    Args:
        graph: The graph that was partitioned.
        partition: Its subgraphs; its threshold, or else the default, holds for affix and exact too.
        l2_bytes: Size of the cache that decides which tensors are large.
    """
    plain = dependency_graph(graph)
    threshold = DEFAULT_THRESHOLD if partition.threshold is None else partition.threshold
    group = group_numbers(partition)
    chosen = report(plain, [group[v.name] for v in plain.vertices], threshold, l2_bytes, "this")
    return PartitionSummary(partition, chosen, compare(plain, threshold, l2_bytes), threshold)


def group_numbers(partition: Partition) -> dict[str, int]:
    """The position of each node's subgraph, by the node's name."""
    return {node.name: i for i, s in enumerate(partition.subgraphs) for node in s.nodes}


def _operators(subgraph: Subgraph) -> str:
    names: Sequence[str] = [node.op for node in subgraph.nodes]
    more = len(names) - _LONGEST
    text = " ".join(names[:_LONGEST])
    return f"{text} and {more} more" if more > 0 else text


def _figures(result: PartitionReport) -> Mapping[str, object]:
    return {
        "subgraphs": len(result.weights),
        "trivial": result.trivial,
        "jain": result.jain,
        "weights": list(result.weights),
        "complex": list(result.complex_operators),
        "large_cuts": len(result.large_cuts),
    }
