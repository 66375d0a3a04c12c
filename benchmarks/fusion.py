"""Fusion on and off, side by side: pairs of operators, blocks of networks, whole networks.

Read `Ratio` and `compare_steps` first. Both ways take turns on the same core, each warmed by a call
of its own; a ratio is the median over rounds, with the interval that holds the true median in 95 of
100 runs.

    python -m benchmarks.fusion MODEL.onnx ... [--instructions]

writes the section "Fusion" of `benchmarks/RESULTS.md`.
"""

from __future__ import annotations

import datetime
import functools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from ago.errors import AgoError
from ago.frontend import GraphBuilder, Value, load
from ago.ir.graph import Graph
from ago.options import Options
from ago.partition import Partition, find_partitioner
from ago.partition.partition import make_partition
from ago.pipeline import Compilation, compile_graph
from ago.target import TARGETS, Target, resolve_target
from ago.tune.machine import batch_size
from benchmarks.end_to_end import count_instructions
from benchmarks.steps import Model
from benchmarks.tables import RESULTS, markdown_table, pin, replace_section

_ROUNDS = 15
_INFERENCES = 6
_BATCH_SECONDS = 4e-4
_SIZES = ((56, 32), (28, 96), (14, 384))
_BATCHES = (1, 4)

_HEADER = ("fused / unfused", "95 % of", "fused, µs", "unfused, µs", "plan")


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


def paired(fused: Callable[[], float], apart: Callable[[], float]) -> Ratio:
    """Time two ways by turns.

    Args:
        fused: Seconds of one way.
        apart: Seconds of the other.
    """
    samples = {"fused": fused, "apart": apart}
    times: dict[str, list[float]] = {name: [] for name in samples}
    for number in range(_ROUNDS):
        for name in list(samples)[:: 1 if number % 2 else -1]:
            times[name].append(samples[name]())
    ratios = sorted(a / b for a, b in zip(times["fused"], times["apart"], strict=True))
    reach = round(0.98 * len(ratios) ** 0.5)  # the binomial interval of a median
    middle = len(ratios) // 2
    return Ratio(
        ratios[middle],
        ratios[middle - reach],
        ratios[middle + reach],
        statistics.median(times["fused"]),
        statistics.median(times["apart"]),
    )


def step_sample(model: Model, step: int) -> Callable[[], float]:
    """Seconds of a step: the best of three batches after a call that warms the caches."""
    times = batch_size(functools.partial(model.repeat, step), _BATCH_SECONDS)
    return lambda: min(model.sample(step, times) for _ in range(3))


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


