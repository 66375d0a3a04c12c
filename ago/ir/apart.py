"""Whether the iterations of some loops write different elements of a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ago.ir.bounds import extremes, loop_ranges
from ago.ir.index import Index, substitute, var
from ago.ir.nest import For
from ago.ir.proofs import never_negative


def writes_apart(index: Sequence[Index], loops: Sequence[For], around: Sequence[For]) -> bool:
    """Whether `index` is proved to differ between any two iterations of `loops`.

    One loop at a time is found whose iterations are ordered along some dimension: what one of them
    writes, over all values of the loops not found yet, lies before what the next one writes, or
    after it.

    Args:
        index: An element that is written.
        loops: The loops in question, outermost first.
        around: All loops around the statement, outermost first, those of `loops` among them.

    Returns:
        True if proved; False if not, which is no proof of the contrary.
    """
    left = list(loops)
    while left:
        found = next((loop for loop in left if _ordered(index, loop, left, around)), None)
        if found is None:
            return False
        left.remove(found)
    return True


def _ordered(index: Sequence[Index], loop: For, left: Sequence[For], around: Sequence[For]) -> bool:
    others = [other for other in left if other is not loop]
    shorter = [replace(each, hi=each.hi - 1) if each is loop else each for each in around]
    ranges = loop_ranges(shorter)
    if ranges[loop.name][0] > ranges[loop.name][1]:
        return True
    following = {loop.name: var(loop.name) + 1}
    for position in index:
        low, high = extremes(position, others)
        next_low, next_high = substitute(low, following), substitute(high, following)
        for gap in (next_low - high, low - next_high):
            if never_negative(gap - 1, shorter):
                return True
    return False
