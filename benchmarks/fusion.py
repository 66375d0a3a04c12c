"""Fusion on and off, side by side: pairs of operators, blocks of networks, whole networks.

Read `Ratio` and `compare` first. Both ways take turns on the same core, each warmed by a call of
its own; a ratio is the median over rounds, with the interval that holds the true median in 95 of
100 runs. Where both ways are the same code nothing is timed.

    python -m benchmarks.fusion MODEL.onnx ... [--quick] [--journal FILE]

writes the section "Fusion" of `benchmarks/RESULTS.md`. With a journal, a run that was stopped goes
on where it was.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from ago.errors import AgoError
from ago.frontend import load
from ago.ir.graph import Graph
from ago.options import Options
from ago.partition import Partition, find_partitioner
from ago.pipeline import Compilation, compile_graph
from ago.target import TARGETS, Target, resolve_target
from ago.tune.machine import batch_size
from benchmarks.end_to_end import count_instructions
from benchmarks.fusion_cases import CASES, middle_together
from benchmarks.steps import Model
from benchmarks.tables import RESULTS, markdown_table, pin, replace_section

_ROUNDS = 15
_QUICK_ROUNDS = 5
_INFERENCES = 4
_BATCH_SECONDS = 4e-4
_LONG_SECONDS = 5e-3
_SIZES = (224, 112, 56)

_HEADER = ("fused / unfused", "95 % of", "fused, µs", "unfused, µs", "plan")
_SAME = ("1", "same code", "", "")


@dataclass(frozen=True, slots=True)
class Ratio:
    """Time with fusion over time without.

    Attributes:
        median: Of the rounds' ratios.
        low: Lower end of the median's 95 % interval.
        high: Upper end.
        fused: Seconds with fusion, the median round's.
        apart: Seconds without.
    """

    median: float
    low: float
    high: float
    fused: float
    apart: float

    def cells(self) -> list[str]:
        """Its part of a line."""
        interval = f"{self.low:.3f} to {self.high:.3f}"
        times = [f"{1e6 * self.fused:.1f}", f"{1e6 * self.apart:.1f}"]
        return [f"{self.median:.3f}", interval, *times]


@dataclass(slots=True)
class Journal:
    """The lines of tables that were measured, by what they are of; kept in a file if there is one.

    Attributes:
        path: JSON lines, one a line of a table; None keeps nothing.
        rounds: Of each measurement.
        known: What the file held, and what was added.
    """

    path: Path | None
    rounds: int
    known: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            lines = self.path.read_text(encoding="utf-8").splitlines()
            self.known.update(tuple(json.loads(line)) for line in lines)

    def line(self, key: str, measure: Callable[[], list[str]]) -> list[str]:
        """The cells of a line: as they were measured, or measured now."""
        if key not in self.known:
            self.known[key] = measure()
            click.echo(f"{key}: {' '.join(self.known[key][:2])}", err=True)
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([key, self.known[key]]) + "\n")
        return self.known[key]


def paired(fused: Callable[[], float], apart: Callable[[], float], rounds: int) -> Ratio:
    """Time two ways by turns.

    Args:
        fused: Seconds of one way.
        apart: Seconds of the other.
        rounds: How often each.
    """
    samples = {"fused": fused, "apart": apart}
    times: dict[str, list[float]] = {name: [] for name in samples}
    for number in range(rounds):
        for name in list(samples)[:: 1 if number % 2 else -1]:
            times[name].append(samples[name]())
    ratios = sorted(a / b for a, b in zip(times["fused"], times["apart"], strict=True))
    middle = len(ratios) // 2
    reach = min(round(0.98 * len(ratios) ** 0.5), middle)  # the binomial interval of a median
    return Ratio(
        ratios[middle],
        ratios[middle - reach],
        ratios[middle + reach],
        statistics.median(times["fused"]),
        statistics.median(times["apart"]),
    )


def step_sample(model: Model, step: int) -> Callable[[], float]:
    """Seconds of a step: the best of some batches, each after a call that warms the caches."""
    times = batch_size(functools.partial(model.repeat, step), _BATCH_SECONDS)
    batches = 3 if model.sample(step, times) < _LONG_SECONDS else 1
    return lambda: min(model.sample(step, times) for _ in range(batches))


def network_sample(model: Model) -> Callable[[], float]:
    """Seconds of all steps in order: of each the best of some inferences, added up.

    So a neighbour that takes the core for a while costs one step of one inference.
    """
    steps = range(len(model.compilation.kernels))

    def sample() -> float:
        best = [float("inf")] * len(steps)
        for _ in range(_INFERENCES):
            for step in steps:
                begin = time.perf_counter()
                model.repeat(step, 1)
                best[step] = min(best[step], time.perf_counter() - begin)
        return sum(best)

    return sample


class Both:
    """A graph with fusion and without; compiled by the C compiler once something is timed.

    Args:
        graph: The graph.
        target: This machine's target.
        partitioner: Cuts the graph into subgraphs.
    """

    def __init__(
        self, graph: Graph, target: Target, partitioner: Callable[[Graph], Partition]
    ) -> None:
        self.fused, self.apart = (
            compile_graph(graph, Options(target, intensive_fusion=on), partitioner)
            for on in (True, False)
        )

    @functools.cached_property
    def models(self) -> tuple[Model, Model]:
        """Both, loaded for timing."""
        return Model(self.fused), Model(self.apart)

    def step_pairs(self) -> Iterator[tuple[int, int]]:
        """Each distinct step of several convolutions or matrix products, fused and apart."""
        other = {str(k.subgraph.outputs): n for n, k in enumerate(self.apart.kernels)}
        seen = set()
        for step, kernel in enumerate(self.fused.kernels):
            new = kernel.function.key not in seen and len(kernel.subgraph.complex_nodes) > 1
            seen.add(kernel.function.key)
            if new:
                yield step, other[str(kernel.subgraph.outputs)]


def compare(both: Both, steps: tuple[int, int], key: str, journal: Journal) -> list[str]:
    """Time a step that holds several convolutions or matrix products, both ways.

    Args:
        both: The graph.
        steps: The step, fused and apart.
        key: What is measured.
        journal: Knows what was measured already.

    Returns:
        The cells of its line.
    """
    kernel, other = both.fused.kernels[steps[0]], both.apart.kernels[steps[1]]
    plan = str(kernel.fusion.taken.plan)
    if kernel.function.key == other.function.key:
        return [*_SAME, plan]

    def measure() -> list[str]:
        fused, apart = (step_sample(m, s) for m, s in zip(both.models, steps, strict=True))
        return [*paired(fused, apart, journal.rounds).cells(), plan]

    return journal.line(f"{key} {_digest([kernel.function.key, other.function.key])}", measure)


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _label(compilation: Compilation, step: int) -> str:
    """The shapes that run through a step: rows x columns, channels of each convolution."""
    subgraph, graph = compilation.kernels[step].subgraph, compilation.graph
    first = graph.type_of(subgraph.inputs[0]).shape
    channels = [first[1], *(node.type.shape[1] for node in subgraph.complex_nodes)]
    kernels = [graph.params[node.inputs[1]].shape[-1] for node in subgraph.complex_nodes]
    size = "x".join(map(str, first[2:])) or str(first[0])
    return f"{size}, {'→'.join(map(str, channels))}, kernels {'-'.join(map(str, kernels))}"


def case_table(kind: str, target: Target, journal: Journal) -> str:
    """All graphs of a kind."""
    rows = []
    for name, graph in CASES[kind]():
        both = Both(graph, target, middle_together)
        rows += [[name, *compare(both, s, name, journal)] for s in both.step_pairs()]
    return markdown_table(("subgraph", *_HEADER), rows)


def block_table(models: Sequence[str], target: Target, journal: Journal) -> str:
    """Every block of the models as the partition cuts them: inverted residuals above all."""
    rows = []
    for path in models:
        name = Path(path).stem
        both = Both(load(path), target, find_partitioner("affix"))
        for steps in both.step_pairs():
            label = _label(both.fused, steps[0])
            rows.append([name, label, *compare(both, steps, f"{name} {label}", journal)])
    return markdown_table(("model", "block", *_HEADER), rows)


def network_table(
    models: Sequence[str], target: Target, sizes: Sequence[int], journal: Journal
) -> str:
    """Whole networks: affix with fusion over affix without, over relay with and without."""
    rows = []
    for path in models:
        for size in sizes:
            try:
                cells = _network_line(path, size, target, journal)
            except AgoError as error:
                cells = [f"skipped: {str(error)[:60]}", *[""] * 5]
            rows.append([Path(path).stem, str(size), *cells])
    header = ("model", "size", "on / off, affix", "affix / relay, on", "on / off, relay")
    return markdown_table((*header, "affix on, ms", "MiB, on", "MiB, off"), rows)


def _network_line(path: str, size: int, target: Target, journal: Journal) -> list[str]:
    graph = load(path)
    (name,) = graph.inputs
    if graph.type_of(name).shape[-1] != size:
        graph = load(path, shapes={name: (1, 3, size, size)})
    affix, relay = (Both(graph, target, find_partitioner(p)) for p in ("affix", "relay"))
    compiled = (affix.fused, affix.apart, relay.fused, relay.apart)
    codes = [_digest([k.function.key for k in c.kernels]) for c in compiled]

    def measure() -> list[str]:
        runs = [network_sample(Model(c)) for c in compiled[:3]]
        against = [paired(runs[0], run, journal.rounds) for run in runs[1:]]
        cells = [f"{r.median:.3f} ({r.low:.3f} to {r.high:.3f})" for r in against]
        if codes[2] == codes[3]:
            cells.append("same code")
        else:
            ratio = paired(runs[2], network_sample(Model(relay.apart)), journal.rounds)
            cells.append(f"{ratio.median:.3f} ({ratio.low:.3f} to {ratio.high:.3f})")
        space = [f"{c.artifact.workspace_bytes / 2**20:.2f}" for c in compiled[:2]]
        return [*cells, f"{1e3 * against[0].fused:.2f}", *space]

    key = f"{Path(path).stem} at {size} for {target.name} {_digest(codes)}"
    return journal.line(key, measure)


def instruction_table(models: Sequence[str], journal: Journal) -> str:
    """AArch64 instructions of one inference with fusion and without."""

    def measure(path: str) -> list[str]:
        counts = [count_instructions(path, intensive_fusion=on)[0] for on in (True, False)]
        return [*(f"{count / 1e6:.1f}" for count in counts), f"{counts[0] / counts[1]:.3f}"]

    rows = []
    for path in models:
        name = Path(path).stem
        cells = journal.line(f"{name} instructions", functools.partial(measure, path))
        rows.append([name, *cells])
    return markdown_table(("model", "fused, M", "unfused, M", "ratio"), rows)


def fusion_section(models: Sequence[str], host: str, journal: Journal, *, quick: bool) -> str:
    """All tables, with the words they need."""
    date = datetime.datetime.now(tz=datetime.UTC).date()
    target, level = resolve_target("host"), TARGETS["x86-64-v3"]
    parts = [
        f"{date}, {host}. `intensive_fusion` on over off, everything else equal; below 1",
        f"fusion is faster. {journal.rounds} rounds by turns on one core; `plan` is the default",
        "one: what is computed where, rings after the colons. `same code`: fusion was refused, or",
        "not worth it. `MiB` is the workspace.\n",
    ]
    parts += [f"### {kind.capitalize()}\n\n{case_table(kind, target, journal)}" for kind in CASES]
    parts.append(f"### Blocks of networks\n\n{block_table(models, target, journal)}")
    sizes = _SIZES[:1] if quick else _SIZES
    parts.append(f"### Whole networks\n\n{network_table(models, target, sizes, journal)}")
    if not quick:
        whole = network_table(models, level, _SIZES[:1], journal)
        parts.append(f"### Whole networks, x86-64-v3\n\n{whole}")
        counts = instruction_table(models, journal)
        parts.append(f"### AArch64 instructions, cortex-a76\n\n{counts}")
    return "\n".join(parts)


@click.command()
@click.argument("models", nargs=-1, required=True)
@click.option("--core", default=0, help="The CPU to run on.")
@click.option("--host", default="this machine", help="What the machine is.")
@click.option("--quick", is_flag=True, help="Few rounds, one size of networks, no instructions.")
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keeps what is measured; a run that was stopped goes on from it.",
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=RESULTS)
def main(
    models: tuple[str, ...], core: int, host: str, quick: bool, journal: Path | None, out: Path
) -> None:
    """Time fusion on MODELS (ONNX files) and on pairs of operators."""
    pin(core)
    notes = Journal(journal, _QUICK_ROUNDS if quick else _ROUNDS)
    section = fusion_section(models, host, notes, quick=quick)
    text = out.read_text(encoding="utf-8") if out.exists() else ""
    out.write_text(replace_section(text, "Fusion", section), encoding="utf-8")
    click.echo(section)


if __name__ == "__main__":
    main()
