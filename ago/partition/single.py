"""The finest partition: each operator a subgraph of its own."""

from __future__ import annotations

from ago.ir.graph import Graph
from ago.partition.partition import Partition, make_partition


def one_by_one(graph: Graph) -> Partition:
    """Give each node a subgraph of its own, so that nothing is fused.

    Args:
        graph: Any graph.

    Returns:
        The partition.
    """
    return make_partition(graph, {node.name: number for number, node in enumerate(graph.nodes)})
