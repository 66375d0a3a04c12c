"""Partitioners side by side: figures on models, and time on graphs of up to 10,000 operators.

python -m benchmarks.partition MODEL.onnx ...

writes the section "Partition" of `benchmarks/RESULTS.md`.
"""

from __future__ import annotations

import datetime
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

import click
import numpy as np

import ago
from ago.errors import UnsupportedError
from ago.partition import DEFAULT_THRESHOLD, DependencyGraph, Edge, Vertex
from ago.partition.cluster import cluster
from ago.partition.contraction import AFFIX_RULES, EXACT_RULES
from ago.partition.drawing import draw_partition
from ago.partition.relay import relay_groups
from ago.partition.report import COLUMNS, compare
from ago.runtime.net import Net
from benchmarks.structure import read_structure
from benchmarks.tables import RESULTS, markdown_table, pin, replace_section

L2_BYTES = 512 * 1024
SIZES = (10, 100, 1_000, 10_000)
THRESHOLDS = (20.0, 30.0, 35.0, 40.0, 45.0, 60.0, 80.0)

Partitioner = Callable[[DependencyGraph], list[int]]

PARTITIONERS: dict[str, Partitioner] = {
    "affix": lambda graph: cluster(graph, DEFAULT_THRESHOLD, AFFIX_RULES),
    "exact": lambda graph: cluster(graph, DEFAULT_THRESHOLD, EXACT_RULES),
    "relay": relay_groups,
}


def chain(count: int, rng: Random) -> DependencyGraph:
    """Operators one after another."""
    return _graph(count, [(n - 1, n) for n in range(1, count)], rng)


def residual(count: int, rng: Random) -> DependencyGraph:
    """Blocks of four with a skip over each."""
    skips = [(n - 4, n) for n in range(4, count, 4)]
    return _graph(count, [(n - 1, n) for n in range(1, count)] + skips, rng)


def branches(count: int, rng: Random) -> DependencyGraph:
    """Cells of ten: a split, four branches of two, a join."""
    edges = []
    for start in range(0, count - 9, 10):
        edges += [(start - 1, start)] if start else []
        for branch in range(1, 9, 2):
            edges += [(start, start + branch), (start + branch, start + branch + 1)]
            edges.append((start + branch + 1, start + 9))
    return _graph(count, edges, rng)


def near(count: int, rng: Random) -> DependencyGraph:
    """Each operator reads one to three of the sixteen before it."""
    edges = {
        (rng.randrange(max(0, n - 16), n), n)
        for n in range(1, count)
        for _ in range(rng.randint(1, 3))
    }
    return _graph(count, sorted(edges), rng)


def far(count: int, rng: Random) -> DependencyGraph:
    """Each operator reads one or two of any before it."""
    edges = {(rng.randrange(n), n) for n in range(1, count) for _ in range(rng.randint(1, 2))}
    return _graph(count, sorted(edges), rng)


FAMILIES = (chain, residual, branches, near, far)


def _graph(count: int, edges: Sequence[tuple[int, int]], rng: Random) -> DependencyGraph:
    """Operators of which every third is complex."""
    vertices = tuple(
        Vertex(f"n{n}", "Op", "complex", rng.uniform(6.0, 10.0), 4)
        if n % 3 == 0
        else Vertex(f"n{n}", "Op", "elementwise", 1.0, 4)
        for n in range(count)
    )
    return DependencyGraph(
        vertices, tuple(Edge(a, b, f"n{a}", rng.randint(1, 9)) for a, b in edges)
    )


def model_table(models: Sequence[str]) -> str:
    """The three partitioners' figures on each model."""
    rows = []
    for model in models:
        for figures in compare(read_structure(model), DEFAULT_THRESHOLD, L2_BYTES):
            rows.append((f"`{Path(model).stem}`", *figures.row()))
    header = ("model", *COLUMNS)
    return markdown_table(header, rows)


def threshold_table(models: Sequence[str]) -> str:
    """What affix gives for several thresholds: subgraphs, most complex operators, Jain's index."""
    structures = {Path(model).stem: read_structure(model) for model in models}
    rows = []
    for name, graph in structures.items():
        cells = []
        for threshold in THRESHOLDS:
            found = compare(graph, threshold, L2_BYTES)[0]
            cells.append(
                f"{len(found.weights)} / {max(found.complex_operators)} / {found.jain:.2f}"
            )
        rows.append((f"`{name}`", *cells))
    return markdown_table(("model", *(f"T = {t:g}" for t in THRESHOLDS)), rows)


def end_to_end_table(models: Sequence[str], rounds: int = 15) -> str:
    """Time of one inference, affix beside relay, of the models that compile."""
    rows = []
    for model in models:
        try:
            nets = {name: ago.optimize(model, partitioner=name) for name in ("affix", "relay")}
        except UnsupportedError:
            continue
        ratio = _ratios(nets, "relay", rounds)["affix"]
        sizes = [f"{net.artifact.workspace_bytes / 2**20:.2f}" for net in nets.values()]
        steps = [str(len(net.artifact.steps)) for net in nets.values()]
        rows.append((f"`{Path(model).stem}`", f"{ratio:.3f}", *steps, *sizes))
    header = ("model", "time, affix / relay", "functions, affix", "relay", "MiB, affix", "relay")
    return markdown_table(header, rows)


