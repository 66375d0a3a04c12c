"""The last word on tuned schedules: the network with them, beside the network without them.

Read `contest` first. A schedule is timed alone while it is searched for, with its data in the
caches; in the network other steps have been there before. So what won alone is timed once more in
its place, and gives way to the default where it does not win there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ago.errors import AgoError
from ago.ir.graph import Graph
from ago.options import Options
from ago.partition import Partitioner
from ago.pipeline import Compilation, compile_graph
from ago.progress import Progress, silent
from ago.runtime.anatomy import Anatomy
from ago.runtime.compare import fastest_steps
from ago.runtime.net import Net, open_net
from ago.tune.known import LEAST_GAIN
from ago.tune.record import Record, TaskKey

ROUNDS = 20
"""Runs of each network, of which the fastest of each step counts."""


@dataclass(frozen=True, slots=True)
class Contest:
    """A network before and after.

    Attributes:
        default: Seconds of its steps with their default schedules.
        tuned: Seconds of its steps with the schedules that won, in place.
        records: Of the schedules that won alone, with the times that they deserve: those of the
            defaults, times what they take more or less in place; and of the defaults.
        withdrawn: How many of them do not win in place.
    """

    default: float
    tuned: float
    records: tuple[Record, ...]
    withdrawn: int

    def __str__(self) -> str:
        gain = self.default / self.tuned - 1.0 if self.tuned else 0.0
        times = f"{1e3 * self.default:.3f} → {1e3 * self.tuned:.3f} ms ({gain:+.1%})"
        lost = f", {self.withdrawn} schedules withdrawn" if self.withdrawn else ""
        return f"in place, one after the other: {times}{lost}"


def contest(
    graph: Graph,
    options: Options,
    chosen: Mapping[TaskKey, tuple[Record, Record]],
    partitioner: Partitioner | None = None,
    progress: Progress = silent,
) -> Contest:
    """Time schedules in a network beside the defaults.

    Args:
        graph: Of canonical operators.
        options: One thread; a target that this machine can run.
        chosen: The record of the default and that of the schedule that won alone, by task.
        partitioner: Cuts the graph into subgraphs.
        progress: Told how far scheduling and compiling are.

    Returns:
        The times, and which schedules lost.
    """
    winners = {key: record for key, (_, record) in chosen.items()}
    default = compile_graph(graph, options, partitioner, progress)
    tuned = compile_graph(graph, options, partitioner, progress, winners.get)
    nets = [_open(compilation, progress) for compilation in (default, tuned)]
    before, after = fastest_steps(nets, ROUNDS)
    taken, withdrawn = sum(before), 0
    records: list[Record] = []
    for key, steps in _steps(tuned, options, winners).items():
        old, new = (sum(times[step] for step in steps) for times in (before, after))
        base, record = chosen[key]
        assert base.seconds is not None
        timed = replace(record, seconds=base.seconds * new / old, level=2)
        records += [replace(base, level=2), timed]
        if new < old * (1.0 - LEAST_GAIN):
            taken += new - old
        else:
            withdrawn += 1
    return Contest(sum(before), taken, tuple(records), withdrawn)


def _steps(
    compilation: Compilation, options: Options, winners: Mapping[TaskKey, Record]
) -> dict[TaskKey, list[int]]:
    """The steps with a schedule that won, by task."""
    found: defaultdict[TaskKey, list[int]] = defaultdict(list)
    for number, kernel in enumerate(compilation.kernels):
        program = kernel.lowered.program
        key = TaskKey.of(program, options.target, intensive=options.intensive_fusion)
        if key in winners:
            found[key].append(number)
    return found


def _open(compilation: Compilation, progress: Progress) -> Net:
    def anatomy() -> Anatomy:
        raise AgoError("a network that is timed only has no inside")

    return open_net(compilation.artifact, anatomy, progress)
