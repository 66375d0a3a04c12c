"""How good llvm-mca's estimates are where the truth can be measured: on this x86-64 Linux host.

Read `Kernel` first. Small kernels whose data live in L1 are timed, and estimated as kernels for
another CPU are: throughput of each basic block, times how often it is executed, which is counted by
single steps. Estimates rank schedules, so what counts is the order of those of one workload.

    python -m benchmarks.estimates [--core N]
"""

from __future__ import annotations

import math
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import cffi
import click
import numpy as np
from elftools.elf.elffile import ELFFile

from ago.autoschedule.space import Space
from ago.backends import INTRINSICS
from ago.cost_model.quality import Quality
from ago.cost_model.static import StaticModel, basic_blocks
from ago.frontend import GraphBuilder
from ago.ir.graph import Graph
from ago.ir.lowering import lower_nodes
from ago.pipeline import run_passes
from ago.runtime.library import aligned_array
from ago.runtime.toolchain import find_toolchain
from ago.target import Target, detect_host
from ago.tune.candidate import Made, make_candidate
from ago.tune.emulated import build_library
from ago.tune.machine import PeakProbe
from ago.tune.measure import measure_candidates
from ago.tune.source import entry_name
from ago.tune.task import Task
from ago.tune.trial import Job
from benchmarks.tables import markdown_table, pin

_COUNTER = Path(__file__).parent / "c" / "count_steps.c"
_SCHEDULES = 10
_ROUNDS = 60


@dataclass(frozen=True, slots=True)
class Kernel:
    """One schedule of a workload.

    Attributes:
        decisions: What was decided.
        estimated: Cycles.
        measured: Cycles, by the clock that the multiply-adds beside it show.
    """

    decisions: str
    estimated: float
    measured: float