def threshold_time_table(models: Sequence[str], rounds: int = 15) -> str:
    """Time of one inference with affix, over that with relay, for several thresholds."""
    rows = []
    for model in models:
        try:
            nets = {"relay": ago.optimize(model, partitioner="relay")}
        except UnsupportedError:
            continue
        for threshold in THRESHOLDS:
            nets[f"{threshold:g}"] = ago.optimize(
                model, partitioner="affix", weight_threshold=threshold
            )
        ratios = _ratios(nets, "relay", rounds)
        cells = [f"{ratios[f'{threshold:g}']:.3f}" for threshold in THRESHOLDS]
        rows.append((f"`{Path(model).stem}`", *cells))
    return markdown_table(("model", *(f"T = {t:g}" for t in THRESHOLDS)), rows)


def _ratios(nets: Mapping[str, Net], base: str, rounds: int) -> dict[str, float]:
    """Each model's time over that of `base`: the median over rounds, whose order alternates."""
    times: dict[str, list[float]] = {name: [] for name in nets}
    for number in range(rounds):
        for name in list(nets)[:: 1 if number % 2 else -1]:
            times[name].append(_inference_seconds(nets[name]))
    return {
        name: statistics.median(a / b for a, b in zip(found, times[base], strict=True))
        for name, found in times.items()
    }


def _inference_seconds(net: Net) -> float:
    """The fastest of five calls, after three to warm the caches."""
    rng = np.random.default_rng(0)
    feeds = [rng.standard_normal(i.shape, np.float32) for i in net.artifact.inputs]
    best = math.inf
    for call in range(8):
        start = time.perf_counter()
        net(*feeds)
        if call >= 3:
            best = min(best, time.perf_counter() - start)
    return best


def time_table() -> str:
    """Seconds of each partitioner by family and size, with the exponent of growth from 100 on."""
    rows = []
    for family in FAMILIES:
        for name, partition in PARTITIONERS.items():
            times = [_seconds(partition, family(size, Random(0))) for size in SIZES]
            exponent = math.log(times[-1] / times[1]) / math.log(SIZES[-1] / SIZES[1])
            cells = [f"{1e3 * seconds:.2f}" for seconds in times]
            rows.append((family.__name__, name, *cells, f"{exponent:.2f}"))
    return markdown_table(("graph", "partitioner", *(f"{s:,}" for s in SIZES), "exponent"), rows)


def _seconds(partition: Partitioner, graph: DependencyGraph) -> float:
    """CPU time of the fastest of a few runs."""
    best = math.inf
    for _ in range(3):
        start = time.process_time()
        partition(graph)
        best = min(best, time.process_time() - start)
    return best


def draw_models(models: Sequence[str], folder: Path) -> None:
    """Draw the affix partition of each model's structure."""
    folder.mkdir(parents=True, exist_ok=True)
    for model in models:
        graph, name = read_structure(model), Path(model).stem
        groups = PARTITIONERS["affix"](graph)
        title = f"{name}, affix: {len(set(groups))} subgraphs"
        (folder / f"{name}.svg").write_text(draw_partition(graph, groups, title), "utf-8")


def partition_section(models: Sequence[str], host: str) -> str:
    """All tables, with the words they need."""
    date = datetime.datetime.now(tz=datetime.UTC).date()
    return f"""\
{date}, {host}.

Weights are expected draws of random schedules until a good one comes
(`ago/cost_model/operator_weight.json`). A subgraph is trivial if it weighs less than 5 % of the
mean; large cuts are tensors over {L2_BYTES // 1024} KiB between subgraphs that together would have
kept the threshold. The graphs are read from the files' structure, batch norm folded. Relay has few
trivial subgraphs in networks of convolutions and activations alone, since there every other
operator follows a convolution.

### Models, threshold {DEFAULT_THRESHOLD:g}

{model_table(models)}
### The threshold: subgraphs / most complex operators in one / Jain's index, affix

{threshold_table(models)}
The default, {DEFAULT_THRESHOLD:g}, lies in the middle of the range in which each block of
mobilenet_v2 and mnasnet1_0 (expand, depthwise, project) and of squeezenet1_1 (squeeze, two expands)
is one subgraph, which is where Jain's index peaks: the unit in which intermediate tensors can stay
in the cache.

### One inference, this machine, one thread

The ratio is the median over rounds that alternate; MiB is the workspace.

{end_to_end_table(models)}
### The threshold: time of one inference over that with relay

{threshold_time_table(models)}
The default lies where the times are lowest and flat: smaller thresholds cut blocks apart, so that
their intermediate tensors go through memory; larger ones make long functions that gain nothing.

### CPU time, ms, by number of operators

The exponent is that of growth from 100 to 10,000 operators.

{time_table()}"""


@click.command()
@click.argument("models", nargs=-1, required=True)
@click.option("--core", default=0, help="The CPU to run on.")
@click.option("--host", default="this machine", help="What the machine is.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=RESULTS)
@click.option(
    "--draw",
    type=click.Path(file_okay=False, path_type=Path),
    help="Only draw each model's affix partition, an SVG file a model, into this folder.",
)
def main(models: tuple[str, ...], core: int, host: str, out: Path, draw: Path | None) -> None:
    """Compare partitioners on MODELS (ONNX files) and on generated graphs."""
    if draw is not None:
        draw_models(models, draw)
        return
    pin(core)
    section = partition_section(models, host)
    text = out.read_text(encoding="utf-8") if out.exists() else ""
    out.write_text(replace_section(text, "Partition", section), encoding="utf-8")
    click.echo(section)


if __name__ == "__main__":
    main()
