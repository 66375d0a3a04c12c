"""Build a model for a device: a libc-free library with its header, and a static benchmark program.

    python tools/cross_build.py model.onnx --target cortex-a76 --out build/device --run emulated
    python tools/cross_build.py model.onnx --os android --kind so --out build/android

Writes to the directory: `libNAME.so`, `libNAME.a`, `NAME_bench` as `--kind` says, beside them what
is needed to use them, `NAME.h`, `ago_runtime.h` and `NAME.weights`, and the C that they were made
of in `src/`, which builds by itself. The last line printed is one JSON object.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

import click
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.status import Status

from ago.errors import AgoError, InputError
from ago.frontend import load
from ago.ir.evaluate import evaluate
from ago.ir.graph import Graph
from ago.options import Options
from ago.pipeline import compile_graph
from ago.progress import Progress
from ago.runtime.artifact import Artifact
from ago.runtime.build import BinaryKind, build_kinds, library_suffix
from ago.runtime.cross import Family, find_cross_toolchain
from ago.runtime.device import DeviceRun, max_error, run_emulated, run_program
from ago.runtime.devices import KINDS as DEVICES
from ago.runtime.devices import open_device
from ago.runtime.export import export_artifact
from ago.runtime.platforms import System, host_system
from ago.runtime.toolchain import Toolchain
from ago.runtime.verify import random_inputs
from ago.target import resolve_target, runs_on_host

Feeds = Mapping[str, npt.NDArray[np.float32]]


Kind = Literal["exe", "so", "a", "source"]

KINDS: tuple[Kind, ...] = get_args(Kind)

_BINARIES: Mapping[Kind, BinaryKind] = {"exe": "executable", "so": "shared", "a": "static"}


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be built.

    Attributes:
        kinds: Of binaries; the sources are always written.
        toolchain: Who compiles, and for which system.
        out: Directory for all of it.
    """

    kinds: Sequence[Kind]
    toolchain: Toolchain
    out: Path

    def path(self, name: str, kind: Kind) -> Path:
        """Where a binary of a model goes."""
        match kind:
            case "so":
                return self.out / f"lib{name}{library_suffix(self.toolchain.system)}"
            case "a":
                return self.out / f"lib{name}.a"
            case "exe":
                return self.out / f"{name}_bench"
            case "source":
                return self.out / "src"


