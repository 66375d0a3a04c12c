"""Whole models: AGO beside ONNX Runtime and OpenVINO in one run, and AArch64 instructions.

Read `compare` first. Engines take turns, the order rotating from round to round, so that a clock
that drifts or a neighbour on the machine hits all alike. In its turn an engine runs some times to
warm its caches and then some times on the clock, and the best of these is its time of the round.
What counts is the ratio to the round's fastest peer; its median over the rounds is reported. With
several threads AGO on one thread takes its turns, too: the ratio of both is the speed-up.

    python -m benchmarks.end_to_end MODEL.onnx ... [--threads N] [--rounds N] [--instructions]
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

import ago
from ago.errors import AgoError, DeviceError
from ago.frontend import load
from ago.options import Options
from ago.pipeline import compile_graph
from ago.runtime.artifact import TensorInfo
from ago.runtime.build import build
from ago.runtime.device import run_emulated
from ago.runtime.verify import random_inputs
from ago.target import TARGETS
from benchmarks.tables import markdown_table, pin
from benchmarks.workloads import workload_of

Array = npt.NDArray[np.float32]
Feeds = Mapping[str, Array]
Engine = Callable[[Feeds], list[Array]]

_ROUNDS = 15
_WARM_RUNS = 3
_TIMED_RUNS = 5
_INSTRUCTION_TARGET = "cortex-a76"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One engine on one model.

    Attributes:
        engine: Its name.
        times: Seconds of each round.
        median: Seconds of an inference, the median round's.
        fastest: Seconds of the fastest inference of all.
        ratio: Its time over that of the round's fastest peer (AGO is no peer); the median round's.
        error: Largest difference from ONNX Runtime's output over its largest absolute value.
    """

    engine: str
    times: tuple[float, ...]
    median: float
    fastest: float
    ratio: float
    error: float

    def cells(self) -> list[str]:
        """Its line in the table."""
        times = [f"{1e3 * self.median:.2f}", f"{1e3 * self.fastest:.2f}"]
        return [self.engine, *times, f"{self.ratio:.2f}", f"{self.error:.1e}"]


def start_ago(path: str, threads: int) -> Engine:
    """AGO with its default schedules."""
    net = ago.optimize(path, threads=threads)
    return lambda feeds: list(net.run(feeds).values())


