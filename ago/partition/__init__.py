"""Partitioning: which nodes are compiled together."""

from ago.partition.affix import DEFAULT_THRESHOLD, affix_partition, exact_partition
from ago.partition.choose import (
    DEFAULT_PARTITIONER,
    PARTITIONERS,
    Partitioner,
    find_partitioner,
)
from ago.partition.dependency import DependencyGraph, Edge, Vertex, dependency_graph
from ago.partition.partition import Partition, Subgraph, make_partition
from ago.partition.relay import relay_style
from ago.partition.single import one_by_one
from ago.partition.summary import PartitionSummary, summarise
from ago.partition.views import order_for_memory, strip_views

__all__ = [
    "DEFAULT_PARTITIONER",
    "DEFAULT_THRESHOLD",
    "PARTITIONERS",
    "DependencyGraph",
    "Edge",
    "Partition",
    "PartitionSummary",
    "Partitioner",
    "Subgraph",
    "Vertex",
    "affix_partition",
    "dependency_graph",
    "exact_partition",
    "find_partitioner",
    "make_partition",
    "one_by_one",
    "order_for_memory",
    "relay_style",
    "strip_views",
    "summarise",
]
