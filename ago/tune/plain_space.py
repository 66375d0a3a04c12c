"""The schedules of a workload by its sketch alone: the domains of each fusion plan.

Read `PlainSpace` first. It builds one schedule a plan, keeps the domains that were offered, and
draws from them; so a drawn candidate costs microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from random import Random

from ago.autoschedule import sketch_program
from ago.ir.program import Program
from ago.schedule.chooser import Decision, DefaultChooser, GuidedChooser
from ago.schedule.decisions import Choice, crossover, group_of, mutate
from ago.target import Target

Decisions = Mapping[str, Decision]


class PlainSpace:
    """What can be decided about a workload.

    Args:
        program: A naive program.
        target: The CPU.
        intensive: Whether one nest may hold several convolutions or matrix products.
    """

    def __init__(self, program: Program, target: Target, *, intensive: bool = True) -> None:
        @cache
        def choices(plan: Decision | None) -> tuple[Choice, ...]:
            wanted = {} if plan is None else {"fusion": plan}
            chooser = GuidedChooser(wanted, DefaultChooser())
            made = sketch_program(program, target, chooser, intensive_fusion=intensive)
            return made.schedule.choices

        self._choices = choices

    def default(self) -> dict[str, Decision]:
        """The analytic favourites."""
        return {choice.key: choice.value for choice in self._choices(None)}

    def random(self, rng: Random) -> dict[str, Decision]:
        """A plan, and a value of each of its domains."""
        first = self._choices(None)[0]
        plan = rng.choice(first.domain) if first.key == "fusion" else None
        drawn = {c.key: rng.choice(c.domain) for c in self._choices(plan)}
        return drawn if plan is None else drawn | {"fusion": plan}

    def mutate(self, decisions: Decisions, rng: Random) -> dict[str, Decision]:
        """The candidate with one decision changed."""
        choices = self._of(decisions)
        key = rng.choice([c.key for c in choices if len(c.domain) > 1])
        edited = mutate(choices, key, rng)
        return {choice.key: choice.value for choice in self._of(edited)}

    def cross(self, a: Decisions, b: Decisions, rng: Random) -> dict[str, Decision]:
        """Some groups of `b` among those of `a`."""
        groups = sorted({group_of(key) for key in b if group_of(key)})
        taken = [group for group in groups if rng.random() < 0.5]
        return {c.key: c.value for c in self._of(crossover(a, b, taken))}

    def _of(self, decisions: Decisions) -> tuple[Choice, ...]:
        """Decisions with their domains; the favourite where a value is not offered."""
        return tuple(
            Choice(c.key, decisions[c.key], c.domain)
            if c.key in decisions and decisions[c.key] in c.domain
            else c
            for c in self._choices(decisions.get("fusion"))
        )