def workloads() -> Iterator[tuple[str, Graph]]:
    """Small networks of one layer, with what they are; all data fit L1."""
    for rows, steps, columns in ((48, 32, 48), (20, 64, 40), (7, 96, 64)):
        b = GraphBuilder("product")
        weight = np.ones((steps, columns), np.float32)
        product = b.matmul(b.input("x", (rows, steps)), b.constant(weight))
        yield f"product {rows}x{steps}, {columns}", b.build(b.relu(product))
    for kernel, channels, filters, group, size in (
        (3, 8, 16, 1, 10),
        (3, 32, 32, 32, 12),
        (5, 16, 16, 16, 12),
        (1, 32, 32, 1, 8),
    ):
        b = GraphBuilder("convolution")
        inside = b.relu(b.input("x", (1, channels, size, size)), name="before")
        weight = np.ones((filters, channels // group, kernel, kernel), np.float32)
        y = b.relu(b.conv(inside, b.constant(weight), group=group))
        kind = "depthwise" if group > 1 else "convolution"
        yield f"{kind} {kernel}x{kernel}, {channels} to {filters}", b.build(b.relu(y, name="after"))


def task_of(label: str, graph: Graph, target: Target) -> Task:
    """The layer of a small network, without the copies around it."""
    whole = run_passes(graph, target)
    nodes = [node for node in whole.nodes if node.name not in ("before", "after")]
    return Task.of(lower_nodes(whole, nodes, nodes[-1].outputs, "layer").program, target, label)


def schedules(task: Task) -> list[Made]:
    """The default and others, drawn; of equal code one."""
    space, rng = Space(task.program, task.target), Random(0)
    drawn = [space.default(), *(space.random(rng) for _ in range(4 * _SCHEDULES))]
    found: dict[str, Made] = {}
    for decisions in drawn:
        made = make_candidate(Job(task, decisions))
        if isinstance(made, Made) and len(found) < _SCHEDULES:
            found.setdefault(made.candidate.function.key, made)
    return list(found.values())


class Counter:
    """Counts executed instructions of loaded code.

    Args:
        directory: Receives the compiled counter.
    """

    def __init__(self, directory: Path) -> None:
        library = directory / "counter.so"
        compiler = shutil.which("cc") or shutil.which("clang") or "cc"
        command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(_COUNTER)]
        subprocess.run(command, check=True)
        self._ffi = cffi.FFI()
        self._ffi.cdef(
            "void count_steps(void (*run)(void *const *), void *const *arguments,"
            " uintptr_t code, size_t bytes, int64_t *executions);"
        )
        self._library = self._ffi.dlopen(str(library))

    def executions(self, library: Path, made: Made, number: int) -> tuple[int, Any]:
        """Address of a library's code, and how often each of its bytes began an instruction."""
        ffi, name = cffi.FFI(), entry_name(number)
        ffi.cdef(f"void {name}(void *const *a);")
        loaded = ffi.dlopen(str(library))
        program = made.candidate.program
        sizes = [program.buffer(p).nbytes // 4 for p in made.candidate.function.parameters]
        arrays = [aligned_array(max(size, 1)) for size in sizes]
        pointers = ffi.new("void *[]", [ffi.cast("void *", a.ctypes.data) for a in arrays])
        with library.open("rb") as file:
            elf = ELFFile(file)
            dynamic, text = (elf.get_section_by_name(n) for n in (".dynsym", ".text"))
            (symbol,) = dynamic.get_symbol_by_name(name)
            start, size = int(text["sh_addr"]), int(text["sh_size"])
        run = ffi.addressof(loaded, name)
        place = int(ffi.cast("uintptr_t", run)) - int(symbol["st_value"]) + start
        counts = np.zeros(size, np.int64)
        getattr(loaded, name)(pointers)
        self._library.count_steps(
            self._ffi.cast("void (*)(void *const *)", int(ffi.cast("uintptr_t", run))),
            self._ffi.cast("void *const *", int(ffi.cast("uintptr_t", pointers))),
            place,
            size,
            self._ffi.cast("int64_t *", counts.ctypes.data),
        )
        return start, counts


def kernels(task: Task, directory: Path) -> list[Kernel]:
    """A workload's schedules, timed and estimated."""
    target = task.target
    made, model, counter = schedules(task), StaticModel(target), Counter(directory)
    library = build_library(made, target, find_toolchain(target), directory)
    code = model.disassemble(library)
    estimates = []
    for number, one in enumerate(made):
        start, counts = counter.executions(library, one, number)
        estimates.append(model.cost(basic_blocks(code, start, counts, width=1)).cycles)
    table = INTRINSICS[target.isa]
    probe = PeakProbe(target)
    peak = max(probe.sample() for _ in range(_ROUNDS))
    times = measure_candidates([m.candidate for m in made], target, table, rounds=_ROUNDS)
    peak = max(peak, *(probe.sample() for _ in range(_ROUNDS)))
    hertz = peak / (2 * target.lanes * target.fma_pipes)
    return [
        Kernel(str(dict(one.decisions)), estimate, seconds * hertz)
        for one, estimate, seconds in zip(made, estimates, times, strict=True)
    ]


def row(label: str, found: Sequence[Kernel]) -> list[str]:
    """A workload's line of the table."""
    estimated = np.array([kernel.estimated for kernel in found])
    measured = np.array([kernel.measured for kernel in found])
    ratios = measured / estimated
    order = np.argsort(estimated)
    regret = [measured[order[:n]].min() / measured.min() - 1 for n in (1, 3)]
    return [
        label,
        str(len(found)),
        f"{Quality.of(estimated, measured).spearman:.2f}",
        f"{statistics.median(ratios):.2f}",
        f"{ratios.min():.2f} to {ratios.max():.2f}",
        *(f"{value:.1%}" for value in regret),
    ]


HEADER = (
    *("workload", "schedules", "Spearman", "measured / estimated, median", "range"),
    *("first choice slower by", "best of three"),
)


@click.command()
@click.option("--core", default=0, help="The CPU to run on.")
def main(core: int) -> None:
    """Print how estimates and measured times agree."""
    pin(core)
    target = detect_host()
    rows, everything = [], []
    for label, graph in workloads():
        task = task_of(label, graph, target)
        with tempfile.TemporaryDirectory(prefix="ago-estimates-") as name:
            found = kernels(task, Path(name))
        rows.append(row(label, found))
        everything += found
        click.echo(f"{rows[-1]}", err=True)
    logs = [math.log(k.measured / k.estimated) for k in everything]
    overall = Quality.of(
        np.array([k.estimated for k in everything]), np.array([k.measured for k in everything])
    )
    click.echo(markdown_table(HEADER, rows))
    click.echo(
        f"All {len(everything)} kernels: Spearman {overall.spearman:.2f}, measured / estimated "
        f"{math.exp(statistics.mean(logs)):.2f} (geometric mean), "
        f"standard deviation of its logarithm {statistics.stdev(logs):.2f}."
    )


if __name__ == "__main__":
    main()
