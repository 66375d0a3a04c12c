"""Decisions as data that a search edits: each with the domain it was drawn from.

Read `Choice` first. `mutate` edits one key inside its domain, `crossover` takes whole groups of
keys; neither makes up a value. The result is plain data for `GuidedChooser`, or for `ReplayChooser`
where no other decision depends on what was edited.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ago.errors import ScheduleError
from ago.schedule.chooser import Decision, Domain
from ago.schedule.refusals import REFUSALS


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision that was taken.

    Attributes:
        key: Its name: group and what is decided, such as `"conv/tile"`.
        value: What was chosen.
        domain: What there was to choose from.
    """

    key: str
    value: Decision
    domain: Domain

    def __str__(self) -> str:
        why = f": {self.domain.explain(self.value)}" if self.domain.explain else ""
        return f"{self.key} = {self.value}, one of {len(self.domain)}{why}"


def group_of(key: str) -> str:
    """The group of a key: what stands before the last `/`, the stage that it is about."""
    return key.rpartition("/")[0]


def mutate(choices: Sequence[Choice], key: str, rng: random.Random) -> dict[str, Decision]:
    """Edit one decision inside its domain.

    Args:
        choices: The decisions of a schedule.
        key: Which of them to edit.
        rng: Draws the new value, another one than before unless the domain holds no other.

    Returns:
        All decisions by key.

    Raises:
        ScheduleError: `missing-decision` where there is no such key.
    """
    edited = {choice.key: choice.value for choice in choices}
    for choice in choices:
        if choice.key == key:
            others = [value for value in choice.domain if value != choice.value]
            edited[key] = rng.choice(others) if others else choice.value
            return edited
    known = ", ".join(edited) or "none"
    message = f"there is no decision {key!r} to mutate; there are {known}"
    raise ScheduleError("missing-decision", f"{message}\n  rule: {REFUSALS['missing-decision']}")


def crossover(
    a: Mapping[str, Decision], b: Mapping[str, Decision], groups: Collection[str]
) -> dict[str, Decision]:
    """Take some groups of keys from one parent, and all others from the other.

    Args:
        a: Decisions of the parent that gives every group not named.
        b: Decisions of the parent that gives the named groups, whole.
        groups: Groups as `group_of` names them.

    Returns:
        Decisions by key; no group mixes the two parents.
    """
    child = {key: value for key, value in a.items() if group_of(key) not in groups}
    child.update((key, value) for key, value in b.items() if group_of(key) in groups)
    return child
