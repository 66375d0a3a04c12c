"""Schedules that tuning found, applied without any search.

Read `Known` first: the compiler asks it for each workload. `preferred` picks a record of a task,
`apply_record` makes the schedule: from the decisions where the sketch still says the same, from the
frozen trace where it has changed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from ago.autoschedule import sketch_program
from ago.errors import IRError, ScheduleError
from ago.inspection import Scheduled
from ago.ir.verify import verify
from ago.schedule.chooser import GuidedChooser, ReplayChooser
from ago.schedule.trace import Trace
from ago.tune.record import Record, TaskKey
from ago.tune.task import Task

_LOG = logging.getLogger(__name__)

LEAST_GAIN = 0.01
"""A record must be faster than the default's by this share to be preferred."""

Known = Callable[[TaskKey], Record | None]
"""The record whose schedule a workload gets; None for the default schedule."""


def nothing_known(key: TaskKey) -> None:
    """No schedule of any workload: all of them get their defaults."""


def preferred(records: Iterable[Record], host: str | None = None) -> Record | None:
    """The fastest of a task's best known records, if it beats the first by `LEAST_GAIN`.

    Times of different machines are never compared. The first record of a machine is the default
    schedule's, for which ties are decided. Where schedules were timed again beside it, one that was
    timed once only does not count: it may have been lucky.

    Args:
        records: Of one task, in the order in which they were measured.
        host: The machine whose times count; where it has none, that with the most records.

    Returns:
        The record; None where nothing was measured.
    """
    by_host: dict[str, list[Record]] = {}
    for record in records:
        if record.seconds is not None:
            by_host.setdefault(record.host, []).append(record)
    if not by_host:
        return None
    most = max(by_host, key=lambda name: len(by_host[name]))
    timed = by_host[host if host in by_host else most]
    first, level = timed[0], max(record.level for record in timed)
    known = [first, *(record for record in timed if record.level == level)]
    fastest = min(known, key=lambda r: r.seconds or 0.0)
    assert first.seconds is not None
    assert fastest.seconds is not None
    return fastest if fastest.seconds < first.seconds * (1.0 - LEAST_GAIN) else first


def apply_record(record: Record, task: Task, threads: int = 1) -> Scheduled | None:
    """Schedule a task's program as a record says.

    Args:
        record: Of the task.
        task: The workload.
        threads: How many threads share the work. With several, the decisions that are still
            offered are taken; the trace is one thread's.

    Returns:
        The schedule; None, with a warning in the log, where neither decisions nor trace apply.
    """
    if threads > 1:
        return _share(record, task, threads)
    chooser, program = ReplayChooser(record.decisions), task.program
    try:
        made = sketch_program(program, task.target, chooser, intensive_fusion=task.intensive)
        schedule = made.schedule
        if schedule.trace.to_json() == record.trace:
            verify(schedule.program)
            return Scheduled(
                program, schedule.program, schedule.trace, schedule.choices, made.fusion
            )
    except (ScheduleError, IRError):
        _LOG.info("%s: the decisions of the record are no longer offered", record.key)
    try:
        trace = Trace.from_json(record.trace)
        replayed = trace.replay(program)
        verify(replayed)
    except (ScheduleError, IRError) as refusal:
        _LOG.warning("%s: the record does not apply: %s", record.key, refusal)
        return None
    return Scheduled(program, replayed, trace)


def _share(record: Record, task: Task, threads: int) -> Scheduled | None:
    """A record's schedule, shared by threads."""
    chooser, program = GuidedChooser(record.decisions), task.program
    try:
        made = sketch_program(
            program, task.target, chooser, intensive_fusion=task.intensive, threads=threads
        )
        verify(made.schedule.program)
    except (ScheduleError, IRError) as refusal:
        _LOG.warning("%s: the record does not apply: %s", record.key, refusal)
        return None
    schedule = made.schedule
    return Scheduled(program, schedule.program, schedule.trace, schedule.choices, made.fusion)
