"""Partitions without constraints on structure: affix-set clustering under a weight threshold.

Read `affix_partition` first.
"""

from __future__ import annotations

from collections.abc import Sequence

from ago.ir.graph import Graph
from ago.partition.cluster import cluster
from ago.partition.contraction import AFFIX_RULES, EXACT_RULES, Rule
from ago.partition.dependency import dependency_graph
from ago.partition.partition import Partition, make_partition

DEFAULT_THRESHOLD = 40.0
"""Most weight of a subgraph, in expected draws of random schedules; see benchmarks/RESULTS.md."""


def affix_partition(graph: Graph, weight_threshold: float = DEFAULT_THRESHOLD) -> Partition:
    """Partition by CLUSTER on affix sets, in nearly linear time.

    Args:
        graph: The graph after all passes.
        weight_threshold: Most weight of a subgraph; a heavier operator stays alone.

    Returns:
        The partition; see `cluster`.
    """
    return _partition(graph, weight_threshold, AFFIX_RULES)


def exact_partition(graph: Graph, weight_threshold: float = DEFAULT_THRESHOLD) -> Partition:
    """Partition by CLUSTER with every adjacent pair as a candidate that a search proves safe.

    Args:
        graph: The graph after all passes.
        weight_threshold: Most weight of a subgraph; a heavier operator stays alone.

    Returns:
        The partition; see `cluster`.
    """
    return _partition(graph, weight_threshold, EXACT_RULES)


def _partition(graph: Graph, threshold: float, rules: Sequence[Rule]) -> Partition:
    groups = cluster(dependency_graph(graph), threshold, rules)
    return make_partition(
        graph, dict(zip((n.name for n in graph.nodes), groups, strict=True)), threshold
    )
