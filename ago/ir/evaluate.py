"""The graph interpreter: what a graph means, floats in float64 and integers exact.

Read `evaluate` first. Invariant: it runs the operators' references one by one, so every pass and
every compiled kernel is checked against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy.typing as npt

from ago.errors import InputError
from ago.ir.graph import Graph, Node
from ago.ir.ops import OPERATORS, Array
from ago.ir.ops.operator import as_reference

MOST_GROWTH = 64 << 20
"""Bytes that a constant may take which is computed from a smaller one."""


def is_modest(before: float, after: float) -> bool:
    """Return whether constants may be replaced by what is computed from them.

    Args:
        before: Their bytes.
        after: Bytes of the result.
    """
    return after <= max(before, MOST_GROWTH)


def evaluate(
    graph: Graph,
    feeds: Mapping[str, npt.ArrayLike],
    keep: Literal["outputs", "all"] = "outputs",
) -> dict[str, Array]:
    """Compute a graph with numpy, its floats in float64.

    Args:
        graph: The graph.
        feeds: One array per input of the graph, of the input's shape.
        keep: Which values to return: the graph's outputs, or those of every node.

    Returns:
        Arrays by name, in the graph's order: float64, or integers and bools of their own type.

    Raises:
        InputError: If an input is missing, unknown or of another shape.
    """
    values = _read_feeds(graph, feeds)
    made: dict[str, Array] = {}
    last_reader = {value: node.name for node in graph.nodes for value in node.inputs}
    for node in graph.nodes:
        arguments = [_value(graph, values, name) for name in node.inputs]
        results = evaluate_node(node, arguments)
        values.update(zip(node.outputs, results, strict=True))
        if keep == "all":
            made.update(zip(node.outputs, results, strict=True))
            continue
        made.update((name, values[name]) for name in node.outputs if name in graph.outputs)
        _forget(values, node, last_reader)
    return made if keep == "all" else {name: made[name] for name in graph.outputs}


def evaluate_node(node: Node, arguments: Sequence[Array | None]) -> tuple[Array, ...]:
    """Compute one node.

    Args:
        node: The node.
        arguments: Its inputs, floats as float64; None where one is absent.

    Returns:
        Its outputs, in the element types of the node as references hold them.
    """
    results = OPERATORS[node.op].reference(arguments, node.attrs)
    return tuple(
        as_reference(result, kind.dtype) for result, kind in zip(results, node.types, strict=True)
    )


def _read_feeds(graph: Graph, feeds: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
    if set(feeds) != set(graph.inputs):
        raise InputError(f"expected inputs {sorted(graph.inputs)}, got {sorted(feeds)}")
    values: dict[str, Array] = {}
    for name in graph.inputs:
        array = as_reference(feeds[name], graph.types[name].dtype)
        if array.shape != graph.types[name].shape:
            raise InputError(
                f"input {name!r} must have the shape {graph.types[name].shape}, not {array.shape}"
            )
        values[name] = array
    return values


def _value(graph: Graph, values: Mapping[str, Array], name: str) -> Array | None:
    if not name:
        return None
    if name in graph.params:
        return as_reference(graph.params[name], graph.types[name].dtype)
    return values[name]


def _forget(values: dict[str, Array], node: Node, last_reader: Mapping[str, str]) -> None:
    """Drop the values that no later node reads."""
    for name in {*node.inputs, *node.outputs}:
        if last_reader.get(name, node.name) == node.name:
            values.pop(name, None)