@dataclass(frozen=True, slots=True)
class Report:
    """The JSON object printed at the end; sizes are in bytes.

    Attributes:
        model: C identifier of the model.
        target: CPU it was built for.
        system: Operating system it was built for.
        compiler: First line of the compiler's version.
        library: Path of the shared library; None if there is none.
        archive: Path of the static library; None if there is none.
        program: Path of the benchmark program; None if there is none.
        sources: Directory of the C, with its Makefile.
        binary_bytes: Size of the shared library, which holds the code without the weights.
        archive_bytes: Size of the static library, without the weights.
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
    system: str
    compiler: str
    library: str | None
    archive: str | None
    program: str | None
    sources: str
    binary_bytes: int | None
    archive_bytes: int | None
    program_bytes: int | None
    weights_bytes: int
    workspace_bytes: int
    run: str | None
    max_err: float | None
    instructions: int | None


def build_binaries(artifact: Artifact, order: Order, progress: Progress) -> dict[Kind, Path]:
    """Build what was ordered into a directory, with everything needed to use it."""
    sources, out = order.out / "src", order.out
    export_artifact(artifact, sources)
    for file_name in (f"{artifact.name}.h", "ago_runtime.h", f"{artifact.name}.weights"):
        if (sources / file_name).exists():
            shutil.copyfile(sources / file_name, out / file_name)
    paths = {kind: order.path(artifact.name, kind) for kind in order.kinds}
    outs = {_BINARIES[kind]: path for kind, path in paths.items() if kind in _BINARIES}
    if outs:
        build_kinds(artifact, outs, order.toolchain, progress=progress)
    return paths


def shown_in(status: Status) -> Progress:
    """Progress as the text of a spinner."""

    def show(doing: str, done: int, total: int) -> None:
        status.update(f"{doing}: {done} of {total}")

    return show


def run_binaries(
    artifact: Artifact, binaries: Mapping[Kind, Path], how: str, feeds: Feeds, console: Console
) -> DeviceRun:
    """Run the library in the emulator, or the program on a device; `qemu` only where it must."""
    if how == "emulated":
        with console.status("emulating") as status:

            def show(instructions: int) -> None:
                status.update(f"emulating: {instructions / 1e6:.0f} M instructions")

            return run_emulated(artifact, binaries["so"], feeds, show)
    native = how == "qemu" and runs_on_host(artifact.target)
    with (
        console.status("running the program"),
        contextlib.closing(open_device("local" if native else how)) as device,
    ):
        return run_program(artifact, binaries["exe"], feeds, device)


def deploy(
    artifact: Artifact, graph: Graph, order: Order, how: str | None, seed: int, console: Console
) -> Report:
    """Build, run and compare with the reference.

    Args:
        artifact: The compiled model.
        graph: What it was compiled from, in the model's own names.
        order: What is built.
        how: `"emulated"`, a device as `open_device` names it, or None to build alone.
        seed: Of the random inputs.
        console: Where progress is shown.

    Raises:
        InputError: What would be run is not among what is built.
    """
    wanted: Kind = "so" if how == "emulated" else "exe"
    if how is not None and wanted not in order.kinds:
        raise InputError(f"--run {how} runs what --kind {wanted} builds")
    with console.status("compiling C") as status:
        binaries = build_binaries(artifact, order, shown_in(status))
    run, error = None, None
    if how is not None:
        feeds = random_inputs(artifact.inputs, seed)
        run = run_binaries(artifact, binaries, how, feeds, console)
        with console.status("computing the reference"):
            error = max_error(run.outputs, evaluate(graph, feeds))
    paths = {kind: str(path) for kind, path in binaries.items()}
    sizes = {kind: path.stat().st_size for kind, path in binaries.items()}
    return Report(
        model=artifact.name,
        target=artifact.target.name,
        system=order.toolchain.system or host_system(),
        compiler=order.toolchain.version,
        library=paths.get("so"),
        archive=paths.get("a"),
        program=paths.get("exe"),
        sources=str(order.out / "src"),
        binary_bytes=sizes.get("so"),
        archive_bytes=sizes.get("a"),
        program_bytes=sizes.get("exe"),
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
    built = (
        (report.library, report.binary_bytes, f"bytes of code for {report.target}"),
        (report.archive, report.archive_bytes, "bytes of code to link"),
        (report.program, report.program_bytes, "bytes, weights inside"),
    )
    lines = [f"{path}: {size:,} {what}" for path, size, what in built if path]
    lines += [
        f"{report.sources}: C, make builds it",
        f"workspace {report.workspace_bytes:,} bytes, weights {report.weights_bytes:,} bytes",
        f"for {report.system}, by {report.compiler}",
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
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    default=("so", "exe"),
    show_default=True,
    help="What to build: benchmark program, shared or static library, or the C alone.",
)
@click.option(
    "--os",
    "system",
    type=click.Choice(get_args(System)),
    default="linux",
    show_default=True,
    help="What it will run on.",
)
@click.option(
    "--compiler",
    type=click.Choice(get_args(Family)),
    help="clang from PATH, pip's ziglang, or the Android NDK's clang.  [default: what is found]",
)
@click.option("--run", "how", metavar="DEVICE", help=f"Run it and compare: emulated, {DEVICES}.")
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
    kinds: tuple[Kind, ...],
    system: System,
    compiler: Family | None,
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
        toolchain = find_cross_toolchain(options.target, system, compiler)
        with console.status("reading the model") as status:
            graph = load(model, shapes=parse_shapes(shapes))
            artifact = compile_graph(graph, options, progress=shown_in(status)).artifact
        order = Order(tuple(dict.fromkeys(kinds)), toolchain, out)
        report = deploy(artifact, graph, order, how, seed, console)
    except AgoError as error:
        raise click.ClickException(str(error)) from error
    if not only_json:
        click.echo(describe(report))
    click.echo(json.dumps(asdict(report)))


if __name__ == "__main__":
    main()
