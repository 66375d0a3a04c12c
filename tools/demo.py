"""A tour of AGO on one model: what goes in, what comes out, and what lies between.

    python -m tools.demo [MODEL.onnx]

Without a model it takes MobileNet-V2 with random weights. Every number printed is measured here and
now; nothing is written but AGO's cache.
"""

from __future__ import annotations

import math
import statistics
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.rule import Rule
from rich.syntax import Syntax

from ago.api import load_net
from ago.cli.console import bytes_text, progress_bar, working
from ago.errors import AgoError
from ago.frontend import load
from ago.ir.evaluate import evaluate
from ago.ir.graph import Graph
from ago.ir.value import loads
from ago.models import mobilenet_v2
from ago.options import Options
from ago.pipeline import Compilation, Kernel, compile_graph
from ago.runtime.build import build_cached
from ago.runtime.device import max_error, run_emulated
from ago.runtime.net import Net
from ago.runtime.verify import random_inputs
from ago.target import resolve_target
from ago.tune.machine import PeakProbe

DEVICE = "cortex-a76"
RUNS = 50
MAX_LINES = 26

_CONSOLE = Console(highlight=False)
if not _CONSOLE.is_terminal:
    _CONSOLE.width = 120


@click.command(help=__doc__.split("\n", maxsplit=1)[0])
@click.argument("model", required=False, type=click.Path(exists=True, dir_okay=False))
def main(model: str | None) -> None:
    """Show everything, in order."""
    try:
        graph = load(model) if model else mobilenet_v2()
        compilation, net = show_compilation(graph)
        show_inside(compilation)
        show_verification(net)
        show_time(compilation, net)
        show_device(graph)
        show_next_steps(model or graph.name)
    except AgoError as error:
        raise click.ClickException(str(error)) from error


def show_compilation(graph: Graph) -> tuple[Compilation, Net]:
    """Compile for this machine."""
    options = Options(resolve_target("host"))
    _section("Compile", f"AGO turns {graph.name} into C; a C compiler turns that into a library.")
    start = time.perf_counter()
    with progress_bar() as progress:
        compilation = compile_graph(graph, options, progress=progress)
        generated = time.perf_counter()
        net = load_net(graph, compilation, options, progress)
    built = time.perf_counter()
    artifact = compilation.artifact
    lines = sum(text.count("\n") for text in artifact.sources.values())
    _say(str(artifact))
    _say(f"{generated - start:.1f} s to {lines} lines of C, {built - generated:.1f} s to a library")
    return compilation, net


def show_inside(compilation: Compilation) -> None:
    """Show the partition, and one kernel as loops before and after scheduling, and as C."""
    _section("Partition", "The graph is cut into subgraphs; each becomes one C function.")
    _text(str(compilation.partition), "text", 12)
    kernel = pick_kernel(compilation.kernels)
    nodes = ", ".join(node.name for node in kernel.subgraph.nodes)
    _section("Loop nest", f"A subgraph starts as naive loops, which run as Python: {nodes}.")
    _text(_body(str(kernel.lowered.program)), "python")
    _section("Schedule", "Primitives tile, fuse and vectorise those loops; the result still runs.")
    _text(_body(str(kernel.scheduled)), "python")
    _section("C", f"Its innermost loop for this machine ({compilation.artifact.target.isa}).")
    _text(innermost_loop(kernel.function.text), "c")


def show_verification(net: Net) -> None:
    """Compare with the float64 reference."""
    _section("Verify", "Each step and the whole model are compared with a float64 reference.")
    with working("computing the reference"):
        report = net.verify()
    _say(str(report))


def show_time(compilation: Compilation, net: Net) -> None:
    """Time inferences in this process, on one thread, and the core's FMA peak between them."""
    _section("Time", f"{RUNS} inferences on one thread of this machine, as busy as it is now.")
    feeds = random_inputs(net.artifact.inputs, seed=0)
    probe = PeakProbe(resolve_target("host"))
    net.run(feeds)
    times, peaks = [], []
    for _ in range(RUNS):
        peaks.append(probe.sample())
        start = time.perf_counter()
        net.run(feeds)
        times.append(time.perf_counter() - start)
    macs = multiply_accumulates(compilation.kernels)
    share = statistics.median(2 * macs / t / peak for t, peak in zip(times, peaks, strict=True))
    median = statistics.median(times)
    _say(f"median {1e3 * median:.2f} ms, fastest {1e3 * min(times):.2f} ms")
    _say(
        f"{macs / 1e6:.0f} M multiply-accumulates: {2e-9 * macs / median:.1f} GFLOP/s, "
        f"{share:.0%} of this core's FMA peak as measured between the inferences"
    )


