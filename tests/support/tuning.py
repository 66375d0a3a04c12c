"""Runners for tests of the search: one that measures, one whose times are made up."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from ago.autoschedule import sketch_program
from ago.codegen.emit import emit_function
from ago.pipeline import INTRINSICS
from ago.schedule.chooser import GuidedChooser
from ago.tune import Candidate, measure_candidates
from ago.tune.record import decisions_text
from ago.tune.trial import Job, Outcome


def made_up_seconds(job: Job) -> float:
    """A time that depends on the job alone: each decision has a share in it, as in real kernels."""
    total = 1e-3
    for key, value in job.decisions.items():
        digest = hashlib.sha256(f"{job.task.key} {key} {value}".encode()).digest()
        total += 1e-4 * digest[0] / 255
    return total


class FakeRunner:
    """Says times without building anything.

    Args:
        seconds: The time of a job; None for one that crashes.
    """

    host = "nowhere"

    def __init__(self, seconds: Callable[[Job], float | None] = made_up_seconds) -> None:
        self._seconds = seconds
        self.asked: list[str] = []

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        self.asked += [f"{job.task.key} {decisions_text(job.decisions)}" for job in jobs]
        return [self._outcome(job) for job in jobs]

    def _outcome(self, job: Job) -> Outcome:
        seconds = self._seconds(job)
        if seconds is None:
            return Outcome(job.decisions, "[]", "crash", reason="signal 11")
        return Outcome(job.decisions, "[]", "ok", seconds)


class PlainRunner:
    """Measures candidates in this process."""

    host = "here"

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        by_task: dict[str, list[int]] = {}
        for number, job in enumerate(jobs):
            by_task.setdefault(str(job.task.key), []).append(number)
        outcomes: dict[int, Outcome] = {}
        for numbers in by_task.values():
            measured = self._measure([jobs[number] for number in numbers])
            outcomes.update(zip(numbers, measured, strict=True))
        return [outcomes[number] for number in range(len(jobs))]

    def _measure(self, jobs: Sequence[Job]) -> list[Outcome]:
        target = jobs[0].task.target
        table = INTRINSICS[target.isa]
        schedules = [
            sketch_program(
                job.task.program,
                target,
                GuidedChooser(job.decisions),
                intensive_fusion=job.task.intensive,
            ).schedule
            for job in jobs
        ]
        candidates = [
            Candidate(s.program, emit_function(s.program, target, table)) for s in schedules
        ]
        times = measure_candidates(candidates, target, table)
        return [
            Outcome(dict(s.trace.decisions), s.trace.to_json(), "ok", seconds)
            for s, seconds in zip(schedules, times, strict=True)
        ]
