"""The loop of tuning: propose, measure, record, repeat.

Read `tune` first. Each outcome is in the database before anything new is proposed, and what is
proposed depends on the database and the seed alone: so a session may be stopped or killed at any
moment, and the same call goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from ago.cost_model.model import CostModel
from ago.tune.database import Database
from ago.tune.known import preferred
from ago.tune.progress import Budget, Prediction, Progress, Result, TaskResult, Watch
from ago.tune.ranking import Ranking
from ago.tune.record import Record, TaskKey, decisions_text
from ago.tune.reformer import split_task
from ago.tune.scheduler import next_task
from ago.tune.search import EVOLUTION, Decisions, Evolution, propose
from ago.tune.task import Task
from ago.tune.track import MOST_REPEATS, Track
from ago.tune.trial import Runner

_Batch = tuple[Track, Sequence[Decisions]]
"""Candidates of a task."""

BATCH = 8
"""Most candidates that are measured together."""

PARTS_SHARE = 1 / 3
"""Share of a task's trials that its parts get."""

FINALISTS = 3
"""Candidates of each task that are timed again beside the default at the end."""

_MOST_CHECKS = 3
"""Rounds of timing again: what looks fastest after one may not be among those it timed."""


def nobody(progress: Progress) -> None:
    """Watches nothing: the default."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search.

    Attributes:
        seed: Of every random choice.
        batch: Most candidates that are measured together.
        evolution: How candidates are bred.
        reformer: Whether parts with one complex operator at most are tuned first.
        model: Ranks candidates; None leaves them as they are bred.
    """

    seed: int = 0
    batch: int = BATCH
    evolution: Evolution = EVOLUTION
    reformer: bool = True
    model: CostModel | None = None


def tune(
    tasks: Sequence[Task],
    runner: Runner,
    database: Database,
    budget: Budget,
    settings: Settings | None = None,
    watch: Watch = nobody,
    clock: Callable[[], float] = time.monotonic,
) -> Result:
    """Search for fast schedules of tasks.

    Args:
        tasks: Distinct tasks of a network.
        runner: Measures candidates.
        database: Holds what earlier sessions found, and gets every outcome.
        budget: When to stop.
        settings: How to search.
        watch: Told after each batch.
        clock: Seconds that only rise.

    Returns:
        What is known of the tasks now. KeyboardInterrupt ends the search early and is part of the
        result.

    Raises:
        DeviceError: The runner's device cannot be used; what was measured is in the database.
    """
    session = _Session(tasks, runner, database, budget, settings or Settings(), watch, clock)
    interrupted = False
    try:
        session.search()
        session.check()
    except KeyboardInterrupt:
        interrupted = True
    return session.result(interrupted)


