"""How well scores rank candidates that were measured.

Read `Quality` first. Nothing here knows where scores come from; times are the truth, as far as they
repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ago.cost_model.model import Numbers


@dataclass(frozen=True, slots=True)
class Quality:
    """What trusting a ranking costs.

    Attributes:
        spearman: Rank correlation of scores and times; 0 where either has no ranks.
        top1: How much slower the first choice is than the fastest candidate: 0.1 for 10 %.
        top5: Likewise of the best among the first five.
    """

    spearman: float
    top1: float
    top5: float

    @classmethod
    def of(cls, scores: Numbers, seconds: Numbers) -> Quality:
        """The quality of a ranking of one workload's candidates.

        Args:
            scores: (n,), the lower, the faster; of equal ones the first row counts as chosen.
            seconds: (n,) finite times.
        """
        order = np.argsort(scores, kind="stable")
        fastest = seconds.min()
        top1, top5 = (float(seconds[order[:k]].min() / fastest - 1) for k in (1, 5))
        return cls(spearman(scores, seconds), top1, top5)

    @classmethod
    def of_chance(cls, seconds: Numbers) -> Quality:
        """What is expected of a random order."""
        ranked = np.sort(seconds)
        top1, top5 = (float(_chance(len(ranked), k) @ ranked / ranked[0] - 1) for k in (1, 5))
        return cls(0.0, top1, top5)

    @classmethod
    def mean(cls, found: Sequence[Quality]) -> Quality:
        """The mean over workloads; at least one."""
        rows = np.array([(q.spearman, q.top1, q.top5) for q in found])
        return cls(*(float(value) for value in rows.mean(axis=0)))


def spearman(a: Numbers, b: Numbers) -> float:
    """Spearman's rank correlation, ties sharing their mean rank; 0 where one has no order."""
    first, second = _ranks(a), _ranks(b)
    if first.std() == 0 or second.std() == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: Numbers) -> Numbers:
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = np.asarray(last - (counts - 1) / 2, np.float64)
    shared: Numbers = ranks[which]
    return shared


def _chance(total: int, count: int) -> Numbers:
    """For each place in the order of times: how likely it is the best of `count` random draws."""
    count = min(count, total)
    left: Numbers = np.ones(total)
    for drawn in range(count):
        left = left * np.clip(total - np.arange(total) - drawn, 0, None) / (total - drawn)
    chance: Numbers = left - np.append(left[1:], 0.0)
    return chance
