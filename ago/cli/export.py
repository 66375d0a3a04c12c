"""`ago export`: a model as a folder of C that builds on its own.

Read `export_command` first.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import get_args

import click

from ago.cli.arguments import Request, model_options
from ago.cli.console import bytes_text, print_facts, print_json, progress_bar
from ago.cli.group import examples
from ago.footprint import memory_figures
from ago.pipeline import compile_graph
from ago.runtime.artifact import Artifact
from ago.runtime.build import code_sizes
from ago.runtime.export import WeightsForm, cross_arguments, export_artifact
from ago.runtime.memory import MemoryReport
from ago.target import host_arch


@click.command(
    "export",
    short_help="Write a folder of C that builds without AGO.",
    epilog=examples(
        ("ago export model.onnx --target cortex-a76 --out build/", "prints how to make it here"),
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
@click.option("--name", help="What C names begin with; by default the model's own name.")
@click.option(
    "--memory", is_flag=True, help="Also report code, weights and workspace of each step."
)
@click.option("--overwrite", is_flag=True, help="Replace files that AGO did not write.")
def export_command(
    request: Request,
    out: Path,
    weights: WeightsForm,
    name: str | None,
    memory: bool,
    overwrite: bool,
) -> None:
    """Write MODEL as C with a header, a Makefile, a CMake file and an example program.

    MODEL is an ONNX file or the name of a built-in network. The C needs no libc, no library and no
    Python; the same model, target and options give the same bytes. --memory compiles the C, and
    adds memory.txt, memory.json and memory.html.
    """
    graph = request.load()
    graph = graph if name is None else replace(graph, name=name)
    with progress_bar() as progress:
        compilation = compile_graph(graph, request.options, progress=progress, known=request.known)
        artifact = compilation.artifact
        code = code_sizes(artifact, progress=progress) if memory else None
    report = MemoryReport.of(artifact, memory_figures(compilation), code) if memory else None
    exported = export_artifact(
        artifact, out, weights=weights, reports=_reports(report), overwrite=overwrite
    )
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
                **({} if report is None else {"memory": report.to_dict()}),
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
            "next": _next_command(artifact, out),
        }
    )
    if report is not None:
        click.echo(f"\n{report}")


def _next_command(artifact: Artifact, out: Path) -> str:
    """What builds the folder on this machine, for a shell."""
    native = artifact.target.arch in ("any", host_arch())
    return shlex.join(["make", "-C", str(out), *(() if native else cross_arguments(artifact))])


def _reports(report: MemoryReport | None) -> dict[str, str]:
    """The report's files, by name."""
    if report is None:
        return {}
    return {
        "memory.txt": f"{report}\n",
        "memory.json": json.dumps(report.to_dict(), indent=1) + "\n",
        "memory.html": report.to_html(),
    }