class _Session:
    """One call of `tune`."""

    def __init__(
        self,
        tasks: Sequence[Task],
        runner: Runner,
        database: Database,
        budget: Budget,
        settings: Settings,
        watch: Watch,
        clock: Callable[[], float],
    ) -> None:
        self._runner, self._database, self._budget = runner, database, budget
        self._settings, self._watch, self._clock = settings, watch, clock
        self._start, self._found = clock(), 0
        self._predictions: list[Prediction] = []
        self._ranking = Ranking(settings.model) if settings.model is not None else None
        self._tracks = [track for task in tasks if (track := self._open(task)) is not None]
        self._parts: dict[TaskKey, Track] = {}
        if settings.reformer:
            self._divide()

    def search(self) -> None:
        """Spend the budget."""
        self._measure([(track, []) for track in self._tracks if not track.records])
        while not self._is_over():
            number = next_task([track.standing for track in self._tracks])
            if number is None:
                return
            self._measure(self._batch(self._tracks[number]))

    def check(self) -> None:
        """Time the fastest of each task again beside the default.

        Until the fastest is one that was: so a candidate that was lucky once does not win, and
        times of different moments are not compared. Nothing is timed if nothing new was found.
        """
        for _ in range(_MOST_CHECKS if self._found else 0):
            doubtful = [(t, again) for t in self._tracks if (again := t.finalists(FINALISTS))]
            if not doubtful:
                return
            jobs = [
                job
                for track, again in doubtful
                for job in (track.job(), *(track.job(record.decisions) for record in again))
            ]
            outcomes = iter(self._runner.run(jobs))
            for track, again in doubtful:
                anchor, *measured = [next(outcomes) for _ in range(len(again) + 1)]
                adjusted = track.adjusted(measured, anchor)
                self._database.revise(track.revise(adjusted, self._runner.host))

    def result(self, interrupted: bool) -> Result:
        """What is known now."""
        tasks, parts = (
            tuple(TaskResult(t.task, tuple(t.records), preferred(t.records)) for t in tracks)
            for tracks in (self._tracks, self._parts.values())
        )
        taken, told = self._clock() - self._start, tuple(self._predictions)
        return Result(tasks, parts, taken, self._found, interrupted, told)

    def _open(self, task: Task) -> Track | None:
        records = self._database.records(task.key)
        return Track.open(task, [r for r in records if r.host == self._runner.host])

    def _divide(self) -> None:
        """Give each task its parts; equal ones are shared, also with whole tasks."""
        whole = {track.task.key: track for track in self._tracks}
        for track in self._tracks:
            parts: list[Track] = []
            for task in split_task(track.task):
                found = whole.get(task.key) or self._parts.get(task.key) or self._open(task)
                if found is None:
                    continue
                parts.append(found)
                if task.key not in whole:
                    self._parts[task.key] = found
            track.parts = tuple(parts)

    def _is_over(self) -> bool:
        budget = self._budget
        if budget.seconds is not None and self._clock() - self._start >= budget.seconds:
            return True
        return budget.trials is not None and self._trials >= budget.trials

    @property
    def _all(self) -> list[Track]:
        return [*self._tracks, *self._parts.values()]

    @property
    def _trials(self) -> int:
        return sum(len(track.records) for track in self._all)

    def _batch(self, track: Track) -> list[_Batch]:
        """Candidates of a task, or of its parts where those have not had their share by far."""
        left = self._settings.batch
        if self._budget.trials is not None:
            left = min(left, self._budget.trials - self._trials)
        spent = sum(len(part.records) for part in track.parts)
        parts = [part for part in track.parts if part.is_open or not part.records]
        if not parts or spent + left > PARTS_SHARE * (spent + len(track.records) + left):
            return [self._proposals(track, left)]
        parts.sort(key=lambda part: len(part.records))
        shares = [(left + len(parts) - 1 - n) // len(parts) for n in range(len(parts))]
        return [self._proposals(p, n) for p, n in zip(parts, shares, strict=True) if n > 0]

    def _proposals(self, track: Track, count: int) -> _Batch:
        """New candidates of a task; it is closed where there are none."""
        place = f"{self._settings.seed} {track.task.key} {len(track.records)} {track.repeats}"
        proposals = propose(
            track.space,
            track.records,
            count,
            Random(place),
            score=None if self._ranking is None else self._ranking.score(track, self._all),
            seeds=track.seeds,
            evolution=self._settings.evolution,
        )
        if not proposals:
            track.repeats = MOST_REPEATS
        return track, proposals

    def _ranks(self, track: Track, found: Sequence[Decisions]) -> list[float]:
        """The model's order of candidates, from 0 to 1; none where there is no model."""
        if self._ranking is None or track.anchor is None or len(found) < 2:
            return []
        order = np.argsort(np.argsort(self._ranking.score(track, self._all)(found)))
        return [float(place) / (len(found) - 1) for place in order]

    def _measure(self, batches: Sequence[_Batch]) -> None:
        """Measure candidates beside their defaults, write down, and tell."""
        kept = [(track, _without_default(track, found)) for track, found in batches]
        kept = [(track, found) for track, found in kept if found or not track.records]
        if not kept:
            return
        jobs = [job for track, found in kept for job in (track.job(), *map(track.job, found))]
        ranks = [self._ranks(track, found) for track, found in kept]
        outcomes = iter(self._runner.run(jobs))
        new: list[Record] = []
        for (track, found), ranked in zip(kept, ranks, strict=True):
            anchor, *measured = [next(outcomes) for _ in range(len(found) + 1)]
            new += track.add([anchor], self._runner.host) if not track.records else []
            if found:
                adjusted = track.adjusted(measured, anchor)
                new += track.add(adjusted, self._runner.host)
                self._predictions += track.predictions(ranked, adjusted)
        self._database.add(new)
        self._found += len(new)
        now = self.result(interrupted=False)
        label = kept[-1][0].task.label
        self._watch(
            Progress(
                label, now.trials, now.default, now.best, now.elapsed, self._budget, tuple(new)
            )
        )


def _without_default(track: Track, found: Sequence[Decisions]) -> list[Decisions]:
    text = decisions_text(track.default)
    return [decisions for decisions in found if decisions_text(decisions) != text]
