"""Time AGO on a device, beside the engines installed there.

    python tools/device_bench.py --runner ssh:pi --target cortex-a76 models/*.onnx --out pi.json

Compiles here, runs there. MODELS are ONNX files, or names of the networks in `ago.models`, which
have random weights and no peers; by default all seven. Peers run where the device has a `python3`
with ONNX Runtime or OpenVINO; else AGO is timed alone. Prints a table; all times are in the JSON.
"""

from __future__ import annotations

import contextlib
import json
import platform
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ago.errors import AgoError, DeviceError
from ago.frontend import load
from ago.ir.graph import Graph
from ago.models import MODELS
from ago.options import Options
from ago.pipeline import compile_graph
from ago.runtime.build import build
from ago.runtime.condition import Condition
from ago.runtime.devices import KINDS, open_device
from ago.runtime.transport import Finished, Transport
from ago.target import Target, resolve_target

_PEERS = Path(__file__).with_name("device_peers.py")
_SECONDS = 1800.0
_NETWORKS = [name for name in MODELS if name != "tiny_mobilenet"]


@dataclass(frozen=True, slots=True)
class Result:
    """One model on the device.

    Attributes:
        model: Its name.
        milliseconds: Of the fastest run in each round, by engine.
        missing: Why other engines were not timed.
        before: The device's clock and temperature.
        after: Likewise.
    """

    model: str
    milliseconds: dict[str, list[float]]
    missing: dict[str, str]
    before: Condition
    after: Condition

    @property
    def ratio(self) -> float | None:
        """AGO's time over the fastest peer's, the median round's; None without peers."""
        peers = [times for name, times in self.milliseconds.items() if name != "AGO"]
        if not peers:
            return None
        best = map(min, zip(*peers, strict=True))
        own = self.milliseconds["AGO"]
        return statistics.median(a / b for a, b in zip(own, best, strict=True))

    def to_dict(self) -> dict[str, object]:
        """The result as plain data."""
        return {
            "model": self.model,
            "milliseconds": self.milliseconds,
            "missing": self.missing,
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "throttled": self.after.slowed_since(self.before),
        }


def bench(model: str, device: Transport, target: Target, rounds: int, runs: int) -> Result:
    """Compile a model, push it, and time it.

    Args:
        model: An ONNX file, or the name of a network.
        device: Where it runs.
        target: The device's CPU.
        rounds: Turns of each engine.
        runs: Timed runs in a turn.

    Raises:
        AgoError: The model cannot be compiled, or the device cannot run it.
    """
    graph, path = _graph(model)
    artifact = compile_graph(graph, Options(target)).artifact
    with tempfile.TemporaryDirectory(prefix="ago-device-bench-") as name:
        directory = Path(name)
        program = build(artifact, "executable", directory / f"{artifact.name}_bench")
        files = {program.name: program, _PEERS.name: _script(directory, device)}
        if path is not None:
            files["model.onnx"] = path
        device.push(files)
        device.run([program.name, "--runs", str(runs)], _SECONDS)  # now its clock is up
        before = Condition.of(device)
        found = _times(device, program.name, path is not None, rounds, runs)
        after = Condition.of(device)
        device.remove(list(files))
    return Result(Path(model).stem, found["milliseconds"], found["missing"], before, after)


def _graph(model: str) -> tuple[Graph, Path | None]:
    if model in MODELS:
        return MODELS[model](), None
    return load(model), Path(model)


def _script(directory: Path, device: Transport) -> Path:
    """The script of the peers; on this machine for the Python that runs this."""
    text = _PEERS.read_text(encoding="utf-8")
    if device.name == (platform.node() or "localhost"):
        text = text.replace("#!/usr/bin/env python3", f"#!{sys.executable}", 1)
    copy = directory / _PEERS.name
    copy.write_text(text, encoding="utf-8")
    return copy


def _times(
    device: Transport, program: str, has_file: bool, rounds: int, runs: int
) -> dict[str, Any]:
    """What the script of the peers tells; where it cannot run, the times of AGO alone."""
    counts = ["--rounds", str(rounds), "--runs", str(runs)]
    file = ["--model", "model.onnx"] if has_file else []
    done = device.run([_PEERS.name, "--program", program, *file, *counts], _SECONDS)
    if done.code == 0:
        told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return told
    times = [_run_alone(device, program, runs) for _ in range(rounds)]
    return {"milliseconds": {"AGO": times}, "missing": {"peers": _why(done)}}


def _why(done: Finished) -> str:
    """Why the script of the peers failed, in a line."""
    said = done.stderr.strip().splitlines()
    return done.reason or (said[-1] if said else f"it ended with code {done.code}")


def _run_alone(device: Transport, program: str, runs: int) -> float:
    done = device.run([program, "--runs", str(runs), "--warmup", "2"], _SECONDS)
    if done.code != 0:
        raise DeviceError(f"{device.name}: {_why(done)}")
    return float(json.loads(done.stdout.strip().splitlines()[-1])["min_ms"])


def table(results: Sequence[Result]) -> str:
    """The results for people: the median round's milliseconds."""
    names = list(dict.fromkeys(name for result in results for name in result.milliseconds))
    lines = [
        f"| model | {' | '.join(f'{name}, ms' for name in names)} | AGO over fastest peer |",
        f"|---|{'---|' * (len(names) + 1)}",
    ]
    for result in results:
        cells = [
            f"{statistics.median(result.milliseconds[name]):.3f}"
            if name in result.milliseconds
            else ""
            for name in names
        ]
        ratio = "" if result.ratio is None else f"{result.ratio:.2f}"
        note = " (the clock fell)" if result.after.slowed_since(result.before) else ""
        lines.append(f"| {result.model}{note} | {' | '.join(cells)} | {ratio} |")
    return "\n".join(lines)


@click.command(help=__doc__.split("\n", maxsplit=1)[0])
@click.argument("models", nargs=-1)
@click.option("--runner", default="local", show_default=True, help=f"The device: {KINDS}.")
@click.option("--target", default="host", show_default=True, help="Its CPU; see `ago targets`.")
@click.option("--rounds", default=10, show_default=True, type=click.IntRange(min=1))
@click.option("--runs", default=5, show_default=True, type=click.IntRange(min=1))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="JSON of all times.")
def main(
    models: tuple[str, ...], runner: str, target: str, rounds: int, runs: int, out: Path | None
) -> None:
    """Time MODELS on a device (the command)."""
    results: list[Result] = []
    try:
        chosen = resolve_target(target)
        with contextlib.closing(open_device(runner)) as device:
            for model in models or _NETWORKS:
                results.append(bench(model, device, chosen, rounds, runs))
                click.echo(f"{results[-1].model}: {results[-1].after}", err=True)
            name = device.name
    except AgoError as error:
        raise click.ClickException(str(error)) from error
    click.echo(table(results))
    if out is not None:
        told = [result.to_dict() for result in results]
        out.write_text(json.dumps({"device": name, "target": target, "results": told}, indent=1))


if __name__ == "__main__":
    main()
