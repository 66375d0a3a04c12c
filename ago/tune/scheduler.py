"""Which task gets the next trials: the one from which the whole network is expected to gain most.

Read `next_task` first. It follows the gradient of the network's time over trials, as in Ansor
(Zheng et al., OSDI 2020): what a task gained lately, and what is believed to be left in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WINDOW = 16
"""Trials over which a task's recent gain is taken."""

RECENT_SHARE = 0.5
"""Weight of the recent gain; the rest is for what is believed to be left."""

BELIEVED_GAIN = 0.15
"""Share of its time that a task loses as its trials are doubled, as far as nobody knows better."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a task is.

    Attributes:
        uses: How often one inference runs it.
        best: Seconds of the fastest candidate after each trial, the first trial first.
        spent: Trials of its parts.
        open: Whether the space may have more candidates.
    """

    uses: int
    best: tuple[float, ...]
    spent: int = 0
    open: bool = True

    @property
    def gain(self) -> float:
        """Seconds that an inference is expected to save by one more trial."""
        trials = len(self.best)
        before = self.best[max(trials - 1 - WINDOW, 0)]
        recent = (before - self.best[-1]) / min(WINDOW, trials)
        left = BELIEVED_GAIN * self.best[-1] / (trials + self.spent)
        return self.uses * (RECENT_SHARE * recent + (1.0 - RECENT_SHARE) * left)


def next_task(standings: Sequence[Standing]) -> int | None:
    """The task to go on with.

    Args:
        standings: Of all tasks, each with one trial at least.

    Returns:
        Its position, the first of equals; None where no task is open.
    """
    tasks = [number for number, standing in enumerate(standings) if standing.open]
    return max(tasks, key=lambda number: (standings[number].gain, -number), default=None)
