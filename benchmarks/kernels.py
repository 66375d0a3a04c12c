"""Each kernel's share of the FMA peak and of its bound: layers of models, and a grid of shapes.

Read `Row` first. A low share of the peak has a reason or is a fault: the bound names the reason,
and the share of it says how much of the kernel's time the reason explains.

    python -m benchmarks.kernels MODEL.onnx ... [--grid]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from ago.errors import AgoError
from ago.frontend import load
from ago.ir.graph import Graph
from ago.models import MODELS
from ago.options import Options
from ago.partition import relay_style
from ago.pipeline import compile_graph
from ago.tune.machine import Machine, PeakProbe, measure_machine
from benchmarks.bounds import Bound, bound_of
from benchmarks.grid import grid, plain
from benchmarks.steps import Model, Timing, time_steps
from benchmarks.tables import markdown_table, pin

_HEADER = (
    *("kernel", "count", "MFLOP", "µs", "GFLOP/s", "share"),
    *("KiB", "bound by", "bound, µs", "of bound", "decisions"),
)

_LOW = 0.4
"""Share of the peak below which a kernel must be explained."""

_EXPLAINED = 0.75
"""Share of its bound from which a kernel is."""

_Job = tuple[Model, int, int]


@dataclass(frozen=True, slots=True)
class Row:
    """A timed kernel with what explains its speed.

    Attributes:
        timing: Its time.
        bound: What it is bound by.
    """

    timing: Timing
    bound: Bound

    @property
    def of_bound(self) -> float:
        """The bound's share of the time; above 1 where a cache did better than when measured."""
        return self.bound.seconds / self.timing.seconds

    @property
    def is_open(self) -> bool:
        """Whether it is slow and its bound does not say why."""
        return self.timing.share < _LOW and self.of_bound < _EXPLAINED

    def cells(self) -> list[str]:
        """Its line in the table."""
        work, seconds = self.timing.workload, self.timing.seconds
        return [
            work.label,
            str(self.timing.count),
            f"{work.flop / 1e6:.2f}",
            f"{1e6 * seconds:.1f}",
            f"{work.flop / seconds / 1e9:.1f}",
            f"{100 * self.timing.share:.0f} %",
            f"{work.nbytes / 1024:.0f}",
            self.bound.by,
            f"{1e6 * self.bound.seconds:.1f}",
            f"{100 * self.of_bound:.0f} %",
            work.decisions,
        ]


def model_rows(graph: Graph, machine: Machine) -> list[Row]:
    """Time every distinct kernel of a model.

    Args:
        graph: The model.
        machine: This machine, measured.

    Raises:
        UnsupportedError: It cannot be compiled.
    """
    model = Model(compile_graph(graph, Options(machine.host), relay_style))
    return _rows([(model, step, count) for step, count in model.distinct_steps().items()], machine)


def grid_rows(graphs: Iterable[Graph], machine: Machine) -> tuple[list[Row], list[str]]:
    """Time the kernels of small graphs: those with multiply-adds, or all where there are none.

    Args:
        graphs: Small ones.
        machine: This machine, measured.

    Returns:
        The rows, and a line for each graph that could not be compiled.
    """
    jobs, failures = [], []
    for graph in graphs:
        try:
            model = Model(compile_graph(graph, Options(machine.host), relay_style))
        except AgoError as error:
            failures.append(f"{graph.name}: {error}")
            continue
        kernels = model.compilation.kernels
        heavy = [n for n, kernel in enumerate(kernels) if kernel.subgraph.complex_nodes]
        jobs += [(model, n, 1) for n in heavy or range(len(kernels))]
    return _rows(jobs, machine), failures


def _rows(jobs: Sequence[_Job], machine: Machine) -> list[Row]:
    programs = [model.compilation.kernels[step].lowered.program for model, step, _ in jobs]
    timings = time_steps(jobs, PeakProbe(machine.host))
    return [
        Row(timing, bound_of(program, machine))
        for timing, program in zip(timings, programs, strict=True)
    ]


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown."""
    return markdown_table(_HEADER, [row.cells() for row in rows])


def open_rows(rows: Sequence[Row]) -> str:
    """Which kernels are slow for no reason that the table gives."""
    found = [row.timing.workload.label for row in rows if row.is_open]
    which = "; ".join(found) or "none"
    limits = f"{100 * _LOW:.0f} % of the peak and {100 * _EXPLAINED:.0f} % of the bound"
    return f"Below {limits}: {which}.\n"


def summary(rows: Sequence[Row]) -> str:
    """Total time of a model's kernels and the share of the peak that they reach together."""
    seconds = sum(row.timing.count * row.timing.seconds for row in rows)
    ideal = sum(row.timing.count * row.timing.share * row.timing.seconds for row in rows)
    return f"Sum: {1e3 * seconds:.2f} ms, {100 * ideal / seconds:.0f} % of the peak.\n"


def model_section(models: Sequence[str], machine: Machine) -> str:
    """A table for each model.

    Args:
        models: Paths of ONNX files, or names of networks in `ago.models`.
        machine: This machine, measured.
    """
    parts = []
    for name in models:
        parts.append(f"### {Path(name).stem}\n")
        try:
            graph = MODELS[name]() if name in MODELS else load(name)
            rows = model_rows(graph, machine)
            parts += [table(rows), summary(rows), open_rows(rows)]
        except AgoError as error:
            parts.append(f"Skipped: {error}\n")
    return "\n".join(parts)


def grid_section(machine: Machine) -> str:
    """The grid's table, and what in it could not be compiled."""
    rows, failures = grid_rows(grid(), machine)
    others, failed = grid_rows(plain(), machine)
    plain_part = ["### Without multiply-adds\n", table(others), open_rows(others)]
    parts = [table(rows), open_rows(rows), *plain_part]
    return "\n".join([*parts, *(f"Skipped: {failure}\n" for failure in [*failures, *failed])])


@click.command()
@click.argument("models", nargs=-1)
@click.option("--grid", "with_grid", is_flag=True, help="Time the grid of shapes, too.")
@click.option("--core", default=0, help="The CPU to run on.")
def main(models: tuple[str, ...], with_grid: bool, core: int) -> None:
    """Time the kernels of MODELS: ONNX files, or networks that come with AGO."""
    pin(core)
    machine = measure_machine()
    if models:
        click.echo(model_section(models, machine))
    if with_grid:
        click.echo(grid_section(machine))


if __name__ == "__main__":
    main()
