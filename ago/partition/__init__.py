"""Partitioning: which nodes are compiled together."""

from ago.partition.partition import Partition, Subgraph, make_partition
from ago.partition.relay import relay_style
from ago.partition.single import one_by_one

__all__ = ["Partition", "Subgraph", "make_partition", "one_by_one", "relay_style"]
