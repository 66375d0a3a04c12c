"""When two adjacent clusters may become one: rules that keep the quotient graph acyclic.

Read `affix` first. A rule says that between a producer and a consumer there is no path besides the
edge itself; contracting any other edge would close a cycle.
"""

from __future__ import annotations

from collections.abc import Callable

from ago.partition.quotient import Quotient

Rule = Callable[[Quotient, int, int], bool]
"""Whether a producer and a consumer of it, in this order, are proved safe to merge."""


def affix(quotient: Quotient, producer: int, consumer: int) -> bool:
    """Whether the two are in each other's affix sets: their labels differ by 1.

    A path through a third cluster would make them differ by 2 at least.
    """
    return quotient.label[consumer] == quotient.label[producer] + 1


def sole_neighbour(quotient: Quotient, producer: int, consumer: int) -> bool:
    """Whether every path out of the producer, or every path into the consumer, is the edge."""
    return len(quotient.consumers[producer]) == 1 or len(quotient.producers[consumer]) == 1


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


AFFIX_RULES: tuple[Rule, ...] = (affix, sole_neighbour)
"""Constant time."""

EXACT_RULES: tuple[Rule, ...] = (affix, sole_neighbour, no_other_path)
"""All that is safe; the cheap proofs first."""
