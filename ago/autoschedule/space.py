"""The schedules of one workload as data: drawn, edited, mixed and judged without building them.

Read `Space` first. A candidate is a dictionary of decisions. Which decisions there are depends on
the fusion plan alone: the sketch runs once for each plan that is looked at, and what it asked, and
the model behind each question, is kept. A program is built for what will be measured only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from ago.autoschedule.features import Decisions, PlanTable, Work, groups_of
from ago.autoschedule.sketch import FUSION, fusion_ranking, sketch_program
from ago.cost_model.features import COLUMN, COLUMNS, Features
from ago.fuse.pieces import Piece, find_pieces
from ago.fuse.shape import stage_loads
from ago.ir.program import Program
from ago.schedule.chooser import Decision, GuidedChooser
from ago.schedule.decisions import crossover
from ago.schedule.trace import Schedule
from ago.target import Target


@dataclass(frozen=True, slots=True)
class _PlanSpace:
    """The decisions of one fusion plan.

    Attributes:
        default: The favourites, by key.
        domains: What there is to choose from, by key; the plans are not among them.
        table: Features.
    """

    default: Decisions
    domains: Mapping[str, tuple[Decision, ...]]
    table: PlanTable


class Space:
    """The schedules of a workload.

    Args:
        program: A naive program.
        target: The CPU.
        intensive: Whether one nest may hold several convolutions or matrix products.

    Attributes:
        program: The naive program.
        target: The CPU.
        plans: The fusion plans that can be built, the model's favourite first.
    """

    def __init__(self, program: Program, target: Target, *, intensive: bool = True) -> None:
        self.program = program
        self.target = target
        self._intensive = intensive
        self._ranking = fusion_ranking(program, target, intensive_fusion=intensive)
        self.plans = tuple(str(ranked.plan) for ranked in self._ranking.plans)
        self._spaces: dict[str, _PlanSpace] = {}
        named = Schedule(program)
        self._work = {p.output: _work(named.program, p) for p in find_pieces(named)}

    def default(self) -> dict[str, Decision]:
        """The decisions of the schedule that is built with zero trials."""
        return dict(self._space(self.plans[0]).default)

    def random(self, rng: Random) -> dict[str, Decision]:
        """Decisions drawn from all there are: the plan first, then what it asks."""
        space = self._space(rng.choice(self.plans))
        drawn = {key: rng.choice(domain) for key, domain in space.domains.items()}
        return {**space.default, **drawn}

    def mutate(self, decisions: Decisions, rng: Random) -> dict[str, Decision]:
        """Change one decision to another value of its domain.

        Args:
            decisions: A candidate; what another plan, or nobody, asks for is left out.
            rng: Draws key and value.

        Returns:
            A candidate, another one unless there is no choice at all.
        """
        settled = self.settle(decisions)
        domains = {FUSION: self.plans, **self._space(self._plan(settled)).domains}
        keys = [key for key, domain in domains.items() if len(domain) > 1]
        if not keys:
            return settled
        key = rng.choice(keys)
        was = settled.get(key, self.plans[0])
        value = rng.choice([value for value in domains[key] if value != was])
        return self.settle({**settled, key: value})

    def cross(self, a: Decisions, b: Decisions, rng: Random) -> dict[str, Decision]:
        """A candidate with the decisions on each stage, and the plan, from one of two parents."""
        groups = groups_of([FUSION, *a, *b])
        return self.settle(crossover(a, b, [g for g in groups if rng.random() < 0.5]))

    def build(self, decisions: Decisions) -> Schedule:
        """The schedule of a candidate, program and trace.

        Args:
            decisions: Values that are not offered give way to the favourites.

        Returns:
            The schedule. Its own `trace.decisions` are those that replay.
        """
        guide = GuidedChooser(decisions)
        found = sketch_program(self.program, self.target, guide, intensive_fusion=self._intensive)
        return found.schedule

    def features(self, candidates: Sequence[Decisions]) -> Features:
        """The features of candidates.

        Args:
            candidates: Of this space; missing decisions count as the plan's default.

        Returns:
            (n, len(COLUMNS)), all finite.
        """
        settled = [self.settle(candidate) for candidate in candidates]
        places: dict[str, list[int]] = {}
        for n, candidate in enumerate(settled):
            places.setdefault(self._plan(candidate), []).append(n)
        result = np.zeros((len(settled), len(COLUMNS)), np.float32)
        for plan, rows in places.items():
            result[rows] = self._space(plan).table.rows([settled[n] for n in rows])
        return result

    def memory_cycles(self, candidate: Decisions) -> float:
        """Cycles that a candidate waits for caches beyond L1, by the analytic model."""
        share = self.features([candidate])[0, COLUMN["memory_cycles"]]
        return float(share) * self._space(self.plans[0]).table.peak_cycles

    def _plan(self, decisions: Decisions) -> str:
        """The plan of a candidate; the favourite where it has none of ours."""
        plan = decisions.get(FUSION)
        return plan if isinstance(plan, str) and plan in self.plans else self.plans[0]

    def settle(self, decisions: Decisions) -> dict[str, Decision]:
        """A candidate with all decisions of its plan, and no others.

        Args:
            decisions: Values that are not offered give way to the favourites.
        """
        space = self._space(self._plan(decisions))
        settled = dict(space.default)
        for key, domain in space.domains.items():
            value = decisions.get(key)
            if value is not None and value in domain:
                settled[key] = value
        return settled

    def _space(self, plan: str) -> _PlanSpace:
        """What a plan asks, found at its first use."""
        if plan not in self._spaces:
            self._spaces[plan] = self._compile(plan)
        return self._spaces[plan]

    def _compile(self, plan: str) -> _PlanSpace:
        guide = GuidedChooser({FUSION: plan})
        made = sketch_program(self.program, self.target, guide, intensive_fusion=self._intensive)
        taken = made.fusion.taken
        if str(taken.plan) != plan:  # the primitives refused it
            return self._space(str(taken.plan))
        choices = made.schedule.choices
        default = {choice.key: choice.value for choice in choices}
        domains = {c.key: c.domain.candidates for c in choices if c.key != FUSION}
        return _PlanSpace(default, domains, PlanTable(choices, taken, self._work, self.target))


def _work(program: Program, piece: Piece) -> Work:
    """What a piece does, by its naive stages."""
    stages = [program.stage(n) for n in (piece.reduction, piece.output) if n is not None]
    buffers = {load.buffer for stage in stages for load in stage_loads(stage)}
    buffers.add(stages[-1].buffer)
    if len(stages) > 1:
        buffers.discard(stages[0].buffer)
    steps = math.prod(axis.extent for axis in stages[0].axes)
    nbytes = sum(program.buffer(name).nbytes for name in buffers)
    result = program.buffer(stages[-1].buffer)
    passed = result.nbytes if result.scope == "workspace" else 0
    return Work(steps, nbytes, passed, piece.reduction is not None)
