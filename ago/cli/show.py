"""`ago show`: what a model looks like after each stage of the compiler.

Read `show_command` first. Whole-graph stages print one text; the others one text a step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import click

from ago.cli.arguments import Request, model_options
from ago.cli.console import print_json, progress_bar
from ago.cli.group import examples
from ago.cli.steps import find_step, step_options
from ago.inspection import Scheduled, primitive_texts
from ago.ir.graph import Graph
from ago.partition import DEFAULT_PARTITIONER, find_partitioner
from ago.passes import report_movement
from ago.pipeline import Kernel, compile_graph, compile_subgraph, run_passes
from ago.schedule.trace import PRIMITIVES

_KERNEL_TEXTS: Mapping[str, Callable[[Kernel], str]] = {
    "plan": lambda kernel: str(kernel.plans),
    "nest": lambda kernel: str(kernel.lowered.program),
    "trace": lambda kernel: str(kernel.trace),
    "script": lambda kernel: kernel.trace.to_python(kernel.lowered.program),
    "schedule": lambda kernel: str(kernel.scheduled),
    "c": lambda kernel: kernel.function.text,
}
"""The stages at which each subgraph has a text of its own."""

_GRAPH_VALUES: Mapping[str, Callable[[Graph], object]] = {
    "graph": lambda graph: graph,
    "movement": report_movement,
    "partition": find_partitioner(DEFAULT_PARTITIONER),
}
"""What is printed of a graph after all passes."""

_STAGES = ("import", *_GRAPH_VALUES, *_KERNEL_TEXTS)


@click.command(
    "show",
    short_help="Print a model after a stage of the compiler.",
    epilog=examples(
        ("ago show model.onnx --after graph", "operators, names and shapes"),
        ("ago show model.onnx --after plan", "which operators share a loop nest, and why"),
        ("ago show model.onnx --after schedule --step 3", "one step's loops"),
        ("ago show model.onnx --print-after split --step 3", "the same after each split"),
        ("ago show model.onnx --after c --node /features/conv1/Conv", "one layer's C"),
    ),
)
@model_options
@click.option(
    "--after",
    type=click.Choice(_STAGES),
    help="import: the graph as read. graph: after all graph passes. "
    "movement: which operators still move elements, and why. partition: its subgraphs. "
    "plan: what shares a loop nest in each, and why. "
    "nest: naive loop nests. trace: the schedule as data. script: the schedule as a Python script. "
    "schedule: the scheduled nests. c: the C code.",
)
@click.option(
    "--print-after",
    type=click.Choice(tuple(PRIMITIVES)),
    metavar="PRIMITIVE",
    help="The loops after each application of a schedule primitive, such as compute_at.",
)
@step_options
def show_command(
    request: Request, after: str | None, print_after: str | None, node: str | None, step: int | None
) -> None:
    """Print MODEL after a stage of the compiler.

    A step is a subgraph that needs code: one C function. Loop nests print as Python that runs.
    """
    if (after is None) == (print_after is None):
        raise click.UsageError("give one of --after and --print-after")
    if after is not None and after not in _KERNEL_TEXTS:
        if node is not None or step is not None:
            raise click.UsageError(f"--after {after} shows the whole model: drop --node and --step")
        _show(request, after, _graph_text(request, after))
    elif node is None and step is None:
        _show_all(request, after, print_after)
    else:
        found = find_step(request, node, step)
        name = f"step_{found.number}"
        kernel = compile_subgraph(
            found.graph, found.subgraph, name, request.options, {}, found.watch, request.known
        )
        _show_kernels(request, after, print_after, [(found.number, kernel)])


def _graph_text(request: Request, after: str) -> str:
    graph = request.load()
    if after == "import":
        return str(graph)
    graph = run_passes(graph, request.options.target)
    return str(_GRAPH_VALUES[after](graph))


def _show(request: Request, after: str, text: str) -> None:
    if request.json:
        print_json({"after": after, "text": text})
    else:
        click.echo(text.rstrip("\n"))


def _show_all(request: Request, after: str | None, print_after: str | None) -> None:
    graph = request.load()
    with progress_bar() as progress:
        compilation = compile_graph(graph, request.options, progress=progress, known=request.known)
    if after == "c" and not request.json:
        sources = compilation.artifact.sources
        click.echo("\n".join(f"/* ==== {name} ==== */\n{sources[name]}" for name in sources))
        return
    _show_kernels(request, after, print_after, list(enumerate(compilation.kernels)))


def _show_kernels(
    request: Request,
    after: str | None,
    print_after: str | None,
    kernels: Sequence[tuple[int, Kernel]],
) -> None:
    data = [
        {
            "step": index,
            "label": str(kernel.subgraph),
            "nodes": [node.name for node in kernel.subgraph.nodes],
            "text": _KERNEL_TEXTS[after](kernel) if after else _applications(kernel, print_after),
        }
        for index, kernel in kernels
    ]
    if request.json:
        print_json({"after": after or print_after, "steps": data})
        return
    for item in data:
        click.echo(f"# step {item['step']}: {item['label']}\n{item['text']}")


def _applications(kernel: Kernel, primitive: str | None) -> str:
    """The program after each application of a primitive."""
    scheduled = Scheduled(kernel.lowered.program, kernel.scheduled, kernel.trace)
    return "\n".join(primitive_texts(scheduled, primitive))
