"""`ago optimize`: compile a model and say what came out.

Read `Summary` first.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from ago.cli.arguments import Request, model_options
from ago.cli.console import bytes_text, print_facts, print_json, progress_bar
from ago.cli.group import examples
from ago.pipeline import Compilation, compile_graph
from ago.runtime.artifact import Artifact, TensorInfo
from ago.runtime.build import build_cached
from ago.runtime.toolchain import find_toolchain


@dataclass(frozen=True, slots=True)
class Summary:
    """What a compilation produced; sizes in bytes, times in seconds.

    Attributes:
        model: C identifier of the model.
        target: CPU it was compiled for.
        compiler: First line of the C compiler's version.
        inputs: Shape by name.
        outputs: Shape by name.
        dtypes: Element type of each input and output, by name.
        operators: Operators left after all graph passes.
        subgraphs: Of the partition.
        steps: One readable label a C function that a run calls, in order.
        library_bytes: Size of the shared library, which holds the code without the weights.
        weights_bytes: Size of the weights.
        workspace_bytes: Scratch memory of one inference.
        generate_seconds: From the file to C.
        compile_seconds: From C to the library; near zero if it was in the cache.
        files: What was written to the output directory.
    """

    model: str
    target: str
    compiler: str
    inputs: dict[str, list[int]]
    outputs: dict[str, list[int]]
    dtypes: dict[str, str]
    operators: int
    subgraphs: int
    steps: list[str]
    library_bytes: int
    weights_bytes: int
    workspace_bytes: int
    generate_seconds: float
    compile_seconds: float
    files: list[str]


@click.command(
    "optimize",
    short_help="Compile a model; write C, header, weights, library.",
    epilog=examples(
        ("ago optimize model.onnx", "for this machine"),
        ("ago optimize model.onnx --target cortex-a76 -o build/", "for a board"),
        ("ago optimize model.onnx --dim batch=1 --json", "for a script"),
    ),
)
@model_options
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for the C files, the header, the weights and the shared library.",
)
def optimize_command(request: Request, out: Path | None) -> None:
    """Compile MODEL and say what came out.

    MODEL is an ONNX file, or the name of a built-in network with random weights, such as
    mobilenet_v2 or bert_tiny. Without -o the compiled library stays in the cache, where `ago run`
    finds it.
    """
    start = time.perf_counter()
    graph = request.load()
    with progress_bar() as progress:
        compilation = compile_graph(graph, request.options, progress=progress, known=request.known)
        generated = time.perf_counter()
        library = build_cached(compilation.artifact, progress=progress)
    seconds = (generated - start, time.perf_counter() - generated)
    files = write_files(compilation.artifact, library, out) if out else []
    summary = _summarise(compilation, library, seconds, files)
    if request.json:
        print_json(asdict(summary))
    else:
        print_facts(_facts(summary))


def write_files(artifact: Artifact, library: Path, out: Path) -> list[Path]:
    """Write everything that using a compiled model needs.

    Args:
        artifact: The model.
        library: Its compiled library.
        out: Directory; created if missing.

    Returns:
        The files: sources, headers, weights, library.
    """
    artifact.write(out)
    target = out / f"lib{library.name}"
    shutil.copyfile(library, target)
    return sorted(path for path in out.iterdir() if path.is_file())


def _summarise(
    compilation: Compilation, library: Path, seconds: tuple[float, float], files: list[Path]
) -> Summary:
    artifact = compilation.artifact
    return Summary(
        model=artifact.name,
        target=artifact.target.name,
        compiler=find_toolchain(artifact.target).version,
        inputs=_shapes(artifact.inputs),
        outputs=_shapes(artifact.outputs),
        dtypes={info.name: info.dtype for info in (*artifact.inputs, *artifact.outputs)},
        operators=len(compilation.graph.nodes),
        subgraphs=len(compilation.partition.subgraphs),
        steps=list(artifact.steps),
        library_bytes=library.stat().st_size,
        weights_bytes=len(artifact.weights_image),
        workspace_bytes=artifact.workspace_bytes,
        generate_seconds=round(seconds[0], 3),
        compile_seconds=round(seconds[1], 3),
        files=[str(path) for path in files],
    )


def _shapes(infos: tuple[TensorInfo, ...]) -> dict[str, list[int]]:
    return {info.name: list(info.shape) for info in infos}


def _tensors(shapes: dict[str, list[int]], dtypes: dict[str, str]) -> str:
    return ", ".join(f"{name} {dtypes[name]}{shape}" for name, shape in shapes.items())


def _facts(summary: Summary) -> dict[str, str]:
    """The summary for a person."""
    facts = {
        "model": f"{summary.model} for {summary.target}",
        "inputs": _tensors(summary.inputs, summary.dtypes),
        "outputs": _tensors(summary.outputs, summary.dtypes),
        "subgraphs": f"{summary.subgraphs} of {summary.operators} operators",
        "library": f"{bytes_text(summary.library_bytes)}, by {summary.compiler}",
        "weights": bytes_text(summary.weights_bytes),
        "workspace": bytes_text(summary.workspace_bytes),
        "time": f"{summary.generate_seconds:.1f} s to C, {summary.compile_seconds:.1f} s in the "
        "C compiler",
    }
    if summary.files:
        names = ", ".join(Path(file).name for file in summary.files)
        facts["written"] = f"{Path(summary.files[0]).parent}: {names}"
    return facts
