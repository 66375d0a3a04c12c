"""One trial: what is measured, what came of it, and who measures.

Read `Runner` first. A runner is anything that builds and times candidates: this machine, an
emulator, a phone. What goes wrong with a candidate is an outcome, never an exception, so that a
trial that crashes or hangs costs itself and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ago.errors import InputError
from ago.schedule.chooser import Decision
from ago.tune.record import Record, Status
from ago.tune.task import Task


@dataclass(frozen=True, slots=True)
class Job:
    """A candidate to be measured. It travels to workers, so it is plain data and can be pickled.

    Attributes:
        task: The workload.
        decisions: Wanted decisions; where one is not offered, the default's is taken.
    """

    task: Task
    decisions: Mapping[str, Decision]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job.

    Attributes:
        decisions: All decisions of the schedule that was built, which replay it; those of the job
            where none was built.
        trace: The frozen schedule as JSON; an empty trace where none was built.
        status: `"ok"`, or how it failed.
        seconds: Time of one run; None unless `status` is `"ok"`.
        spread: Half the spread of repeated times over their median.
        reason: Why it failed; empty if it did not.
    """

    decisions: Mapping[str, Decision]
    trace: str
    status: Status
    seconds: float | None = None
    spread: float = 0.0
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.status == "ok") != (self.seconds is not None):
            raise InputError(f"an outcome {self.status!r} has seconds={self.seconds}")

    def record(self, task: Task, host: str) -> Record:
        """The outcome as a line of the database."""
        return Record(
            task.key,
            self.decisions,
            self.trace,
            self.status,
            self.seconds,
            self.spread,
            self.reason,
            host,
        )


class Runner(Protocol):
    """Builds and times candidates on some device."""

    @property
    def host(self) -> str:
        """The device, for people and for the database."""

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Build and measure jobs, of one task or of several.

        Args:
            jobs: Candidates; equal ones are measured once.

        Returns:
            An outcome for each job, in order. A failing candidate is an outcome.

        Raises:
            DeviceError: The device itself cannot be used: no trial was lost, none was counted.
        """
