"""Who decides what a sketch leaves open.

A sketch asks a `Chooser` for each decision: a key that is stable across runs, and the candidates,
the analytic model's favourite first. So the default schedule, the search and the property tests all
draw from the same space.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Protocol

from ago.errors import ScheduleError
from ago.schedule.refusals import REFUSALS

Decision = int | str | tuple[int | str, ...]
"""The value of a decision: plain data."""


class Chooser(Protocol):
    """Anything that picks one candidate for a key."""

    def choose(self, key: str, candidates: Sequence[Decision]) -> Decision:
        """Pick one of `candidates`, which is not empty and has the analytic favourite first."""


class DefaultChooser:
    """Takes the analytic model's favourite."""

    def choose(self, key: str, candidates: Sequence[Decision]) -> Decision:
        """The first candidate."""
        return candidates[0]


class RandomChooser:
    """Draws uniformly, the same for the same seed and sequence of questions.

    Args:
        seed: Seed of the generator.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def choose(self, key: str, candidates: Sequence[Decision]) -> Decision:
        """A random candidate."""
        return self._random.choice(candidates)


class ReplayChooser:
    """Gives recorded decisions again.

    Args:
        decisions: Value of each decision, by key.
    """

    def __init__(self, decisions: Mapping[str, Decision]) -> None:
        self._decisions = dict(decisions)

    def choose(self, key: str, candidates: Sequence[Decision]) -> Decision:
        """The recorded value.

        Raises:
            ScheduleError: `missing-decision` or `outside-domain`.
        """
        if key not in self._decisions:
            known = ", ".join(sorted(self._decisions)) or "none"
            message = f"decision {key!r} is not recorded; recorded are {known}"
            raise ScheduleError("missing-decision", f"{message}\n  rule: {_rule(0)}")
        value = self._decisions[key]
        if value not in candidates:
            message = f"decision {key!r} = {value!r} is not among {list(candidates)}"
            raise ScheduleError("outside-domain", f"{message}\n  rule: {_rule(1)}")
        return value


def _rule(which: int) -> str:
    return REFUSALS[("missing-decision", "outside-domain")[which]]
