"""Partitioning: which nodes are compiled together."""

from ago.partition.partition import Partition, Subgraph, make_partition
from ago.partition.relay import relay_style

__all__ = ["Partition", "Subgraph", "make_partition", "relay_style"]