def show_device(graph: Graph) -> None:
    """Cross-compile, and run the library in an emulator."""
    options = Options(resolve_target(DEVICE))
    _section("Device", f"The same model for {DEVICE}, run in an emulator that counts instructions.")
    with progress_bar() as progress:
        artifact = compile_graph(graph, options, progress=progress).artifact
        library = build_cached(artifact, progress=progress)
    feeds = random_inputs(artifact.inputs, seed=0)
    with working("emulating, some seconds"):
        run = run_emulated(artifact, library, feeds)
    with working("computing the reference"):
        error = max_error(run.outputs, evaluate(graph, feeds))
    count = "not counted" if run.instructions is None else f"{run.instructions:,}"
    _say(
        f"library {bytes_text(library.stat().st_size)} of code, "
        f"weights {bytes_text(len(artifact.weights_image))}, "
        f"workspace {bytes_text(artifact.workspace_bytes)}"
    )
    _say(f"outputs within {error:.1e} of the reference's largest value; instructions: {count}")


def show_next_steps(model: str) -> None:
    """What to try next."""
    _section("Next", "The command line does each of these on its own; --help explains.")
    for command in (
        f"optimize {model} --target {DEVICE} -o build",
        f"show {model} --after c --step 3",
        f"run {model} --repeat 100",
    ):
        _say(f"  {Path(sys.executable).parent / 'ago'} {command}")


def pick_kernel(kernels: Sequence[Kernel]) -> Kernel:
    """A kernel worth reading: a short one that multiplies, accumulates and has an epilogue."""

    def key(kernel: Kernel) -> tuple[bool, bool, int]:
        plain = len(kernel.subgraph.nodes) == 1
        return multiply_accumulates([kernel]) == 0, plain, len(kernel.function.text)

    return min(kernels, key=key)


def multiply_accumulates(kernels: Sequence[Kernel]) -> int:
    """Multiply-accumulates of the model: iterations of the reductions over products."""
    return sum(
        math.prod(axis.extent for axis in stage.axes)
        for kernel in kernels
        for stage in kernel.lowered.program.stages
        if stage.reduce and sum(1 for _ in loads(stage.value)) > 1
    )


def innermost_loop(code: str) -> str:
    """The lines of the deepest loop of a C function; of several, the longest."""
    lines = code.splitlines()
    best = (0, 0, 0)
    for start, line in enumerate(lines):
        if line.lstrip().startswith("for ("):
            depth = len(line) - len(line.lstrip())
            closing = " " * depth + "}"
            end = next(i for i in range(start, len(lines)) if lines[i].startswith(closing))
            best = max(best, (depth, end - start, start))
    _, length, start = best
    return textwrap.dedent("\n".join(lines[start : start + length + 1]))


def _body(program: str) -> str:
    """A printed program without the comment that lists its buffers."""
    return "\n".join(line for line in program.splitlines() if not line.startswith("#"))


def _section(title: str, sentence: str) -> None:
    _CONSOLE.print()
    _CONSOLE.print(Rule(f"[bold]{title}", align="left"))
    _CONSOLE.print(sentence)


def _say(text: str) -> None:
    _CONSOLE.print(text, markup=False)


def _text(code: str, language: str, limit: int = MAX_LINES) -> None:
    """Print the first lines of some code, each cut at the window's edge."""
    lines = code.rstrip().splitlines()
    shown = Syntax("", language, theme="ansi_dark").highlight("\n".join(lines[:limit]))
    shown.rstrip()
    _CONSOLE.print(shown, no_wrap=True, overflow="ellipsis", crop=True)
    if len(lines) > limit:
        _CONSOLE.print(f"[dim]... and {len(lines) - limit} lines more")


if __name__ == "__main__":
    main()
