"""Constant folding: nodes that read only parameters are computed now.

Read `fold_constants` first. Invariant: floats are computed in float64 and rounded at the end.
"""

from __future__ import annotations

from dataclasses import replace

from ago.ir.evaluate import evaluate_node
from ago.ir.graph import Graph, Node
from ago.ir.ops import Array
from ago.passes.draft import Draft


def fold_constants(graph: Graph) -> Graph:
    """Replace each node whose inputs are all constant by parameters.

    An output of the graph stays a node: an `Identity` of its parameter.

    Args:
        graph: Any graph.

    Returns:
        An equivalent graph.
    """
    draft = Draft(graph)
    folded: dict[str, str] = {}
    for node in graph.nodes:
        inputs = tuple(folded.get(value, value) for value in node.inputs)
        arrays = [draft.param(value) for value in inputs]
        constant = all(a is not None or not v for v, a in zip(inputs, arrays, strict=True))
        done = node.op == "Identity" and node.output in graph.outputs
        if constant and not done:
            _fold(draft, node, evaluate_node(node, arrays), folded)
        else:
            draft.append(replace(node, inputs=inputs))
    return draft.finish()


def _fold(draft: Draft, node: Node, results: tuple[Array, ...], folded: dict[str, str]) -> None:
    for value, kind, array in zip(node.outputs, node.types, results, strict=True):
        folded[value] = draft.add_param(f"{value}.value", array, kind.dtype)
        if value in draft.graph.outputs:
            draft.append(Node(node.name, "Identity", (folded[value],), (value,), {}, (kind,)))
