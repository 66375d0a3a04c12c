"""What is tuned: the distinct workloads of a network.

Read `Task` first. Two subgraphs of equal structure are one task with two uses, however they are
called; a schedule found for one serves both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ago.ir.program import Program
from ago.target import Target
from ago.tune.record import TaskKey


@dataclass(frozen=True, slots=True)
class Task:
    """A workload whose schedule is searched.

    Attributes:
        key: Under which its records are kept.
        program: A naive program of the workload.
        target: The CPU it is compiled for.
        label: What it is, for people: the model's nodes.
        uses: How often one inference runs it.
        intensive: Whether one nest may hold several convolutions or matrix products.
    """

    key: TaskKey
    program: Program = field(compare=False)
    target: Target
    label: str
    uses: int = 1
    intensive: bool = True

    @classmethod
    def of(cls, program: Program, target: Target, label: str, *, intensive: bool = True) -> Task:
        """The task of a naive program, used once."""
        key = TaskKey.of(program, target, intensive=intensive)
        return cls(key, program, target, label, intensive=intensive)

    def __str__(self) -> str:
        return f"{self.key}: {self.label}" + (f" ({self.uses} uses)" if self.uses > 1 else "")


def distinct_tasks(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """One task for each key, with the sum of the uses, in the order of their first appearance."""
    found: dict[TaskKey, Task] = {}
    for task in tasks:
        known = found.get(task.key)
        found[task.key] = task if known is None else replace(known, uses=known.uses + task.uses)
    return tuple(found.values())
