"""The quotient graph while it is being contracted, with labels that prove it acyclic.

Read `Quotient` first. Invariant: `label` strictly increases along every edge. So every third
cluster on a path from `u` to `v` has a label between theirs.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from ago.partition.dependency import DependencyGraph

SPACING = 1 << 32
"""Difference of the first labels of neighbouring levels: room for labels between them."""


def levels(graph: DependencyGraph) -> list[int]:
    """The level of each vertex: 1 + the greatest level of a predecessor, 1 for a source.

    This is the topological stage of the paper.
    """
    result: list[int] = []
    for edges in graph.incoming:
        result.append(1 + max((result[edge.producer] for edge in edges), default=0))
    return result


class Quotient:
    """Clusters of vertices and the edges between them; only `merge` changes it.

    A cluster is known by the position of one of its vertices. The lists below have an entry for
    each vertex, valid where it stands for a cluster.

    Args:
        graph: The graph; each vertex starts as a cluster.

    Attributes:
        weight: Sum of the members' weights.
        name: The least of the members' names.
        label: The certificate; at first the level times `SPACING`.
        members: Positions of the vertices.
        producers: Clusters it reads from, with the bytes it reads from each.
        consumers: Clusters that read from it, with the bytes they read.
    """

    def __init__(self, graph: DependencyGraph) -> None:
        self.weight = [vertex.weight for vertex in graph.vertices]
        self.name = [vertex.name for vertex in graph.vertices]
        self.label = [SPACING * level for level in levels(graph)]
        self.members = [[number] for number in range(len(graph.vertices))]
        self.producers: list[dict[int, int]] = [{} for _ in graph.vertices]
        self.consumers: list[dict[int, int]] = [{} for _ in graph.vertices]
        for edge in graph.edges:
            self._add_edge(edge.producer, edge.consumer, edge.nbytes)

    def neighbours(self, cluster: int) -> Iterator[int]:
        """All clusters adjacent to one, producers first."""
        yield from self.producers[cluster]
        yield from self.consumers[cluster]

    def merge(self, producer: int, consumer: int) -> tuple[int, list[int]]:
        """Contract an edge between whose ends there is no other path.

        The merged label may fall or rise. Where it can stand between those of producers and
        consumers nothing else changes; else those behind it rise, as far as the order is broken
        and no further: the room between levels mostly ends it after one step.

        Args:
            producer: A cluster.
            consumer: One that reads from it.

        Returns:
            The position that now stands for both, and the other clusters whose labels rose.
        """
        label = self._merged_label(producer, consumer)
        kept, gone = producer, consumer
        if self._degree(gone) > self._degree(kept):
            kept, gone = gone, kept
        self._move_edges(gone, kept)
        self.label[kept] = label
        self.weight[kept] += self.weight[gone]
        self.name[kept] = min(self.name[kept], self.name[gone])
        small, large = sorted((self.members[kept], self.members[gone]), key=len)
        large.extend(small)
        self.members[kept], self.members[gone] = large, []
        return kept, self._repair(kept)

    def _add_edge(self, producer: int, consumer: int, nbytes: int) -> None:
        total = self.consumers[producer].get(consumer, 0) + nbytes
        self.consumers[producer][consumer] = self.producers[consumer][producer] = total

    def _degree(self, cluster: int) -> int:
        return len(self.producers[cluster]) + len(self.consumers[cluster])

    def _move_edges(self, gone: int, kept: int) -> None:
        for other, nbytes in self.producers[gone].items():
            del self.consumers[other][gone]
            if other != kept:
                self._add_edge(other, kept, nbytes)
        for other, nbytes in self.consumers[gone].items():
            del self.producers[other][gone]
            if other != kept:
                self._add_edge(kept, other, nbytes)
        self.producers[gone], self.consumers[gone] = {}, {}

    def _merged_label(self, producer: int, consumer: int) -> int:
        """The consumer's label where it fits, else one between producers and consumers, if any."""
        before = [self.label[p] for p in self.producers[producer]]
        before += [self.label[p] for p in self.producers[consumer] if p != producer]
        after = [self.label[c] for c in self.consumers[consumer]]
        after += [self.label[c] for c in self.consumers[producer] if c != consumer]
        low, label = max(before, default=0), self.label[consumer]
        high = min(after, default=label + 1)
        return label if low < label < high else _between(low, high)

    def _repair(self, start: int) -> list[int]:
        """Raise labels behind `start` where they are not greater; returns the clusters raised.

        In order of labels, so that few are raised twice.
        """
        raised: dict[int, None] = {}
        queue = [(self.label[start], start)]
        while queue:
            label, cluster = heapq.heappop(queue)
            if label != self.label[cluster]:
                continue
            for consumer in self.consumers[cluster]:
                if self.label[consumer] <= label:
                    behind = [self.label[c] for c in self.consumers[consumer]]
                    self.label[consumer] = _between(label, min(behind, default=label))
                    raised[consumer] = None
                    heapq.heappush(queue, (self.label[consumer], consumer))
        return list(raised)


def _between(low: int, high: int) -> int:
    """A label above `low` and, where there is room, below `high`."""
    return (low + high) // 2 if high - low >= 2 else low + SPACING