def conv(b: GraphBuilder, x: Value, kernel: int, filters: int, *, depthwise: bool = False) -> Value:
    """A convolution with a clamp, weights that keep its results near one."""
    channels = x.shape[1]
    per_group = 1 if depthwise else channels
    rng = np.random.default_rng(filters)
    weight = rng.standard_normal((filters, per_group, kernel, kernel)) / (kernel * per_group**0.5)
    group = channels if depthwise else 1
    return b.relu6(b.conv(x, weight.astype(np.float32), pads=kernel // 2, group=group))


def pointwise(b: GraphBuilder, x: Value) -> Value:
    """1x1, as many channels as it reads."""
    return conv(b, x, 1, x.shape[1])


def depthwise(b: GraphBuilder, x: Value) -> Value:
    """Depthwise 3x3."""
    return conv(b, x, 3, x.shape[1], depthwise=True)


def general(b: GraphBuilder, x: Value) -> Value:
    """3x3."""
    return conv(b, x, 3, x.shape[1])


Layer = Callable[[GraphBuilder, Value], Value]

PAIRS: dict[str, tuple[Layer, Layer]] = {
    "depthwise → pointwise": (depthwise, pointwise),
    "pointwise → depthwise": (pointwise, depthwise),
    "pointwise → pointwise": (pointwise, pointwise),
    "depthwise → depthwise": (depthwise, depthwise),
    "3x3 → 3x3": (general, general),
    "3x3 → pointwise": (general, pointwise),
}


def pair_graphs() -> Iterator[tuple[str, Graph]]:
    """The paper's pairs, between steps that change the layout of what they read and write."""
    for name, layers in PAIRS.items():
        for size, channels in _SIZES:
            for batch in _BATCHES:
                b = GraphBuilder("pair")
                y = b.relu(b.input("x", (batch, channels, size, size)))
                for layer in layers:
                    y = layer(b, y)
                yield f"{name}, {channels} at {size}x{size}, batch {batch}", b.build(b.relu(y))


def product_graphs() -> Iterator[tuple[str, Graph]]:
    """Two matrix products one after the other."""
    for rows, inner, middle in ((196, 64, 256), (784, 96, 384), (3136, 32, 128)):
        b = GraphBuilder("products")
        rng = np.random.default_rng(0)
        x = b.input("x", (rows, inner))
        first, second = (
            rng.standard_normal(shape).astype(np.float32)
            for shape in ((inner, middle), (middle, inner))
        )
        y = b.matmul(b.relu(b.matmul(x, first)), second)
        yield f"matmul → matmul, {rows}x{inner}x{middle}x{inner}", b.build(y)


def middle_together(graph: Graph) -> Partition:
    """One subgraph of all nodes but the first and the last; of all if it begins with a product."""
    complex_first = graph.nodes[0].op in ("MatMul", "Gemm")
    ends = set() if complex_first else {graph.nodes[0].name, graph.nodes[-1].name}
    names = [node.name for node in graph.nodes]
    return make_partition(graph, {n: i if n in ends else -1 for i, n in enumerate(names)})


def compile_both(
    graph: Graph, target: Target, partitioner: Callable[[Graph], Partition]
) -> tuple[Compilation, Compilation]:
    """A graph with fusion and without."""
    fused, apart = (
        compile_graph(graph, Options(target, intensive_fusion=on), partitioner)
        for on in (True, False)
    )
    return fused, apart


def compare_steps(
    both: tuple[Compilation, Compilation], count: int = 2
) -> list[tuple[str, list[str]]]:
    """Time each distinct step that holds several convolutions or matrix products.

    Args:
        both: The model with fusion and without.
        count: Fewest convolutions and matrix products of a step.

    Returns:
        Label and cells of each.
    """
    fused, apart = (Model(compilation) for compilation in both)
    other = {str(k.subgraph.outputs): n for n, k in enumerate(both[1].kernels)}
    rows = []
    for step in fused.distinct_steps():
        kernel = both[0].kernels[step]
        if len(kernel.subgraph.complex_nodes) < count:
            continue
        partner = other[str(kernel.subgraph.outputs)]
        ratio = paired(step_sample(fused, step), step_sample(apart, partner))
        plan = str(kernel.fusion.taken.plan)
        rows.append((_label(both[0].graph, step, both[0]), [*ratio.cells(), plan]))
    return rows


def _label(graph: Graph, step: int, compilation: Compilation) -> str:
    """The shapes that run through a step: rows x columns, channels of each convolution."""
    subgraph = compilation.kernels[step].subgraph
    first = graph.type_of(subgraph.inputs[0]).shape
    channels = [first[1], *(node.type.shape[1] for node in subgraph.complex_nodes)]
    kernels = [graph.params[node.inputs[1]].shape[-1] for node in subgraph.complex_nodes]
    size = "x".join(map(str, first[2:])) or str(first[0])
    return f"{size}, {'→'.join(map(str, channels))}, kernels {'-'.join(map(str, kernels))}"


def pair_table(target: Target) -> str:
    """All pairs and products."""
    rows = []
    for name, graph in (*pair_graphs(), *product_graphs()):
        for _, cells in compare_steps(compile_both(graph, target, middle_together)):
            rows.append([name, *cells])
    return markdown_table(("pair", *_HEADER), rows)


def block_table(models: Sequence[str], target: Target) -> str:
    """Every block of the models: inverted residuals, fire modules."""
    rows = []
    for path in models:
        both = compile_both(load(path), target, find_partitioner("affix"))
        rows += [[Path(path).stem, label, *cells] for label, cells in compare_steps(both)]
    return markdown_table(("model", "block", *_HEADER), rows)


def network_table(models: Sequence[str], target: Target, sizes: Sequence[int]) -> str:
    """Whole networks at several sizes: affix with fusion over affix without, and over relay."""
    rows = []
    for path in models:
        for size in sizes:
            graph = load(path)
            if size != 224:
                (name,) = graph.inputs
                graph = load(path, shapes={name: (1, 3, size, size)})
            try:
                on, off = compile_both(graph, target, find_partitioner("affix"))
                relay = compile_graph(graph, Options(target), find_partitioner("relay"))
            except AgoError as error:
                rows.append([Path(path).stem, str(size), f"skipped: {str(error)[:60]}", *[""] * 5])
                continue
            runs = [network_sample(Model(c)) for c in (on, off, relay)]
            against = [paired(runs[0], run) for run in runs[1:]]
            space = [f"{c.artifact.workspace_bytes / 2**20:.2f}" for c in (on, off)]
            cells = [f"{r.median:.3f} ({r.low:.3f} to {r.high:.3f})" for r in against]
            rows.append(
                [Path(path).stem, str(size), *cells, f"{1e3 * against[0].fused:.2f}", *space]
            )
    header = ("model", "size", "on / off, affix", "on / relay", "on, ms", "MiB, on", "MiB, off")
    return markdown_table(header, rows)


def instruction_table(models: Sequence[str]) -> str:
    """AArch64 instructions of one inference with fusion and without."""
    rows = []
    for path in models:
        counts = [count_instructions(path, intensive_fusion=on)[0] for on in (True, False)]
        cells = [f"{count / 1e6:.1f}" for count in counts]
        rows.append([Path(path).stem, *cells, f"{counts[0] / counts[1]:.3f}"])
    return markdown_table(("model", "fused, M", "unfused, M", "ratio"), rows)


def fusion_section(models: Sequence[str], host: str, *, instructions: bool) -> str:
    """All tables, with the words they need."""
    date = datetime.datetime.now(tz=datetime.UTC).date()
    target = resolve_target("host")
    parts = [
        f"{date}, {host}. `intensive_fusion` on over off, everything else equal; below 1",
        "fusion is faster. Rounds by turns on one core; `plan` is the default one: what is",
        "computed where, rings after the colons.\n",
        f"### Pairs\n\n{pair_table(target)}",
        f"### Blocks of networks\n\n{block_table(models, target)}",
        f"### Whole networks\n\n{network_table(models, target, (224, 112, 56))}",
        f"### Whole networks, x86-64-v3\n\n{network_table(models, TARGETS['x86-64-v3'], (224,))}",
    ]
    if instructions:
        parts.append(f"### AArch64 instructions, cortex-a76\n\n{instruction_table(models)}")
    return "\n".join(parts)


@click.command()
@click.argument("models", nargs=-1, required=True)
@click.option("--core", default=0, help="The CPU to run on.")
@click.option("--host", default="this machine", help="What the machine is.")
@click.option("--instructions", is_flag=True, help="Count AArch64 instructions, too; slow.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=RESULTS)
def main(models: tuple[str, ...], core: int, host: str, instructions: bool, out: Path) -> None:
    """Time fusion on MODELS (ONNX files) and on pairs of operators."""
    pin(core)
    section = fusion_section(models, host, instructions=instructions)
    text = out.read_text(encoding="utf-8") if out.exists() else ""
    out.write_text(replace_section(text, "Fusion", section), encoding="utf-8")
    click.echo(section)


if __name__ == "__main__":
    main()
