"""The loop of tuning: propose, measure, record, repeat.

Read `tune` first. Each outcome is in the database before anything new is proposed, and what is
proposed depends on the database and the seed alone: so a session may be stopped or killed at any
moment, and the same call goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from ago.tune.database import Database
from ago.tune.known import preferred
from ago.tune.plain_space import PlainSpace
from ago.tune.progress import Budget, Progress, Result, TaskResult, Watch
from ago.tune.record import Record, decisions_text
from ago.tune.scheduler import Standing, next_task
from ago.tune.search import EVOLUTION, Decisions, Evolution, Space, propose
from ago.tune.task import Task
from ago.tune.trial import Job, Outcome, Runner

BATCH = 8
"""Most candidates of one task that are measured together."""

FINALISTS = 2
"""Candidates of each task that are timed again beside the default at the end."""

_MOST_CHECKS = 3
"""Rounds of timing again: what looks fastest after one may not be among those it timed."""

_MOST_REPEATS = 3
"""Rounds in a row that find nothing new, after which a task counts as exhausted."""


def nobody(progress: Progress) -> None:
    """Watches nothing: the default."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search.

    Attributes:
        seed: Of every random choice.
        batch: Most candidates of one task that are measured together.
        evolution: How candidates are bred.
    """

    seed: int = 0
    batch: int = BATCH
    evolution: Evolution = EVOLUTION


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


@dataclass(slots=True)
class _Track:
    """A task during a session.

    Attributes:
        task: The task.
        space: Its schedules.
        default: The schedule that is taken without any search.
        records: What this host measured, in order; the default's first.
        repeats: Rounds in a row that found nothing new.
    """

    task: Task
    space: Space
    default: Decisions
    records: list[Record] = field(default_factory=list)
    repeats: int = 0

    @property
    def anchor(self) -> float | None:
        """Seconds of the default; None unless it was measured."""
        return self.records[0].seconds if self.records else None

    @property
    def standing(self) -> Standing:
        """How far the task is."""
        best = [self.anchor or 0.0]
        for record in self.records[1:]:
            best.append(min(best[-1], record.seconds or best[-1]))
        is_open = self.anchor is not None and self.repeats < _MOST_REPEATS
        return Standing(self.task.uses, tuple(best), is_open)


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
        self._tracks = [track for task in tasks if (track := self._open(task)) is not None]

    def search(self) -> None:
        """Spend the budget."""
        self._measure_defaults()
        while not self._is_over():
            number = next_task([track.standing for track in self._tracks])
            if number is None:
                return
            self._go_on_with(self._tracks[number])

    def check(self) -> None:
        """Time the fastest of each task again beside the default.

        Until the fastest is one that was: so a candidate that was lucky once does not win, and
        times of different moments are not compared. Nothing is timed if nothing new was found.
        """
        if not self._found:
            return
        checked: set[tuple[str, str]] = set()
        for _ in range(_MOST_CHECKS):
            jobs = [self._finalists(track, checked) for track in self._tracks]
            doubtful = [(t, j) for t, j in zip(self._tracks, jobs, strict=True) if j]
            if not doubtful:
                return
            outcomes = iter(
                self._runner.run([job for track, js in doubtful for job in [_default(track), *js]])
            )
            for track, again in doubtful:
                anchor, *measured = [next(outcomes) for _ in range(len(again) + 1)]
                self._revise(track, anchor, measured)

    def result(self, interrupted: bool) -> Result:
        """What is known now."""
        tasks = tuple(
            TaskResult(t.task, tuple(t.records), preferred(t.records)) for t in self._tracks
        )
        return Result(tasks, self._clock() - self._start, interrupted)

    def _open(self, task: Task) -> _Track | None:
        """A task with what is known of it; None where there is nothing to decide."""
        space = PlainSpace(task.program, task.target, intensive=task.intensive)
        default = space.default()
        if not default:
            return None
        known = [r for r in self._database.records(task.key) if r.host == self._runner.host]
        text = decisions_text(default)
        known.sort(key=lambda record: decisions_text(record.decisions) != text)
        track = _Track(task, space, default, known)
        if known and decisions_text(known[0].decisions) != text:
            track.records = []
        return track

    def _measure_defaults(self) -> None:
        missing = [track for track in self._tracks if not track.records]
        outcomes = self._runner.run([_default(track) for track in missing]) if missing else []
        for track, outcome in zip(missing, outcomes, strict=True):
            self._record(track, [outcome])

    def _is_over(self) -> bool:
        budget = self._budget
        if budget.seconds is not None and self._clock() - self._start >= budget.seconds:
            return True
        return budget.trials is not None and self._trials >= budget.trials

    @property
    def _trials(self) -> int:
        return sum(len(track.records) for track in self._tracks)

    def _go_on_with(self, track: _Track) -> None:
        """Measure one batch of a task."""
        left = None if self._budget.trials is None else self._budget.trials - self._trials
        count = min(self._settings.batch, left) if left is not None else self._settings.batch
        place = f"{self._settings.seed} {track.task.key} {len(track.records)} {track.repeats}"
        proposals = propose(
            track.space,
            track.records,
            count,
            Random(place),
            evolution=self._settings.evolution,
        )
        if not proposals:
            track.repeats = _MOST_REPEATS
            return
        jobs = [_default(track), *(Job(track.task, decisions) for decisions in proposals)]
        anchor, *outcomes = self._runner.run(jobs)
        self._record(track, [_adjusted(outcome, track, anchor) for outcome in outcomes])

    def _record(self, track: _Track, outcomes: Sequence[Outcome]) -> None:
        """Write outcomes down, and tell how far the session is."""
        held = {decisions_text(record.decisions) for record in track.records}
        records = []
        for outcome in outcomes:
            text = decisions_text(outcome.decisions)
            if text not in held:
                held.add(text)
                records.append(outcome.record(track.task, self._runner.host))
        self._database.add(records)
        track.records += records
        self._found += len(records)
        track.repeats = 0 if records else track.repeats + 1
        so_far = self.result(interrupted=False)
        self._watch(
            Progress(
                track.task.label,
                so_far.trials,
                so_far.default,
                so_far.best,
                so_far.elapsed,
                self._budget,
                tuple(records),
            )
        )

    def _finalists(self, track: _Track, checked: set[tuple[str, str]]) -> list[Job]:
        """The fastest candidates of a task, unless the very fastest was timed again already."""
        if track.anchor is None:
            return []
        timed = [r for r in track.records if r.seconds is not None and r.seconds <= track.anchor]
        timed.sort(key=lambda record: record.seconds or 0.0)
        texts = [(str(track.task.key), decisions_text(r.decisions)) for r in timed[:FINALISTS]]
        default = (str(track.task.key), decisions_text(track.default))
        if not texts or texts[0] in checked or texts[0] == default:
            return []
        new = [r for r, text in zip(timed, texts, strict=False) if text not in {*checked, default}]
        checked.update(texts)
        return [Job(track.task, record.decisions) for record in new]

    def _revise(self, track: _Track, anchor: Outcome, outcomes: Sequence[Outcome]) -> None:
        """Replace times by those that were taken beside the default."""
        adjusted = [_adjusted(outcome, track, anchor) for outcome in outcomes]
        new = {
            decisions_text(o.decisions): o.record(track.task, self._runner.host) for o in adjusted
        }
        self._database.revise(new.values())
        track.records = [new.get(decisions_text(r.decisions), r) for r in track.records]


def _default(track: _Track) -> Job:
    return Job(track.task, track.default)


def _adjusted(outcome: Outcome, track: _Track, anchor: Outcome) -> Outcome:
    """An outcome as if the machine's clock were what it was when the default was first timed."""
    if outcome.seconds is None or anchor.seconds is None or track.anchor is None:
        return outcome
    return replace(outcome, seconds=outcome.seconds * track.anchor / anchor.seconds)
