"""Who decides what a sketch leaves open.

A sketch asks a `Chooser` for each decision: a key that is stable across runs, and the candidates,
the analytic model's favourite first. So the default schedule, the search, a person at a prompt and
the property tests all draw from the same space. `Domain` is what `Schedule` hands to choosers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, overload

from ago.errors import ScheduleError
from ago.schedule.refusals import REFUSALS

if TYPE_CHECKING:
    from ago.ir.program import Program

Decision = int | str | tuple[int | str, ...]
"""The value of a decision: plain data."""

Explain = Callable[[Decision], str]
"""What the analytic model thinks of a candidate, in a few words."""


@dataclass(frozen=True, slots=True)
class Domain(Sequence[Decision]):
    """The candidates of a decision, with what is known when it is taken.

    Attributes:
        candidates: The analytic favourite first.
        explain: Terms of the analytic model; None where it has none.
        program: The program that the decision is about, as scheduled so far.
    """

    candidates: tuple[Decision, ...]
    explain: Explain | None = None
    program: Program | None = None

    @overload
    def __getitem__(self, place: int) -> Decision: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Decision, ...]: ...

    def __getitem__(self, place: int | slice) -> Decision | tuple[Decision, ...]:
        return self.candidates[place]

    def __len__(self) -> int:
        return len(self.candidates)

    def __str__(self) -> str:
        return f"one of {', '.join(map(str, self.candidates))}"


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


class GuidedChooser:
    """Gives decisions where they are still offered, and asks another chooser for the rest.

    One edited decision may change which others are asked, and what they offer: so what `mutate` and
    `crossover` make becomes a schedule, whose own decisions are those that replay.

    Args:
        decisions: Wanted value of each decision, by key.
        fallback: Who answers where that is missing or not offered; by default the favourites.
    """

    def __init__(self, decisions: Mapping[str, Decision], fallback: Chooser | None = None) -> None:
        self._decisions = dict(decisions)
        self._fallback = fallback or DefaultChooser()

    def choose(self, key: str, candidates: Sequence[Decision]) -> Decision:
        """The wanted value, or the other chooser's."""
        value = self._decisions.get(key)
        if value is not None and value in candidates:
            return value
        return self._fallback.choose(key, candidates)


def _rule(which: int) -> str:
    return REFUSALS[("missing-decision", "outside-domain")[which]]
