"""Removal of nodes that change nothing or that nobody reads.

Read `eliminate_identities` first. Invariant: the graph's outputs keep their names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ago.ir.attributes import read_float, read_ints
from ago.ir.graph import Graph, Node
from ago.passes.draft import Draft


def eliminate_identities(graph: Graph) -> Graph:
    """Remove identities and dead nodes, and join reshapes of reshapes.

    An identity is an `Identity`, a `Cast` to the same type, a `Reshape` or `Expand` to the same
    shape, a `Slice` of everything in order, a `Pad` by nothing or a `Clip` without bounds. One that
    makes an output of the graph goes if the node before it can take the output's name; an output
    that is an input or a parameter stays an `Identity`.

    Args:
        graph: Any graph.

    Returns:
        An equivalent graph.
    """
    draft = Draft(graph)
    names: dict[str, str] = {}
    for node in graph.nodes:
        node = replace(node, inputs=tuple(names.get(value, value) for value in node.inputs))
        node = _join_reshapes(draft, node)
        if not _is_identity(graph, node):
            draft.append(node)
            continue
        names[node.output] = node.inputs[0]
        if node.output in graph.outputs:
            draft.append(replace(node, op="Identity", attrs={}))
    rewritten = draft.finish()
    return rewritten.with_nodes(_live(rewritten, _rename_to_outputs(rewritten)))


def _rename_to_outputs(graph: Graph) -> list[Node]:
    """Let nodes make an output of the graph themselves where an identity copies it."""
    names: dict[str, str] = {}
    kept = []
    for node in graph.nodes:
        source = node.inputs[0] if node.op == "Identity" else ""
        made = graph.producer(source) is not None
        if made and source not in names and source not in graph.outputs:
            names[source] = node.output
        else:
            kept.append(node)
    return [
        replace(
            node,
            inputs=tuple(names.get(value, value) for value in node.inputs),
            outputs=tuple(names.get(value, value) for value in node.outputs),
        )
        for node in kept
    ]


def _live(graph: Graph, nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes that the graph's outputs depend on."""
    needed = set(graph.outputs)
    live = []
    for node in reversed(nodes):
        if needed.intersection(node.outputs):
            needed.update(node.inputs)
            live.append(node)
    return live[::-1]


def _is_identity(graph: Graph, node: Node) -> bool:
    if node.op == "Identity":
        return True
    if node.op in ("Cast", "Reshape", "Expand", "Slice"):
        same = graph.types[node.inputs[0]] == node.type
        return same and (node.op != "Slice" or set(read_ints(node.attrs, "steps")) <= {1})
    if node.op == "Pad":
        return not any(read_ints(node.attrs, "pads"))
    if node.op == "Clip":
        bounds = (read_float(node.attrs, "min"), read_float(node.attrs, "max"))
        return bounds == (-math.inf, math.inf)
    return False


def _join_reshapes(draft: Draft, node: Node) -> Node:
    """Let a reshape of a reshape read what the first one reads."""
    before = draft.producer(node.inputs[0]) if node.op == "Reshape" else None
    if before is None or before.op != "Reshape":
        return node
    return replace(node, inputs=before.inputs)
