"""`ago export`: a model as a folder of C that builds on its own.

Read `export_command` first.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import click

from ago.cli.arguments import Request, model_options
from ago.cli.console import bytes_text, print_facts, print_json, progress_bar
from ago.cli.group import examples
from ago.pipeline import compile_graph
from ago.runtime.export import WeightsForm, export_artifact


@click.command(
    "export",
    short_help="Write a folder of C that builds without AGO.",
    epilog=examples(
        ("ago export model.onnx --target cortex-a76 --out build/", "then: make -C build"),
        ("ago export model.onnx --out build/ --weights array", "weights as a C array"),
        ("ago export model.onnx --out build/ --threads 4", "runs that threads share"),
    ),
)
@model_options
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder; created if missing.",
)
@click.option(
    "--weights",
    type=click.Choice(get_args(WeightsForm)),
    default="file",
    show_default=True,
    help="A file to map, the same file included by the assembler, or a C array.",
)
@click.option("--threads", type=int, default=1, show_default=True, help="That may share a run.")
def export_command(request: Request, out: Path, weights: WeightsForm, threads: int) -> None:
    """Write MODEL as C with a header, a Makefile, a CMake file and an example program.

    MODEL is an ONNX file or the name of a built-in network. The C needs no libc, no library and no
    Python; the same model, target and options give the same bytes.
    """
    options = replace(request.options, threads=threads)
    graph = request.load()
    with progress_bar() as progress:
        artifact = compile_graph(graph, options, progress=progress).artifact
    exported = export_artifact(artifact, out, weights=weights)
    if request.json:
        print_json(
            {
                "model": artifact.name,
                "target": artifact.target.name,
                "directory": str(exported.directory),
                "files": list(exported.files),
                "bytes": exported.nbytes,
                "weights_bytes": len(artifact.weights_image),
                "workspace_bytes": artifact.workspace_bytes,
            }
        )
        return
    print_facts(
        {
            "model": f"{artifact.name} for {artifact.target.name}",
            "written": f"{exported.directory}: {len(exported.files)} files, "
            f"{bytes_text(exported.nbytes)}",
            "weights": f"{bytes_text(len(artifact.weights_image))}, as {weights}",
            "workspace": bytes_text(artifact.workspace_bytes),
            "next": f"make -C {exported.directory}",
        }
    )
