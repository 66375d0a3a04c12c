"""Build a model for a device: a libc-free library with its header, and a static benchmark program.

    python tools/cross_build.py model.onnx --target cortex-a76 --out build/device --run emulated

Writes to the directory: `libNAME.so`, `NAME.h`, `ago_runtime.h`, `NAME.weights`, `NAME_bench` and
the C sources in `src/`. The last line printed is one JSON object.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.status import Status

from ago.errors import AgoError
from ago.frontend import load
from ago.ir.evaluate import evaluate
from ago.ir.graph import Graph
from ago.options import Options
from ago.pipeline import compile_graph
from ago.progress import Progress
from ago.runtime.artifact import Artifact
from ago.runtime.build import BinaryKind, build_kinds
from ago.runtime.device import DeviceRun, max_error, run_emulated, run_program
from ago.runtime.devices import KINDS, open_device
from ago.runtime.toolchain import find_toolchain
from ago.runtime.verify import random_inputs
from ago.target import resolve_target, runs_on_host

Feeds = Mapping[str, npt.NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Binaries:
    """What was built for the device.

    Attributes:
        library: Shared library that exports the functions of `NAME.h`.
        program: Static benchmark program with the weights inside.
    """

    library: Path
    program: Path


@dataclass(frozen=True, slots=True)
class Report:
    """The JSON object printed at the end; sizes are in bytes.

    Attributes:
        model: C identifier of the model.
        target: CPU it was built for.
        compiler: First line of the compiler's version.
        library: Path of the shared library.
        program: Path of the benchmark program.
        binary_bytes: Size of the library, which holds the code without the weights.
        program_bytes: Size of the program, weights included.
        weights_bytes: Size of the weights.
        workspace_bytes: Scratch memory an inference needs.
        run: How it was run, or None.
        max_err: Largest absolute difference from the float64 reference over the largest absolute
            value of the output; None if it was not run.
        instructions: Executed by one inference; None where not counted.
    """

    model: str
    target: str
    compiler: str
    library: str
    program: str
    binary_bytes: int
    program_bytes: int
    weights_bytes: int
    workspace_bytes: int
    run: str | None
    max_err: float | None
    instructions: int | None


def build_binaries(artifact: Artifact, out: Path, progress: Progress) -> Binaries:
    """Build library and program into a directory, with everything needed to use them."""
    sources = out / "src"
    artifact.write(sources)
    weights = f"{artifact.name}.weights"
    (sources / weights).replace(out / weights)
    for header in (f"{artifact.name}.h", "ago_runtime.h"):
        shutil.copyfile(sources / header, out / header)
    binaries = Binaries(out / f"lib{artifact.name}.so", out / f"{artifact.name}_bench")
    outs: dict[BinaryKind, Path] = {"shared": binaries.library, "executable": binaries.program}
    build_kinds(artifact, outs, progress=progress)
    return binaries


def shown_in(status: Status) -> Progress:
    """Progress as the text of a spinner."""

    def show(doing: str, done: int, total: int) -> None:
        status.update(f"{doing}: {done} of {total}")

    return show


def run_binaries(
    artifact: Artifact, binaries: Binaries, how: str, feeds: Feeds, console: Console
) -> DeviceRun:
    """Run the library in the emulator, or the program on a device; `qemu` only where it must."""
    if how == "emulated":
        with console.status("emulating") as status:

            def show(instructions: int) -> None:
                status.update(f"emulating: {instructions / 1e6:.0f} M instructions")

            return run_emulated(artifact, binaries.library, feeds, show)
    native = how == "qemu" and runs_on_host(artifact.target)
    with (
        console.status("running the program"),
        contextlib.closing(open_device("local" if native else how)) as device,
    ):
        return run_program(artifact, binaries.program, feeds, device)


def deploy(
    artifact: Artifact, graph: Graph, out: Path, how: str | None, seed: int, console: Console
) -> Report:
    """Build, run and compare with the reference.

    Args:
        artifact: The compiled model.
        graph: What it was compiled from, in the model's own names.
        out: Directory for the binaries.
        how: `"emulated"`, a device as `open_device` names it, or None to build alone.
        seed: Of the random inputs.
        console: Where progress is shown.
    """
    with console.status("compiling C") as status:
        binaries = build_binaries(artifact, out, shown_in(status))
    run, error = None, None
    if how is not None:
        feeds = random_inputs(artifact.inputs, seed)
        run = run_binaries(artifact, binaries, how, feeds, console)
        with console.status("computing the reference"):
            error = max_error(run.outputs, evaluate(graph, feeds))
    return Report(
        model=artifact.name,
        target=artifact.target.name,
        compiler=find_toolchain(artifact.target).version,
        library=str(binaries.library),
        program=str(binaries.program),
        binary_bytes=binaries.library.stat().st_size,
        program_bytes=binaries.program.stat().st_size,
        weights_bytes=len(artifact.weights_image),
        workspace_bytes=artifact.workspace_bytes,
        run=how,
        max_err=error,
        instructions=run.instructions if run else None,
    )


def parse_shapes(texts: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """Read `("input=2,3,112,112",)` as `{"input": (2, 3, 112, 112)}`."""
    shapes = {}
    for text in texts:
        name, _, sizes = text.rpartition("=")
        try:
            shapes[name] = tuple(int(size) for size in sizes.split(","))
        except ValueError as error:
            raise click.BadParameter(f"{text!r} is not of the form NAME=2,3,112,112") from error
        if not name:
            raise click.BadParameter(f"{text!r} names no input: write NAME=2,3,112,112")
    return shapes


def describe(report: Report) -> str:
    """The report for a person."""
    lines = [
        f"{report.library}: {report.binary_bytes:,} bytes of code for {report.target}",
        f"{report.program}: {report.program_bytes:,} bytes, weights inside",
        f"workspace {report.workspace_bytes:,} bytes, weights {report.weights_bytes:,} bytes",
    ]
    if report.max_err is not None:
        lines.append(f"{report.run}: within {report.max_err:.2g} of the float64 reference")
    if report.instructions is not None:
        lines.append(f"{report.instructions:,} instructions an inference")
    return "\n".join(lines)


@click.command(help=__doc__.split("\n", maxsplit=1)[0])
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--target", default="cortex-a76", show_default=True, help="CPU; see `ago targets`.")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--run", "how", metavar="DEVICE", help=f"Run it and compare: emulated, {KINDS}.")
@click.option("--shape", "shapes", multiple=True, help="NAME=2,3,112,112 replaces a static shape.")
@click.option(
    "--no-intensive-fusion",
    "intensive_fusion",
    default=True,
    flag_value=False,
    help="Keep every convolution and matrix product in a loop nest of its own.",
)
@click.option("--seed", default=0, show_default=True, help="Of the random inputs.")
@click.option("--json", "only_json", is_flag=True, help="Print the JSON line alone.")
def main(
    model: Path,
    target: str,
    out: Path,
    how: str | None,
    shapes: tuple[str, ...],
    intensive_fusion: bool,
    seed: int,
    only_json: bool,
) -> None:
    """Build MODEL for a device (the command)."""
    console = Console(stderr=True)
    try:
        options = Options(resolve_target(target), intensive_fusion=intensive_fusion)
        with console.status("reading the model") as status:
            graph = load(model, shapes=parse_shapes(shapes))
            artifact = compile_graph(graph, options, progress=shown_in(status)).artifact
        report = deploy(artifact, graph, out, how, seed, console)
    except AgoError as error:
        raise click.ClickException(str(error)) from error
    if not only_json:
        click.echo(describe(report))
    click.echo(json.dumps(asdict(report)))


if __name__ == "__main__":
    main()
