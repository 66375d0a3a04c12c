"""Padding as an operator of its own.

Read `explicit_padding` first. Invariant: afterwards no Conv and no MaxPool has padding.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ago.ir.attributes import read_int, read_ints
from ago.ir.graph import Graph, Node
from ago.ir.ops import OPERATORS
from ago.ir.ops.window import Window
from ago.passes.draft import Draft

_BORDERS = {"Conv": 0.0, "MaxPool": -math.inf, "AveragePool": 0.0}


def explicit_padding(graph: Graph) -> Graph:
    """Split each padded Conv and pool into a Pad and an operator without padding.

    Operators that pad the same tensor alike share one Pad; negative padding crops in it. The
    padding of an AveragePool that does not count it stays: its divisor depends on the position.

    Args:
        graph: Any graph.

    Returns:
        An equivalent graph.
    """
    draft = Draft(graph)
    made: dict[tuple[str, tuple[int, ...], float], str] = {}
    for node in graph.nodes:
        pads = _padding(graph, node) if node.op in _BORDERS else ()
        if not any(pads):
            draft.append(node)
            continue
        key = (node.inputs[0], pads, _BORDERS[node.op])
        if key not in made:
            made[key] = _append_pad(draft, node, pads)
        draft.append(_unpadded(node, made[key]))
    return draft.finish()


def _padding(graph: Graph, node: Node) -> tuple[int, ...]:
    """Return the elements to add before each spatial axis, then after each, as far as is read."""
    pads = read_ints(node.attrs, "pads")
    if node.op == "Conv":
        return pads
    extents = graph.types[node.inputs[0]].shape[2:]
    window = Window.read(node.attrs, read_ints(node.attrs, "kernel_shape"))
    covering = window.covering_pads(extents, node.type.shape[2:])
    if node.op == "MaxPool":
        return covering
    counted = read_int(node.attrs, "count_include_pad") and covering == pads
    return pads if counted else ()


def _append_pad(draft: Draft, node: Node, pads: tuple[int, ...]) -> str:
    value = node.inputs[0]
    rank = len(pads) // 2
    attrs = {"pads": (0, 0, *pads[:rank], 0, 0, *pads[rank:]), "value": _BORDERS[node.op]}
    types = OPERATORS["Pad"].infer([draft.graph.types[value]], attrs)
    output = draft.fresh(f"{value}.padded")
    draft.append(Node(draft.fresh(f"{node.name}.pad"), "Pad", (value,), (output,), attrs, types))
    return output


def _unpadded(node: Node, value: str) -> Node:
    attrs = {**node.attrs, "pads": (0,) * len(read_ints(node.attrs, "pads"))}
    if "ceil_mode" in attrs:
        attrs["ceil_mode"] = 0
    return replace(node, inputs=(value, *node.inputs[1:]), attrs=attrs)
