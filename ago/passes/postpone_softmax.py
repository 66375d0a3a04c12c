"""A softmax's quotient behind the product that reads it.

Read `postpone_softmax` first. Invariant: only where the product sums over what the softmax
normalises, so that all of a row's terms have the quotient in common.
"""

from __future__ import annotations

from dataclasses import replace

from ago.ir.attributes import read_ints
from ago.ir.graph import Graph, Node, TensorType
from ago.passes.draft import Draft


def postpone_softmax(graph: Graph) -> Graph:
    """Divide by the sums of a softmax after the product that it is the left operand of.

    `softmax(s) @ v` becomes `(exp(s - max s) @ v) * (1 / sum exp(s - max s))`: as in attention,
    where the product has fewer columns than the softmax, one pass over its elements is saved.

    Args:
        graph: Any graph.

    Returns:
        A graph equivalent up to rounding, and to overflow of sums that are not divided yet.
    """
    draft = Draft(graph)
    reciprocals: dict[str, tuple[str, str]] = {}
    for node in graph.nodes:
        if _is_postponed(graph, node):
            reciprocals[node.output] = _append_powers(draft, node)
        elif node.inputs and node.inputs[0] in reciprocals:
            _append_scaled(draft, node, *reciprocals[node.inputs[0]])
        else:
            draft.append(node)
    return draft.finish()


def _is_postponed(graph: Graph, node: Node) -> bool:
    """Whether a node is a softmax of rows that only a product sums over."""
    readers = graph.consumers(node.output)
    if node.op != "Softmax" or len(readers) != 1 or node.output in graph.outputs:
        return False
    (reader,) = readers
    rank, columns = node.type.rank, reader.type.shape[-1:]
    if reader.op != "MatMul" or reader.inputs[0] != node.output or reader.inputs[1] == node.output:
        return False
    whole = rank > 1 and graph.types[reader.inputs[1]].rank > 1
    along = read_ints(node.attrs, "axes") == (rank - 1,)
    return whole and along and columns < node.type.shape[-1:]


def _append_powers(draft: Draft, node: Node) -> tuple[str, str]:
    """Append the powers of a softmax; returns them, and the reciprocals of their sums."""
    kind = TensorType(node.type.shape)
    row = TensorType((*kind.shape[:-1], 1))

    def made(op: str, inputs: tuple[str, ...], kind: TensorType, **attrs: object) -> str:
        name = draft.fresh(f"{node.name}.{op.lower()}")
        draft.append(Node(name, op, inputs, (value := draft.fresh(name),), attrs, (kind,)))
        return value

    powers = made("SoftmaxPowers", node.inputs, kind, axes=(kind.rank - 1,))
    sums = made("ReduceSum", (powers,), row, axes=(kind.rank - 1,), keepdims=1)
    return powers, made("Reciprocal", (sums,), row)


def _append_scaled(draft: Draft, node: Node, powers: str, reciprocals: str) -> None:
    """Append a product of the powers, and its rows' factors."""
    product = draft.fresh(f"{node.output}.unscaled")
    draft.append(replace(node, inputs=(powers, node.inputs[1]), outputs=(product,)))
    name = draft.fresh(f"{node.name}.scaled")
    draft.append(Node(name, "Mul", (product, reciprocals), node.outputs, {}, node.types))
