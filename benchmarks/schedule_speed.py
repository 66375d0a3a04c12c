"""How fast the compiler itself is: nests lowered, scheduled, verified and printed; candidates made.

Read `nest_rows` and `candidate_rates` first. Times are this machine's, of the first
run: a second one would find results that are kept. As `timeit` does, it pauses the cycle collector,
which would look through the whole model in the middle of whatever it is that is timed.

    python -m benchmarks.schedule_speed MODEL.onnx ...
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import click
import numpy as np

from ago.autoschedule import schedule_program
from ago.autoschedule.collector import collector_paused
from ago.errors import AgoError
from ago.frontend import GraphBuilder, load
from ago.ir.graph import Graph
from ago.ir.lowering import LOWERINGS, lower_nodes
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.ir.workload import workload_key
from ago.models import MODELS
from ago.partition import DEFAULT_PARTITIONER, find_partitioner, strip_views
from ago.pipeline import run_passes
from ago.schedule.chooser import RandomChooser
from ago.target import Target, resolve_target
from benchmarks.tables import markdown_table, pin

_CANDIDATES = 100


@dataclass(frozen=True, slots=True)
class NestTimes:
    """Milliseconds of each stage of one kernel.

    Attributes:
        lower: From graph nodes to the naive program.
        schedule: The default schedule.
        verify: All laws.
        print: Both programs as text.
    """

    lower: float
    schedule: float
    verify: float
    print: float

    @property
    def total(self) -> float:
        """All of it."""
        return sum(getattr(self, field.name) for field in fields(self))


def nest_rows(graph: Graph, target: Target) -> dict[str, NestTimes]:
    """Times of each distinct kernel of a model, by what it computes.

    Args:
        graph: As imported.
        target: What to schedule for.
    """
    whole = run_passes(graph, target)
    work = strip_views(whole, find_partitioner(DEFAULT_PARTITIONER)(whole))
    rows: dict[str, NestTimes] = {}
    seen: set[str] = set()
    for subgraph in work.subgraphs:
        if not all(node.op in LOWERINGS for node in subgraph.nodes):
            continue
        lower, lowered = _timed(
            lambda part=subgraph: lower_nodes(whole, part.nodes, part.outputs, "kernel")
        )
        key = workload_key(lowered.program)
        if key in seen:
            continue
        seen.add(key)
        naive = lowered.program
        schedule, made = _timed(lambda naive=naive: schedule_program(naive, target))
        checking, _ = _timed(lambda made=made: verify(made.program))
        printing, _ = _timed(lambda naive=naive, made=made: (str(naive), str(made.program)))
        label = f"{subgraph} #{len(rows)}"
        rows[label] = NestTimes(lower, schedule, checking, printing)
    return rows


def _timed(work: Callable[[], object]) -> tuple[float, object]:
    """Milliseconds of CPU time, and the result."""
    with collector_paused():
        start = time.process_time()
        result = work()
        return 1e3 * (time.process_time() - start), result


def two_convolutions() -> Graph:
    """A depthwise and a pointwise convolution at 28x28x192, the task candidates are made for."""
    b = GraphBuilder("two_convolutions")
    x = b.input("x", (1, 192, 28, 28))
    y = b.relu6(b.conv(x, np.ones((192, 1, 3, 3), np.float32), pads=1, group=192))
    return b.build(b.conv(y, np.ones((64, 192, 1, 1), np.float32)))


def task(graph: Graph, target: Target) -> Program:
    """The naive program of the largest subgraph of a graph."""
    whole = run_passes(graph, target)
    parts = strip_views(whole, find_partitioner(DEFAULT_PARTITIONER)(whole)).subgraphs
    part = max(parts, key=lambda p: len(p.nodes))
    return lower_nodes(whole, part.nodes, part.outputs, "task").program


def candidate_rates(program: Program, target: Target) -> dict[str, float]:
    """Milliseconds of a random candidate: built, verified, and its instructions applied alone."""
    start = time.process_time()
    made = [schedule_program(program, target, RandomChooser(seed)) for seed in range(_CANDIDATES)]
    built = time.process_time()
    for schedule in made:
        verify(schedule.program)
    verified = time.process_time()
    for schedule in made:
        schedule.trace.replay(program)
    applied = time.process_time()
    each = 1e3 / _CANDIDATES
    return {
        "built": each * (built - start),
        "verified": each * (verified - built),
        "applied alone": each * (applied - verified),
        "candidates a second": _CANDIDATES / (verified - start),
    }


@click.command()
@click.argument("models", nargs=-1)
@click.option("--core", default=0, help="The CPU to run on.")
@click.option("--target", default="host", help="The CPU to schedule for.")
@click.option("--most", default=3, help="Slowest kernels to list of each model.")
def main(models: tuple[str, ...], core: int, target: str, most: int) -> None:
    """Time the compiler on MODELS: ONNX files, or networks that come with AGO."""
    pin(core)
    cpu = resolve_target(target)
    rows = []
    for name in models or tuple(MODELS):
        try:
            times = nest_rows(MODELS[name]() if name in MODELS else load(name), cpu)
        except AgoError as error:
            click.echo(f"{name}: {str(error).splitlines()[0]}", err=True)
            continue
        slowest = sorted(times.items(), key=lambda item: -item[1].total)[:most]
        for label, own in slowest:
            cells = [f"{getattr(own, field.name):.1f}" for field in fields(own)]
            rows.append([Path(name).stem, label, *cells, f"{own.total:.1f}"])
    header = ("model", "kernel", *(field.name for field in fields(NestTimes)), "total, ms")
    click.echo(markdown_table(header, rows))
    for what, value in candidate_rates(task(two_convolutions(), cpu), cpu).items():
        click.echo(f"{what}: {value:.2f}" + ("" if "second" in what else " ms"))


if __name__ == "__main__":
    main()
