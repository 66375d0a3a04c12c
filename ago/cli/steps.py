"""The options that choose one step of a model, for the commands that look at single steps.

Read `step_options` first. A step is a subgraph that needs code: one C function.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

import click

from ago.cli.arguments import Request
from ago.errors import InputError
from ago.ir.graph import Graph
from ago.ir.lowering import require_lowerings
from ago.partition import (
    DEFAULT_PARTITIONER,
    Subgraph,
    find_partitioner,
    order_for_memory,
    strip_views,
)
from ago.pipeline import run_passes

_OPTIONS = (
    click.option("--node", help="Only the step that computes this node (or value) of the graph."),
    click.option("--step", type=click.IntRange(min=0), help="Only this step."),
)


def step_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--node` and `--step`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def find_step(request: Request, node: str | None, step: int | None) -> tuple[Graph, Subgraph, int]:
    """The chosen step of a model.

    Args:
        request: The model.
        node: Name of a node or value, or None.
        step: Number of a step, where `node` is None.

    Returns:
        The graph after all passes, the step's subgraph and its number.

    Raises:
        UsageError: Both are given.
        InputError: There is no such step; the message names similar nodes.
    """
    if node is not None and step is not None:
        raise click.UsageError("--node and --step both choose a step: give one of them")
    graph = run_passes(request.load(), request.options.target)
    require_lowerings(graph.nodes)
    whole = strip_views(graph, find_partitioner(DEFAULT_PARTITIONER)(graph))
    steps = order_for_memory(graph, whole).subgraphs
    index = _step_of_node(steps, node) if node is not None else _checked(steps, step)
    return graph, steps[index], index


def _step_of_node(steps: Sequence[Subgraph], name: str) -> int:
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
