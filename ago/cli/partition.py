"""`ago partition`: how a model is cut into subgraphs, and how else it could be.

Read `partition_command` first.
"""

from __future__ import annotations

from pathlib import Path

import click

from ago.cli.arguments import Request, model_options
from ago.cli.console import print_json
from ago.cli.group import examples
from ago.partition import (
    DEFAULT_PARTITIONER,
    DEFAULT_THRESHOLD,
    PARTITIONERS,
    dependency_graph,
    find_partitioner,
    summarise,
)
from ago.partition.drawing import draw_partition
from ago.partition.summary import group_numbers
from ago.pipeline import run_passes


@click.command(
    "partition",
    short_help="Show how a model is cut into subgraphs.",
    epilog=examples(
        ("ago partition model.onnx", "subgraphs, and three partitioners side by side"),
        ("ago partition model.onnx --svg model.svg", "also draw the graph, subgraphs coloured"),
    ),
)
@model_options
@click.option(
    "--partitioner",
    type=click.Choice(list(PARTITIONERS)),
    default=DEFAULT_PARTITIONER,
    show_default=True,
    help="affix: any structure, nearly linear time. exact: likewise, with a search for every "
    "pair. relay: at most one convolution or matrix product a subgraph.",
)
@click.option(
    "--weight-threshold",
    type=click.FloatRange(min=0),
    help="Most weight of a subgraph for affix and exact, in expected draws of random schedules "
    f"(default {DEFAULT_THRESHOLD:g}).",
)
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Draw to this file.")
def partition_command(
    request: Request, partitioner: str, weight_threshold: float | None, svg: Path | None
) -> None:
    """Show the subgraphs of MODEL with their weights, and figures of all partitioners."""
    cut = find_partitioner(partitioner, weight_threshold)
    target = request.options.target
    graph = run_passes(request.load(), target)
    summary = summarise(graph, cut(graph), target.l2_bytes)
    if svg is not None:
        numbers = group_numbers(summary.partition)
        groups = [numbers[node.name] for node in graph.nodes]
        title = f"{graph.name}, {partitioner}: {len(summary.partition.subgraphs)} subgraphs"
        svg.write_text(draw_partition(dependency_graph(graph), groups, title), encoding="utf-8")
    if request.json:
        print_json(summary.to_dict())
        return
    click.echo(str(summary))
    if svg is not None:
        click.echo(f"wrote {svg}")
