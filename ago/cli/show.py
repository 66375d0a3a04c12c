"""`ago show`: what a model looks like after each stage of the compiler.

Read `show_command` first. Whole-graph stages print one text; the others one text a step.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence

import click

from ago.cli.arguments import Request, model_options
from ago.cli.console import print_json, progress_bar
from ago.cli.group import examples
from ago.errors import InputError
from ago.ir.graph import Graph
from ago.ir.lowering import require_lowerings
from ago.partition import DEFAULT_PARTITIONER, Subgraph, find_partitioner, strip_views
from ago.pipeline import Kernel, compile_graph, compile_subgraph, run_passes
from ago.target import Target

_KERNEL_TEXTS: Mapping[str, Callable[[Kernel], str]] = {
    "nest": lambda kernel: str(kernel.lowered.program),
    "trace": lambda kernel: str(kernel.trace),
    "schedule": lambda kernel: str(kernel.scheduled),
    "c": lambda kernel: kernel.function.text,
}
"""The stages at which each subgraph has a text of its own."""

_STAGES = ("import", "graph", "partition", *_KERNEL_TEXTS)


@click.command(
    "show",
    short_help="Print a model after a stage of the compiler.",
    epilog=examples(
        ("ago show model.onnx --after graph", "operators, names and shapes"),
        ("ago show model.onnx --after schedule --step 3", "one step's loops"),
        ("ago show model.onnx --after c --node /features/conv1/Conv", "one layer's C"),
    ),
)
@model_options
@click.option(
    "--after",
    required=True,
    type=click.Choice(_STAGES),
    help="import: the graph as read. graph: after all graph passes. partition: its subgraphs. "
    "nest: naive loop nests. trace: the schedule as data. schedule: the scheduled nests. "
    "c: the C code.",
)
@click.option("--node", help="Only the step that computes this node (or value) of the graph.")
@click.option("--step", type=click.IntRange(min=0), help="Only this step.")
def show_command(request: Request, after: str, node: str | None, step: int | None) -> None:
    """Print MODEL after a stage of the compiler.

    A step is a subgraph that needs code: one C function. Loop nests print as Python that runs.
    """
    if node is not None and step is not None:
        raise click.UsageError("--node and --step both choose a step: give one of them")
    if after not in _KERNEL_TEXTS:
        if node is not None or step is not None:
            raise click.UsageError(f"--after {after} shows the whole model: drop --node and --step")
        _show(request, after, _graph_text(request, after))
    elif node is None and step is None:
        _show_all(request, after)
    else:
        _show_one(request, after, node, step)


def _graph_text(request: Request, after: str) -> str:
    graph = request.load()
    if after == "import":
        return str(graph)
    graph = run_passes(graph, request.options.target)
    return str(graph if after == "graph" else find_partitioner(DEFAULT_PARTITIONER)(graph))


def _show(request: Request, after: str, text: str) -> None:
    if request.json:
        print_json({"after": after, "text": text})
    else:
        click.echo(text.rstrip("\n"))


def _show_all(request: Request, after: str) -> None:
    graph = request.load()
    with progress_bar() as progress:
        compilation = compile_graph(graph, request.options, progress=progress)
    if after == "c" and not request.json:
        sources = compilation.artifact.sources
        click.echo("\n".join(f"/* ==== {name} ==== */\n{sources[name]}" for name in sources))
        return
    _show_kernels(request, after, list(enumerate(compilation.kernels)))


def _show_one(request: Request, after: str, node: str | None, step: int | None) -> None:
    target = request.options.target
    graph = run_passes(request.load(), target)
    require_lowerings(graph.nodes)
    steps = strip_views(graph, find_partitioner(DEFAULT_PARTITIONER)(graph)).subgraphs
    index = _step_of_node(steps, node) if node is not None else _checked(steps, step)
    _show_kernels(request, after, [(index, _kernel(graph, steps[index], index, target))])


def _kernel(graph: Graph, subgraph: Subgraph, index: int, target: Target) -> Kernel:
    return compile_subgraph(graph, subgraph, f"step_{index}", target, {})


def _show_kernels(request: Request, after: str, kernels: Sequence[tuple[int, Kernel]]) -> None:
    data = [
        {
            "step": index,
            "label": str(kernel.subgraph),
            "nodes": [node.name for node in kernel.subgraph.nodes],
            "text": _KERNEL_TEXTS[after](kernel),
        }
        for index, kernel in kernels
    ]
    if request.json:
        print_json({"after": after, "steps": data})
        return
    for item in data:
        click.echo(f"# step {item['step']}: {item['label']}\n{item['text']}")


def _step_of_node(steps: Sequence[Subgraph], name: str) -> int:
    """The step that computes a node or a value.

    Raises:
        InputError: There is none; the message names similar ones.
    """
    known: dict[str, int] = {}
    for index, subgraph in enumerate(steps):
        for node in subgraph.nodes:
            known[node.name] = index
            known.update(dict.fromkeys(node.outputs, index))
    if name in known:
        return known[name]
    similar = difflib.get_close_matches(name, known, n=5, cutoff=0.4)
    hint = f"; similar: {', '.join(similar)}" if similar else ""
    raise InputError(
        f"no step computes {name!r}: passes may have merged it into another node{hint}"
    )


def _checked(steps: Sequence[Subgraph], step: int | None) -> int:
    if step is None or step >= len(steps):
        raise InputError(f"there is no step {step}: the model has steps 0 to {len(steps) - 1}")
    return step
