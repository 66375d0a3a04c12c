"""Partitioning: which nodes are compiled together."""

from ago.partition.affix import DEFAULT_THRESHOLD, affix_partition, exact_partition
from ago.partition.dependency import DependencyGraph, Edge, Vertex, dependency_graph
from ago.partition.partition import Partition, Subgraph, make_partition
from ago.partition.relay import relay_style
from ago.partition.single import one_by_one
from ago.partition.views import strip_views

__all__ = [
    "DEFAULT_THRESHOLD",
    "DependencyGraph",
    "Edge",
    "Partition",
    "Subgraph",
    "Vertex",
    "affix_partition",
    "dependency_graph",
    "exact_partition",
    "make_partition",
    "one_by_one",
    "relay_style",
    "strip_views",
]
