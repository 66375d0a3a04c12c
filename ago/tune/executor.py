"""Trials on many machines or processes: any `concurrent.futures.Executor`, Dask's among them.

Read `ExecutorRunner` first. Each worker has a runner of its own. A batch is submitted as a whole
and gives its outcomes as a whole, so that a worker that dies loses its batch, which then runs
again elsewhere: no trial is lost, and none counted twice. With every batch travels an anchor, a
candidate of the task that was timed before: what it takes on a worker tells how fast that one is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, replace

from ago.errors import AgoError, DeviceError
from ago.schedule.trace import Trace
from ago.tune.device_runner import batches, identity
from ago.tune.local import LocalRunner
from ago.tune.record import TaskKey
from ago.tune.trial import Job, Outcome, Runner

RunnerFactory = Callable[[], Runner]

_runners: dict[RunnerFactory, Runner] = {}  # of this process, kept from batch to batch
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Batch:
    """Jobs of one task that are submitted together.

    Attributes:
        jobs: What is wanted.
        anchor: What is measured beside them.
        failures: How many workers were lost with these jobs.
    """

    jobs: tuple[Job, ...]
    anchor: Job
    failures: int = 0


@dataclass(frozen=True, slots=True)
class _Done:
    """What came of a batch; no anchor's time where it was not measured."""

    batch: _Batch
    outcomes: Sequence[Outcome]
    anchor_seconds: float | None


class ExecutorRunner:
    """Measures on the workers of an executor.

    Args:
        executor: For instance a `ProcessPoolExecutor`, or `client.get_executor()` of Dask. It stays
            the caller's to shut down.
        runner: Makes a worker's runner; it is pickled, so it must be importable there.
        batch: Jobs in one call, at most.
        attempts: How many workers may be lost with a job before it counts as failed.
        host: Name under which records are kept: workers of one kind are one host.
    """

    def __init__(
        self,
        executor: Executor,
        runner: RunnerFactory = LocalRunner,
        *,
        batch: int = 8,
        attempts: int = 3,
        host: str = "executor",
    ) -> None:
        self._executor = executor
        self._runner = runner
        self._batch = batch
        self._attempts = attempts
        self._host = host
        self._anchors: dict[TaskKey, tuple[Job, float]] = {}

    @property
    def host(self) -> str:
        """The workers; see `Runner.host`."""
        return self._host

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Build and measure jobs on the workers; see `Runner.run`.

        Raises:
            DeviceError: The executor is broken, or no worker can use its device.
        """
        outcomes: dict[tuple[TaskKey, str], Outcome] = {}
        for done in sorted(self._all_done(jobs), key=lambda done: identity(done.batch.jobs[0])):
            scale = self._scale(done)
            for job, outcome in zip(done.batch.jobs, done.outcomes, strict=True):
                outcomes[identity(job)] = _scaled(outcome, scale)
        for job in jobs:
            outcome = outcomes[identity(job)]
            if outcome.seconds is not None:
                self._anchors.setdefault(job.task.key, (job, outcome.seconds))
        return [outcomes[identity(job)] for job in jobs]

    def _all_done(self, jobs: Sequence[Job]) -> list[_Done]:
        """Submit all jobs, again where a worker is lost, until each has an outcome."""
        waiting: dict[Future[list[Outcome]], _Batch] = {}
        finished: list[_Done] = []
        try:
            for batch in self._split(jobs):
                waiting[self._submit(batch)] = batch
            while waiting:
                for future in wait(waiting, return_when="FIRST_COMPLETED").done:
                    batch = waiting.pop(future)
                    error = _error_of(future)
                    if error is None:
                        finished.append(_done(batch, future.result()))
                    elif len(batch.jobs) == 1 and batch.failures + 1 >= self._attempts:
                        finished.append(_Done(batch, [_lost(batch.jobs[0], error)], None))
                    else:
                        waiting |= {self._submit(part): part for part in _again(batch)}
        finally:
            for future in waiting:
                future.cancel()
        return finished

    def _split(self, jobs: Sequence[Job]) -> Iterator[_Batch]:
        first: dict[TaskKey, Job] = {}
        for listed in batches(jobs, self._batch):
            key = listed[0].task.key
            anchor, _ = self._anchors.get(key, (first.setdefault(key, listed[0]), 0.0))
            yield _Batch(tuple(listed), anchor)

    def _submit(self, batch: _Batch) -> Future[list[Outcome]]:
        try:
            return self._executor.submit(_run_here, self._runner, (*batch.jobs, batch.anchor))
        except (BrokenExecutor, RuntimeError) as error:
            raise DeviceError(f"the executor takes no more work: {error}") from error

    def _scale(self, done: _Done) -> float:
        """What turns a batch's times into times on the worker that timed the anchor first."""
        if done.anchor_seconds is None:
            return 1.0
        start = (done.batch.anchor, done.anchor_seconds)
        _, seconds = self._anchors.setdefault(done.batch.anchor.task.key, start)
        return seconds / done.anchor_seconds


def _run_here(factory: RunnerFactory, jobs: Sequence[Job]) -> list[Outcome]:
    """On a worker: measure with this process's runner."""
    with _lock:
        if factory not in _runners:
            _runners[factory] = factory()
    return _runners[factory].run(jobs)


def _error_of(future: Future[list[Outcome]]) -> BaseException | None:
    """Why a worker gave no outcomes.

    Raises:
        AgoError: It can give none at all, such as for want of a compiler.
        DeviceError: The executor is broken.
    """
    if future.cancelled():
        return DeviceError("the executor cancelled the batch")
    error = future.exception()
    if isinstance(error, BrokenExecutor):
        raise DeviceError(f"the executor is broken: {error}") from error
    if isinstance(error, AgoError):
        raise error
    return error


def _done(batch: _Batch, outcomes: Sequence[Outcome]) -> _Done:
    *wanted, anchor = outcomes
    return _Done(batch, wanted, anchor.seconds)


def _again(batch: _Batch) -> list[_Batch]:
    """A lost batch once more, and after that its jobs one by one: one of them may be to blame."""
    if batch.failures == 0:
        return [replace(batch, failures=1)]
    return [replace(batch, jobs=(job,), failures=batch.failures + 1) for job in batch.jobs]


def _lost(job: Job, error: BaseException) -> Outcome:
    trace = Trace(job.task.key.workload).to_json()
    return Outcome(job.decisions, trace, "crash", reason=f"each worker was lost: {error}")


def _scaled(outcome: Outcome, factor: float) -> Outcome:
    if outcome.seconds is None:
        return outcome
    return replace(outcome, seconds=outcome.seconds * factor)
