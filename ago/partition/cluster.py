"""CLUSTER: merge subgraphs, lightest first, under a weight threshold.

Read `cluster` first. Invariant: the result does not depend on the order in which the graph lists
its vertices: ties are broken by name.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from ago.partition.contraction import AFFIX_RULES, EXACT_RULES, Rule
from ago.partition.dependency import DependencyGraph
from ago.partition.quotient import Quotient


def cluster(
    graph: DependencyGraph, threshold: float, rules: Sequence[Rule] = AFFIX_RULES
) -> list[int]:
    """Partition a graph.

    Repeatedly the lightest subgraph that has a candidate is merged with the candidate that shares
    the most bytes with it; among equals with a producer, then by name. A candidate is adjacent,
    safe by one of the rules, and keeps the sum of the weights at or under the threshold. In the
    end, operators left alone are pulled into a neighbour wherever an exact search finds it safe.
    Externs stay alone.

    The queue holds every subgraph that may have a candidate. A merge queues again only those
    neighbours whose situation it changed, so the time grows nearly linearly with the graph.

    Args:
        graph: The graph.
        threshold: Most weight of a subgraph; a heavier operator stays alone.
        rules: Proofs of safety, any of which suffices.

    Returns:
        The subgraph of each vertex, numbered by their first vertices.
    """
    apart = frozenset(n for n, vertex in enumerate(graph.vertices) if vertex.kind == "extern")
    state = _Clustering(Quotient(graph), threshold, apart)
    everything = range(len(graph.vertices))
    state.run(everything, rules)
    alone = [c for c in everything if len(state.quotient.members[c]) == 1]
    state.run(alone, EXACT_RULES, only_alone=True)
    return _numbered(state.quotient)


def _numbered(quotient: Quotient) -> list[int]:
    owner = [0] * len(quotient.members)
    for position, members in enumerate(quotient.members):
        for member in members:
            owner[member] = position
    numbers: dict[int, int] = {}
    return [numbers.setdefault(position, len(numbers)) for position in owner]


class _Clustering:
    """The quotient graph and the queue of those that may merge.

    An entry of the queue is valid while its cluster is pending under the same weight and name.
    """

    def __init__(self, quotient: Quotient, threshold: float, apart: frozenset[int]) -> None:
        self.quotient = quotient
        self.threshold = threshold
        self._apart = apart
        self._queue: list[tuple[float, str, int]] = []
        self._pending: dict[int, tuple[float, str]] = {}

    def run(self, start: Iterable[int], rules: Sequence[Rule], *, only_alone: bool = False) -> None:
        """Merge until nothing more can; with `only_alone`, on the initiative of single vertices."""
        self._push(start)
        while self._queue:
            weight, name, current = heapq.heappop(self._queue)
            if self._pending.get(current) != (weight, name):
                continue
            del self._pending[current]
            if only_alone and len(self.quotient.members[current]) > 1:
                continue
            best = self._best_candidate(current, rules)
            if best is not None:
                self._merge(current, best)

    def _push(self, clusters: Iterable[int]) -> None:
        for current in clusters:
            key = self.quotient.weight[current], self.quotient.name[current]
            if self._pending.get(current) != key:
                self._pending[current] = key
                heapq.heappush(self._queue, (*key, current))

    def _best_candidate(self, current: int, rules: Sequence[Rule]) -> int | None:
        """The candidate of most shared bytes; safety, the costly question, is asked last."""
        if current in self._apart:
            return None
        quotient = self.quotient
        weight = quotient.weight[current]
        ranked = sorted(
            (-nbytes, side, quotient.name[other], other)
            for side, found in enumerate((quotient.producers[current], quotient.consumers[current]))
            for other, nbytes in found.items()
            if weight + quotient.weight[other] <= self.threshold and other not in self._apart
        )
        for _, side, _, other in ranked:
            producer, consumer = (current, other) if side else (other, current)
            if any(rule(quotient, producer, consumer) for rule in rules):
                return other
        return None

    def _merge(self, current: int, other: int) -> None:
        quotient = self.quotient
        pair = (current, other) if other in quotient.consumers[current] else (other, current)
        for part in pair:
            self._pending.pop(part, None)
        merged, raised = quotient.merge(*pair)
        changed = dict.fromkeys([merged, *quotient.neighbours(merged)])
        for cluster_raised in raised:
            changed[cluster_raised] = None
            changed.update(dict.fromkeys(quotient.consumers[cluster_raised]))
        self._push(changed)
