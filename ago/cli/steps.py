"""The options that choose one step of a model, for the commands that look at single steps.

Read `step_options` first. A step is a subgraph that needs code: one C function.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click

from ago.cli.arguments import Request
from ago.errors import InputError
from ago.inspection import Watch, watch_from_environment
from ago.ir.graph import Graph
from ago.partition import Subgraph, order_for_memory, strip_views
from ago.pipeline import cut_graph

_OPTIONS = (
    click.option("--node", help="Only the step that computes this node (or value) of the graph."),
    click.option("--step", type=click.IntRange(min=0), help="Only this step."),
)

_NAMED = 5
"""Most names that an error tells."""


def step_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--node` and `--step`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a model.

    Attributes:
        graph: The graph after all passes.
        subgraph: Its part that the step computes.
        number: Of the step.
        watch: Whom the environment has watch its compilation; None for nobody.
    """

    graph: Graph
    subgraph: Subgraph
    number: int
    watch: Watch | None


def find_step(request: Request, node: str | None, step: int | None) -> Step:
    """The chosen step of a model.

    Args:
        request: The model.
        node: Name of a node or value, or None.
        step: Number of a step, where `node` is None.

    Raises:
        UsageError: Both are given.
        InputError: There is no such step; the message names similar nodes, or else some.
    """
    if node is not None and step is not None:
        raise click.UsageError("--node and --step both choose a step: give one of them")
    model = request.load()
    watch = watch_from_environment(model.name)
    graph, partition = cut_graph(model, request.options.target, None, watch)
    steps = order_for_memory(graph, strip_views(graph, partition)).subgraphs
    number = _step_of_node(steps, node) if node is not None else _checked(steps, step)
    return Step(graph, steps[number], number, watch)


def _step_of_node(steps: Sequence[Subgraph], name: str) -> int:
    known: dict[str, int] = {}
    for index, subgraph in enumerate(steps):
        for node in subgraph.nodes:
            known[node.name] = index
            known.update(dict.fromkeys(node.outputs, index))
    if name in known:
        return known[name]
    similar = difflib.get_close_matches(name, known, n=_NAMED, cutoff=0.4)
    what, names = ("similar", similar) if similar else ("there are", [*known][:_NAMED])
    more = ", ..." if not similar and len(known) > _NAMED else ""
    raise InputError(
        f"no step computes {name!r}: passes may have merged it into another node; "
        f"{what}: {', '.join(names)}{more}"
    )


def _checked(steps: Sequence[Subgraph], step: int | None) -> int:
    if step is None or step >= len(steps):
        raise InputError(f"there is no step {step}: the model has steps 0 to {len(steps) - 1}")
    return step
