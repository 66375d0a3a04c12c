"""What a tuning session tells: how far it is, and what came out.

Read `Result` first. All times are seconds of one thread; those of a network are sums over its
tasks, each as often as one inference runs it, measured alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ago.schedule.chooser import Decision
from ago.tune.known import preferred
from ago.tune.record import Record, Status, TaskKey, decisions_text
from ago.tune.task import Task

_CODE = re.compile(r"\[([a-z][a-z0-9-]+)\]")


@dataclass(frozen=True, slots=True)
class Budget:
    """When to stop, whatever comes first.

    Attributes:
        trials: Candidates of the network, those of earlier sessions included; None for any number.
        seconds: Time of this session; None for any.
    """

    trials: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a session is.

    Attributes:
        label: The task of the last trials.
        trials: Candidates so far, those of earlier sessions included.
        default: Seconds of the network with its default schedules.
        best: The same with the fastest schedules so far.
        elapsed: Seconds since the session began.
        budget: When it ends.
        records: What was measured since the last call.
    """

    label: str
    trials: int
    default: float
    best: float
    elapsed: float
    budget: Budget
    records: tuple[Record, ...]

    @property
    def share(self) -> float:
        """How much of the budget is used up, from 0 to 1."""
        shares = [0.0]
        if self.budget.seconds:
            shares.append(self.elapsed / self.budget.seconds)
        if self.budget.trials:
            shares.append(self.trials / self.budget.trials)
        return min(1.0, max(shares))

    @property
    def remaining(self) -> float | None:
        """Seconds until the budget is used up, at the pace so far; None where nobody knows."""
        left = []
        if self.budget.seconds is not None:
            left.append(self.budget.seconds - self.elapsed)
        if self.budget.trials is not None and self.trials:
            left.append(self.elapsed / self.trials * (self.budget.trials - self.trials))
        return max(0.0, min(left)) if left else None


Watch = Callable[[Progress], None]
"""Told after each batch; an exception in it stops the session, and nothing is lost."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What became of one task.

    Attributes:
        task: The task.
        records: What was measured, in order; the default schedule first.
        chosen: The record whose schedule is used from now on; None where nothing could be measured.
    """

    task: Task
    records: tuple[Record, ...]
    chosen: Record | None

    @property
    def default(self) -> float:
        """Seconds of the default schedule; 0 where it could not be measured."""
        return self.records[0].seconds or 0.0 if self.records else 0.0

    @property
    def best(self) -> float:
        """Seconds of the chosen schedule."""
        return self.default if self.chosen is None else self.chosen.seconds or 0.0

    def known(self, record: Record) -> Record:
        """The task's record of the same decisions."""
        return next(r for r in self.records if r.decisions == record.decisions)

    @property
    def changes(self) -> Mapping[str, tuple[Decision | None, Decision | None]]:
        """Decisions that are not the default's, each with the default's value and its own."""
        if self.chosen is None:
            return {}
        old, new = self.records[0].decisions, self.chosen.decisions
        keys = [*new, *(key for key in old if key not in new)]
        return {k: (old.get(k), new.get(k)) for k in keys if old.get(k) != new.get(k)}

    def __str__(self) -> str:
        gain = self.default / self.best - 1.0 if self.best else 0.0
        times = f"{1e6 * self.default:8.1f} → {1e6 * self.best:8.1f} µs {100 * gain:+6.1f} %"
        uses = f" x{self.task.uses}" if self.task.uses > 1 else ""
        return f"{times} {len(self.records):5} trials  {self.task.label}{uses}"


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the model thought of a candidate before it was measured.

    Attributes:
        rank: Place among the candidates of its batch: 0 for the one predicted to be the fastest, 1
            for the slowest.
        ratio: Its time over that of the default.
    """

    rank: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Result:
    """What a session found.

    Attributes:
        tasks: Of the network, in the order in which it runs them.
        parts: Parts of tasks that were tuned on the way.
        elapsed: Seconds that the session took.
        found: Trials of this session.
        interrupted: Whether it was stopped before its budget was used up.
        predictions: Of this session's candidates that ran, where a model ranked them.
    """

    tasks: tuple[TaskResult, ...]
    parts: tuple[TaskResult, ...]
    elapsed: float
    found: int = 0
    interrupted: bool = False
    predictions: tuple[Prediction, ...] = ()

    @property
    def trials(self) -> int:
        """Candidates of all tasks and parts, those of earlier sessions included."""
        return sum(1 for _ in self.records)

    @property
    def records(self) -> Iterator[Record]:
        """What was measured, of one task after the other."""
        return (record for task in (*self.tasks, *self.parts) for record in task.records)

    @property
    def default(self) -> float:
        """Seconds of the tuned tasks of one inference, with their default schedules."""
        return sum(task.task.uses * task.default for task in self.tasks)

    @property
    def best(self) -> float:
        """Seconds of the tuned tasks of one inference, with the chosen schedules."""
        return sum(task.task.uses * task.best for task in self.tasks)

    @property
    def challenges(self) -> dict[TaskKey, tuple[Record, Record]]:
        """What must be timed in place: the default's record and that of another schedule, by task.

        All schedules that are to be used are among them; there are none where each of them was
        timed in place before.
        """
        found = {}
        for task in self.tasks:
            fastest = preferred([replace(r, level=min(r.level, 1)) for r in task.records])
            if fastest is not None and fastest.decisions != task.records[0].decisions:
                found[task.task.key] = (task.records[0], task.known(fastest))
        return found if any(record.level < 2 for _, record in found.values()) else {}

    def revised(self, records: Iterable[Record]) -> Result:
        """The result with better times of some records."""
        new = {(r.key, decisions_text(r.decisions)): r for r in records}
        tasks = []
        for task in self.tasks:
            kept = [new.get((r.key, decisions_text(r.decisions)), r) for r in task.records]
            tasks.append(TaskResult(task.task, tuple(kept), preferred(kept)))
        return replace(self, tasks=tuple(tasks))

    @property
    def statuses(self) -> Counter[Status]:
        """How many trials ended how."""
        return Counter(record.status for record in self.records)

    @property
    def refusals(self) -> Counter[str]:
        """How often each refusal code was the reason of a failed trial."""
        return count_refusals(self.records)

    def __str__(self) -> str:
        if not self.tasks:
            return "nothing to tune: no step of the model has schedules to choose among"
        gain = self.default / self.best - 1.0 if self.best else 0.0
        ends = ", ".join(f"{n} {status}" for status, n in self.statuses.most_common())
        return "\n".join(
            [
                *(str(task) for task in self.tasks),
                f"{1e6 * self.default:8.1f} → {1e6 * self.best:8.1f} µs {100 * gain:+6.1f} % "
                f"{self.trials:5} trials ({ends}) in {self.elapsed:.0f} s",
            ]
        )


def count_refusals(records: Iterable[Record]) -> Counter[str]:
    """How often each refusal code stands in the reasons of failed trials.

    Args:
        records: Of any tasks.

    Returns:
        Counts by code, such as `"split-not-exact"`; those without a code by their status.
    """
    counts: Counter[str] = Counter()
    for record in records:
        if record.status != "ok":
            code = _CODE.search(record.reason)
            counts[code.group(1) if code else record.status] += 1
    return counts
