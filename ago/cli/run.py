"""`ago run`: run a model on this machine, and time it.

Read `run_command` first.
"""

from __future__ import annotations

import statistics
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from ago.cli.arguments import Request, model_options, parse_pairs
from ago.cli.console import print_facts, print_json
from ago.cli.group import examples
from ago.errors import InputError
from ago.ir.tensor import dtype_name
from ago.runtime.net import Net
from ago.runtime.verify import random_inputs

Arrays = Mapping[str, npt.NDArray[Any]]


def _input_files(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, Path]:
    """Read `image=cat.npy` as `{"image": Path("cat.npy")}`."""
    files = {name: Path(file) for name, file in parse_pairs(texts, "image=cat.npy").items()}
    for file in files.values():
        if not file.is_file():
            raise click.BadParameter(f"there is no file {str(file)!r}")
    return files


@click.command(
    "run",
    short_help="Run a model on this machine, and time it.",
    epilog=examples(
        ("ago run model.onnx", "once, on random inputs"),
        ("ago run model.onnx --input image=cat.npy --output scores.npz", "on your own"),
        ("ago run mobilenet_v2 --repeat 100", "time a built-in network"),
    ),
)
@model_options
@click.option(
    "--input",
    "inputs",
    multiple=True,
    callback=_input_files,
    metavar="NAME=FILE.npy",
    help="An array for an input, of its type; random numbers where none is given.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the outputs, as numpy's .npz.",
)
@click.option(
    "--repeat", default=1, show_default=True, type=click.IntRange(min=1), help="Runs to time."
)
@click.option("--seed", default=0, show_default=True, help="Of the random inputs.")
def run_command(
    request: Request,
    inputs: dict[str, Path],
    output: Path | None,
    repeat: int,
    seed: int,
) -> None:
    """Compile MODEL for this machine (or take it from the cache), run it, print its outputs."""
    graph = request.load()
    net = request.open(graph)
    feeds = _feeds(net, inputs, seed)
    outputs = net.run(feeds)
    times = [_milliseconds(net, feeds) for _ in range(repeat)]
    if output is not None:
        write_npz(output, outputs)
    if request.json:
        print_json(_as_data(net, outputs, times, output))
    else:
        print_facts(_facts(outputs, times, output))


def write_npz(path: Path, arrays: Arrays) -> None:
    """Write arrays under any names; `numpy.savez` refuses a few, such as "file"."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array)


def _feeds(net: Net, files: Mapping[str, Path], seed: int) -> dict[str, npt.NDArray[Any]]:
    feeds = random_inputs(net.artifact.inputs, seed)
    for name, path in files.items():
        try:
            feeds[name] = np.load(path, allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise InputError(f"{path} is not a numpy array (.npy): {error}") from error
    return feeds


def _milliseconds(net: Net, feeds: Arrays) -> float:
    start = time.perf_counter()
    net.run(feeds)
    return 1e3 * (time.perf_counter() - start)


def _as_data(
    net: Net, outputs: Arrays, times: list[float], output: Path | None
) -> dict[str, object]:
    return {
        "model": net.artifact.name,
        "target": net.artifact.target.name,
        "runs": len(times),
        "median_ms": round(statistics.median(times), 4),
        "min_ms": round(min(times), 4),
        "outputs": {
            name: {
                "shape": list(array.shape),
                "dtype": dtype_name(array.dtype),
                "min": float(array.min()),
                "max": float(array.max()),
                "mean": float(array.mean()),
            }
            for name, array in outputs.items()
        },
        "written": None if output is None else str(output),
    }


def _facts(outputs: Arrays, times: list[float], output: Path | None) -> dict[str, str]:
    facts = {name: _array_text(array) for name, array in outputs.items()}
    facts["time"] = f"{statistics.median(times):.3f} ms (median of {len(times)}), "
    facts["time"] += f"{min(times):.3f} ms (fastest)"
    if output is not None:
        facts["written"] = str(output)
    return facts


def _array_text(array: npt.NDArray[Any]) -> str:
    low, high, mean = (float(number) for number in (array.min(), array.max(), array.mean()))
    kind = f"{dtype_name(array.dtype)}{list(array.shape)}"
    return f"{kind}  min {low:.6g}  max {high:.6g}  mean {mean:.6g}"
