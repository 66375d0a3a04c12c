"""When two adjacent clusters may become one: rules that keep the quotient graph acyclic.

Read `affix` first. A rule says that between a producer and a consumer there is no path besides the
edge itself; contracting any other edge would close a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ago.partition.quotient import Quotient

Rule = Callable[[Quotient, int, int], bool]
"""Whether a producer and a consumer of it, in this order, are proved safe to merge."""


def affix(quotient: Quotient, producer: int, consumer: int) -> bool:
    """Whether the labels of their neighbours prove that the edge is the only path.

    Another path leaves the producer for a cluster whose label lies between the two, and comes to
    the consumer from such a cluster. So it is enough that one side has no such neighbour. This
    holds for operators of neighbouring levels, the paper's affix sets, and wherever the producer
    has no other consumer or the consumer no other producer.
    """
    low, high = quotient.label[producer], quotient.label[consumer]

    def none_between(neighbours: Iterable[int]) -> bool:
        return not any(low < quotient.label[n] < high for n in neighbours)

    sides = sorted((quotient.consumers[producer], quotient.producers[consumer]), key=len)
    return none_between(sides[0]) or none_between(sides[1])


def no_other_path(quotient: Quotient, producer: int, consumer: int) -> bool:
    """Whether a search finds no other path: exact, but its cost grows with the graph.

    Labels bound the search to the clusters between the two.
    """
    limit = quotient.label[consumer]
    stack = [c for c in quotient.consumers[producer] if quotient.label[c] < limit]
    seen = set(stack)
    while stack:
        for after in quotient.consumers[stack.pop()]:
            if after == consumer:
                return False
            if after not in seen and quotient.label[after] < limit:
                seen.add(after)
                stack.append(after)
    return True


AFFIX_RULES: tuple[Rule, ...] = (affix,)
"""A look at the neighbours."""

EXACT_RULES: tuple[Rule, ...] = (affix, no_other_path)
"""All that is safe; the cheap proof first."""
