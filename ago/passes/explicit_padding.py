"""Padding as an operator of its own.

Read `explicit_padding` first. Invariant: afterwards no Conv and no pool has padding.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ago.ir.attributes import read_ints
from ago.ir.graph import Graph, Node
from ago.ir.ops import OPERATORS
from ago.ir.ops.window import Window, pad_array
from ago.passes.draft import Draft

_BORDERS = {"Conv": 0.0, "MaxPool": -math.inf, "AveragePool": 0.0, "LpPool": 0.0}


def explicit_padding(graph: Graph) -> Graph:
    """Split each padded Conv and pool into a Pad and an operator without padding.

    Operators that pad the same tensor alike share one Pad; negative padding crops in it. The
    divisor of an AveragePool that does not count the padding, or hangs over the end, depends on the
    position: its mean over whole windows is multiplied by a constant map that corrects it.

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
        unpadded = _unpadded(node, made[key])
        if node.op == "AveragePool":
            _append_average(draft, node, unpadded, pads)
        else:
            draft.append(unpadded)
    return draft.finish()


def _padding(graph: Graph, node: Node) -> tuple[int, ...]:
    """Return the elements to add before each spatial axis, then after each, as far as is read."""
    pads = read_ints(node.attrs, "pads")
    if node.op == "Conv":
        return pads
    extents = graph.types[node.inputs[0]].shape[2:]
    window = Window.read(node.attrs, read_ints(node.attrs, "kernel_shape"))
    return window.covering_pads(extents, node.type.shape[2:])


def _append_average(draft: Draft, node: Node, unpadded: Node, pads: tuple[int, ...]) -> None:
    """Append the mean over whole windows, corrected where some of their elements do not count."""
    rank = len(pads) // 2
    extents = draft.graph.types[node.inputs[0]].shape[2:]
    ones = np.ones((1, 1, *extents))
    reference = OPERATORS["AveragePool"].reference
    (wanted,) = reference([ones], node.attrs)
    padded = pad_array(ones, (0, 0, *pads[:rank], 0, 0, *pads[rank:]), 0.0)
    (whole,) = reference([padded], unpadded.attrs)
    correction = wanted / whole
    if np.all(correction == 1.0):
        draft.append(unpadded)
        return
    mean = draft.fresh(f"{node.output}.whole")
    draft.append(replace(unpadded, name=draft.fresh(f"{node.name}.whole"), outputs=(mean,)))
    factor = draft.add_param(f"{node.name}.correction", correction)
    draft.append(replace(node, op="Mul", inputs=(mean, factor), attrs={}))


def _append_pad(draft: Draft, node: Node, pads: tuple[int, ...]) -> str:
    value = node.inputs[0]
    rank = len(pads) // 2
    around = (0, 0, *pads[:rank], 0, 0, *pads[rank:])
    attrs = {"mode": "constant", "pads": around, "value": _BORDERS[node.op]}
    types = OPERATORS["Pad"].infer([draft.graph.types[value]], attrs)
    output = draft.fresh(f"{value}.padded")
    draft.append(Node(draft.fresh(f"{node.name}.pad"), "Pad", (value,), (output,), attrs, types))
    return output


def _unpadded(node: Node, value: str) -> Node:
    attrs = {**node.attrs, "pads": (0,) * len(read_ints(node.attrs, "pads"))}
    if "ceil_mode" in attrs:
        attrs["ceil_mode"] = 0
    if "count_include_pad" in attrs:
        attrs["count_include_pad"] = 0
    return replace(node, inputs=(value, *node.inputs[1:]), attrs=attrs)