def start_onnxruntime(path: str, threads: int) -> Engine:
    """ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, dict(feeds))


def start_openvino(path: str, threads: int) -> Engine:
    """OpenVINO in float32, one stream."""
    import openvino

    settings = {
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
    }
    request = openvino.Core().compile_model(path, "CPU", settings).create_infer_request()

    def run(feeds: Feeds) -> list[Array]:
        request.infer(dict(feeds))
        return [tensor.data for tensor in request.output_tensors]

    return run


AGO_ALONE = "AGO, one thread"

ENGINES: Mapping[str, Callable[[str, int], Engine]] = {
    "AGO": start_ago,
    "ONNX Runtime": start_onnxruntime,
    "OpenVINO": start_openvino,
}
"""How to start each engine on an ONNX file with some threads."""


def compare(path: str, threads: int = 1, rounds: int = _ROUNDS) -> list[Comparison]:
    """Time all engines on a model.

    Args:
        path: An ONNX file.
        threads: How many threads each engine uses.
        rounds: How often each has its turn.

    Raises:
        AgoError: AGO cannot compile it.
    """
    graph = load(path)
    types = {name: graph.type_of(name) for name in graph.inputs}
    feeds = random_inputs([TensorInfo(n, t.shape, t.dtype) for n, t in types.items()], 0)
    runs = {name: start(path, threads) for name, start in ENGINES.items()}
    if threads > 1:
        runs[AGO_ALONE] = start_ago(path, 1)
    expected = [np.array(a) for a in runs["ONNX Runtime"](feeds)]
    errors = {name: _error(run(feeds), expected) for name, run in runs.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    order = list(runs)
    for _ in range(rounds):
        order = [*order[1:], order[0]]
        for name in order:
            times[name].append(_turn(runs[name], feeds))
    peers = [times[name] for name in runs if name not in ("AGO", AGO_ALONE)]
    best = [min(peer[number] for peer in peers) for number in range(rounds)]
    return [
        Comparison(
            name,
            tuple(taken),
            statistics.median(taken),
            min(taken),
            statistics.median(t / b for t, b in zip(taken, best, strict=True)),
            errors[name],
        )
        for name, taken in times.items()
    ]


def _turn(run: Engine, feeds: Feeds) -> float:
    """The fastest of some runs, seconds, after some that do not count."""
    for _ in range(_WARM_RUNS):
        run(feeds)
    best = float("inf")
    for _ in range(_TIMED_RUNS):
        begin = time.perf_counter()
        run(feeds)
        best = min(best, time.perf_counter() - begin)
    return best


def _error(got: list[Array], expected: list[Array]) -> float:
    """Largest difference over largest absolute value, of the worst output."""
    return max(
        float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(got, expected, strict=True)
    )


def count_instructions(path: str, *, intensive_fusion: bool = True) -> tuple[int, int]:
    """AArch64 instructions of one inference, counted under emulation.

    Args:
        path: An ONNX file.
        intensive_fusion: Whether one loop nest may hold several convolutions or matrix products.

    Returns:
        The instructions, and the vector multiply-adds that the model cannot do without.

    Raises:
        AgoError: The model cannot be compiled, or the emulator is not there.
    """
    target = TARGETS[_INSTRUCTION_TARGET]
    compilation = compile_graph(load(path), Options(target, intensive_fusion=intensive_fusion))
    artifact = compilation.artifact
    feeds = random_inputs(artifact.inputs, 0)
    with tempfile.TemporaryDirectory(prefix="ago-bench-") as directory:
        library = build(artifact, "shared", Path(directory) / f"lib{artifact.name}.so")
        counted = run_emulated(artifact, library, feeds).instructions
    if counted is None:
        raise DeviceError("instructions are not counted: the counter needs a compiler of this host")
    kernels = [kernel for kernel in compilation.kernels if kernel.subgraph.complex_nodes]
    flop = sum(workload_of(compilation.graph, kernel).flop for kernel in kernels)
    return counted, flop // (2 * target.lanes)


def speed_up_text(rows: Sequence[Comparison]) -> str:
    """How much faster several threads are than one; an empty string where there is one."""
    by_name = {row.engine: row for row in rows}
    if AGO_ALONE not in by_name:
        return ""
    alone, together = by_name[AGO_ALONE], by_name["AGO"]
    rounds = sorted(a / b for a, b in zip(alone.times, together.times, strict=True))
    return (
        f"AGO is {alone.fastest / together.fastest:.2f} times as fast as on one thread by the "
        f"fastest inferences, {statistics.median(rounds):.2f} by the median round\n"
    )


def comparison_section(models: Sequence[str], threads: int = 1, rounds: int = _ROUNDS) -> str:
    """A table for each ONNX file.

    Args:
        models: Paths of ONNX files.
        threads: How many threads each engine uses.
        rounds: How often each has its turn.
    """
    parts = []
    for path in models:
        parts.append(f"### {Path(path).stem}\n")
        header = ["engine", "median, ms", "fastest, ms", "ratio to the fastest peer", "error"]
        try:
            rows = compare(path, threads, rounds)
            parts.append(markdown_table(header, [row.cells() for row in rows]))
            parts.append(speed_up_text(rows))
        except AgoError as error:
            parts.append(f"Skipped: {error}\n")
    return "\n".join(parts)


def instruction_section(models: Sequence[str]) -> str:
    """One table of all ONNX files: instructions beside the multiply-adds among them."""
    rows, skipped = [], []
    for path in models:
        name = Path(path).stem
        try:
            counted, floor = count_instructions(path)
        except AgoError as error:
            skipped.append(f"Skipped {name}: {error}\n")
            continue
        rows.append([name, f"{counted / 1e6:.1f}", f"{floor / 1e6:.1f}", f"{counted / floor:.2f}"])
    header = ["model", "instructions, M", "multiply-adds, M", "ratio"]
    return "\n".join([markdown_table(header, rows), *skipped])


@click.command()
@click.argument("models", nargs=-1, required=True)
@click.option("--instructions", is_flag=True, help="Count AArch64 instructions, too; slow.")
@click.option("--core", default=0, help="The CPU to run on, with one thread.")
@click.option("--threads", default=1, help="Threads of every engine; they may run on any CPU.")
@click.option("--rounds", default=_ROUNDS, help="How often each engine has its turn.")
def main(models: tuple[str, ...], instructions: bool, core: int, threads: int, rounds: int) -> None:
    """Time AGO beside other engines on MODELS, ONNX files."""
    if threads == 1:
        pin(core)
    click.echo(comparison_section(models, threads, rounds))
    if instructions:
        click.echo(instruction_section(models))


if __name__ == "__main__":
    main()
