"""A task during a session: its space, what was measured, and its parts.

Read `Track` first. It answers what the scheduler and the search ask, and judges nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ago.autoschedule.space import Space
from ago.cost_model.features import COLUMNS, Features
from ago.schedule.chooser import Decision
from ago.tune.progress import Prediction
from ago.tune.record import Record, decisions_text
from ago.tune.reformer import join_parts
from ago.tune.scheduler import Standing
from ago.tune.task import Task
from ago.tune.trial import Job, Outcome

Decisions = Mapping[str, Decision]

MOST_REPEATS = 3
"""Rounds in a row that find nothing new, after which a task counts as exhausted."""


@dataclass(slots=True)
class Track:
    """A task during a session.

    Attributes:
        task: The task.
        space: Its schedules.
        default: The schedule that is taken without any search.
        records: What this host measured, in order; the default's first.
        parts: Its parts with one complex operator each; none where it is not divided.
        repeats: Rounds in a row that found nothing new.
    """

    task: Task
    space: Space
    default: Decisions
    records: list[Record]
    parts: tuple[Track, ...] = ()
    repeats: int = 0
    _features: Features = field(default_factory=lambda: np.zeros((0, len(COLUMNS)), np.float32))

    @classmethod
    def open(cls, task: Task, known: Iterable[Record]) -> Track | None:
        """A task with what is known of it.

        Args:
            task: The task.
            known: Its records on this host, in order.

        Returns:
            The track; None where there is nothing to decide.
        """
        if task.program.extern is not None:
            return None
        space = Space(task.program, task.target, intensive=task.intensive)
        default = space.default()
        if not default:
            return None
        text = decisions_text(default)
        records = sorted(known, key=lambda record: decisions_text(record.decisions) != text)
        begun = bool(records) and decisions_text(records[0].decisions) == text
        return cls(task, space, default, records if begun else [])

    @property
    def anchor(self) -> float | None:
        """Seconds of the default; None unless it was measured."""
        return self.records[0].seconds if self.records else None

    @property
    def is_open(self) -> bool:
        """Whether more candidates may be measured."""
        return self.anchor is not None and self.repeats < MOST_REPEATS

    @property
    def standing(self) -> Standing:
        """How far the task is."""
        best = [self.anchor or 0.0]
        for record in self.records[1:]:
            best.append(min(best[-1], record.seconds or best[-1]))
        spent = sum(len(part.records) for part in self.parts)
        return Standing(self.task.uses, tuple(best), spent, self.is_open)

    @property
    def seeds(self) -> list[dict[str, Decision]]:
        """What its parts found, joined; none before all of them were measured."""
        best = [part.fastest for part in self.parts]
        if not best or any(record is None for record in best):
            return []
        return [
            self.space.settle(joined)
            for joined in join_parts(self.space.plans, [r.decisions for r in best if r is not None])
        ]

    @property
    def fastest(self) -> Record | None:
        """The record with the least time, the oldest of equals."""
        timed = [record for record in self.records if record.seconds is not None]
        return min(timed, key=lambda record: record.seconds or 0.0, default=None)

    @property
    def features(self) -> Features:
        """(records, len(COLUMNS)): the features of what was measured."""
        new = self.records[len(self._features) :]
        if new:
            rows = self.space.features([record.decisions for record in new])
            self._features = np.concatenate([self._features, rows])
        return self._features

    def job(self, decisions: Decisions | None = None) -> Job:
        """A trial of a candidate, or of the default."""
        return Job(self.task, self.default if decisions is None else decisions)

    def add(self, outcomes: Sequence[Outcome], host: str) -> list[Record]:
        """Take what was measured; returns the records that are new."""
        held = {decisions_text(record.decisions) for record in self.records}
        new: dict[str, Record] = {}
        for outcome in outcomes:
            text = decisions_text(outcome.decisions)
            if text not in held:
                new.setdefault(text, outcome.record(self.task, host))
        self.records += new.values()
        self.repeats = 0 if new else self.repeats + 1
        return list(new.values())

    def predictions(
        self, ranks: Sequence[float], outcomes: Sequence[Outcome]
    ) -> Iterator[Prediction]:
        """What the model thought of candidates that ran, beside what they took.

        Args:
            ranks: The model's order, from 0 to 1; empty without a model.
            outcomes: What came of the candidates.
        """
        for rank, outcome in zip(ranks, outcomes, strict=False):
            if outcome.seconds is not None and self.anchor is not None:
                yield Prediction(rank, outcome.seconds / self.anchor)

    def finalists(self, count: int) -> list[Record]:
        """What must be timed again beside the default: the fastest, unless the very fastest was.

        Args:
            count: How many of the fastest to look at.
        """
        if self.anchor is None:
            return []
        anchor = self.anchor
        faster = [r for r in self.records[1:] if r.seconds is not None and r.seconds < anchor]
        faster.sort(key=lambda record: record.seconds or 0.0)
        if not faster or faster[0].level:
            return []
        return [record for record in faster[:count] if not record.level]

    def revise(self, outcomes: Sequence[Outcome], host: str) -> list[Record]:
        """Replace times by those that were taken beside the default once more.

        Returns:
            The records that changed, the default's among them.
        """
        made = [replace(outcome.record(self.task, host), level=1) for outcome in outcomes]
        first = self.records[0]
        new = [replace(first, level=max(first.level, 1)), *made]
        by_text = {decisions_text(record.decisions): record for record in new}
        self.records = [by_text.get(decisions_text(r.decisions), r) for r in self.records]
        return new

    def adjusted(self, outcomes: Sequence[Outcome], anchor: Outcome) -> list[Outcome]:
        """Outcomes as if the machine's clock were what it was when the default was first timed.

        Args:
            outcomes: Taken beside the default.
            anchor: The default's, taken with them.
        """
        if anchor.seconds is None or self.anchor is None:
            return list(outcomes)
        pace = self.anchor / anchor.seconds
        return [o if o.seconds is None else replace(o, seconds=o.seconds * pace) for o in outcomes]
