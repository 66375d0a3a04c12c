"""A runner for any device that programs can be pushed to.

Read `DeviceRunner` first. Candidates of one workload go to the device as one program, which checks
each and times them side by side (`csrc/ago_trial_main.c`). What goes wrong with one costs that one.

Times are relative to an incumbent, the best candidate of the workload so far: it runs in every
batch, so that a drifting clock shows, and is divided out. A time that may differ from the
incumbent's by chance is reported as a tie.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ago.errors import DeviceError
from ago.runtime.toolchain import Toolchain, find_toolchain
from ago.runtime.transport import Transport
from ago.tune.candidate import Made, make_candidate
from ago.tune.noise import Timing
from ago.tune.record import TaskKey, decisions_text
from ago.tune.reference import Reference, reference_of
from ago.tune.task import Task
from ago.tune.trial import Job, Outcome
from ago.tune.trial_data import Trial
from ago.tune.trial_program import Compiler, build_trials
from ago.tune.trial_run import Ending, Limits, Tell, run_trials, tell_nobody


@dataclass(frozen=True, slots=True)
class _Incumbent:
    """The best candidate of a workload so far, and its time on the first batch's clock."""

    made: Made
    timing: Timing


class DeviceRunner:
    """Builds candidates here and times them on a device.

    Args:
        transport: The device.
        limits: What a trial may take.
        batch: Candidates in one program, at most.
        jobs: Compilers run at once; by default one for each CPU here.
        seed: Of the operands.
        toolchain: By default whatever `find_toolchain` finds for a task's target.
        cpu: CPU of the device that the candidates run on; by default any.
        tell: Told when the device is lost and waited for.

    Attributes:
        drift: Time of the last batch's incumbent over its time before: above 1, the device slowed.
    """

    def __init__(
        self,
        transport: Transport,
        limits: Limits | None = None,
        *,
        batch: int = 16,
        jobs: int | None = None,
        seed: int = 0,
        toolchain: Toolchain | None = None,
        cpu: int | None = None,
        tell: Tell = tell_nobody,
    ) -> None:
        self.drift = 1.0
        self._transport = transport
        self._limits = limits or Limits()
        self._batch = batch
        self._jobs = jobs or os.cpu_count() or 1
        self._seed = seed
        self._toolchain = toolchain
        self._cpu = cpu
        self._tell = tell
        self._met = False
        self._references: dict[TaskKey, Reference] = {}
        self._incumbents: dict[TaskKey, _Incumbent] = {}

    @property
    def host(self) -> str:
        """The device; see `Runner.host`."""
        return self._transport.name

    def close(self) -> None:
        """Let go of the device."""
        self._transport.close()

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Build and measure jobs; see `Runner.run`.

        Raises:
            DeviceError: The device cannot be reached: at once where it never was, else for too
                long.
            ToolchainError: There is no compiler for the target.
        """
        if jobs and not self._met:
            self._meet()
        outcomes: dict[tuple[TaskKey, str], Outcome] = {}
        for batch in batches(jobs, self._batch):
            made = [make_candidate(job) for job in batch]
            good = [one for one in made if isinstance(one, Made)]
            found = iter(self._measure(batch[0].task, good))
            for job, one in zip(batch, made, strict=True):
                outcomes[identity(job)] = next(found) if isinstance(one, Made) else one
        return [outcomes[identity(job)] for job in jobs]

    def _meet(self) -> None:
        """Reach the device for the first time: a wrong name is not waited for.

        Raises:
            DeviceError: It does not answer: says why.
        """
        if not self._transport.reachable():
            try:
                self._transport.push({})
            except DeviceError as error:
                raise DeviceError(f"{self.host} could not be reached: {error}") from error
        self._met = True

    def _measure(self, task: Task, made: Sequence[Made]) -> list[Outcome]:
        """The outcomes of candidates of one task; equal code is measured once."""
        distinct = {one.candidate.function.key: one for one in made}
        incumbent = self._incumbents.get(task.key)
        if incumbent is not None and distinct:
            distinct.setdefault(incumbent.made.candidate.function.key, incumbent.made)
        endings = dict(zip(distinct, self._endings(task, list(distinct.values())), strict=True))
        timings = self._on_one_clock(
            incumbent, {k: Timing.of(e.times) for k, e in endings.items() if e.times}
        )
        if timings:
            self._keep_best(task.key, distinct, timings)
        reference = incumbent.timing if incumbent is not None else None
        return [
            _outcome(one, endings[key], timings.get(key), reference)
            for one in made
            for key in [one.candidate.function.key]
        ]

    def _endings(self, task: Task, made: Sequence[Made]) -> list[Ending]:
        """What became of each candidate on the device."""
        endings: dict[int, Ending] = {}
        for number, one in enumerate(made):
            needed = _memory_bytes(one)
            if needed > self._limits.memory_bytes:
                reason = f"needs {needed:,} B of the {self._limits.memory_bytes:,} B allowed"
                endings[number] = Ending("memory", reason)
        wanted = [number for number in range(len(made)) if number not in endings]
        if wanted:
            endings |= self._run_program(task, {number: made[number] for number in wanted})
        return [endings[number] for number in range(len(made))]

    def _run_program(self, task: Task, made: Mapping[int, Made]) -> dict[int, Ending]:
        if task.key not in self._references:
            self._references[task.key] = reference_of(task.program, self._seed)
        reference = self._references[task.key]
        trials = [Trial(m.candidate, reference.operands, reference.expected) for m in made.values()]
        toolchain = self._toolchain or find_toolchain(task.target)
        compiler = Compiler(task.target, toolchain, self._jobs, self._limits.compile_seconds)
        numbers = list(made)
        with tempfile.TemporaryDirectory(prefix="ago-trials-") as name:
            program = build_trials(trials, compiler, Path(name))
            endings = {numbers[k]: Ending("build", why) for k, why in program.failures.items()}
            if program.numbers:
                ended = run_trials(program, self._transport, self._limits, self._cpu, self._tell)
                endings |= {numbers[k]: e for k, e in zip(program.numbers, ended, strict=True)}
        return endings

    def _on_one_clock(
        self, incumbent: _Incumbent | None, timings: Mapping[str, Timing]
    ) -> dict[str, Timing]:
        """Times as the clock of the incumbent's first batch would have shown them."""
        key = incumbent.made.candidate.function.key if incumbent is not None else ""
        if incumbent is None or key not in timings:
            return dict(timings)
        self.drift = timings[key].seconds / incumbent.timing.seconds
        return {k: timing.scaled(1 / self.drift) for k, timing in timings.items()}

    def _keep_best(
        self, key: TaskKey, made: Mapping[str, Made], timings: Mapping[str, Timing]
    ) -> None:
        """Make the fastest candidate the incumbent, unless the one before ties with it."""
        best = min(timings, key=lambda k: timings[k].seconds)
        before = self._incumbents.get(key)
        if before is None or not (
            before.timing.seconds <= timings[best].seconds or timings[best].ties_with(before.timing)
        ):
            self._incumbents[key] = _Incumbent(made[best], timings[best])


def batches(jobs: Sequence[Job], size: int) -> Iterator[list[Job]]:
    """Distinct jobs, those of one task together, so many at once."""
    by_task: dict[TaskKey, dict[str, Job]] = {}
    for job in jobs:
        by_task.setdefault(job.task.key, {}).setdefault(decisions_text(job.decisions), job)
    for distinct in by_task.values():
        listed = list(distinct.values())
        yield from (listed[first : first + size] for first in range(0, len(listed), size))


def identity(job: Job) -> tuple[TaskKey, str]:
    """What equal jobs have in common."""
    return job.task.key, decisions_text(job.decisions)


def _memory_bytes(made: Made) -> int:
    program = made.candidate.program
    return sum(program.buffer(name).nbytes for name in made.candidate.function.parameters)


def _outcome(
    made: Made, ending: Ending, timing: Timing | None, incumbent: Timing | None
) -> Outcome:
    if timing is None:
        return made.failed(ending.status, ending.reason)
    if incumbent is not None and timing.ties_with(incumbent):
        timing = replace(timing, seconds=incumbent.seconds)
    return made.timed(timing)
