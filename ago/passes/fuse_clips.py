"""Activations with bounds in one form.

Read `fuse_clips` first. Invariant: afterwards no Relu of float32 is left, and no Clip's only reader
is a Clip.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ago.ir.attributes import read_float
from ago.ir.graph import Graph, Node
from ago.passes.draft import Draft


def fuse_clips(graph: Graph) -> Graph:
    """Turn each Relu into a Clip, and a Clip that only a Clip reads into one with it.

    Both are exact, also for NaN, which every Clip passes on, and for bounds that exclude each
    other: a Clip is monotone, so the bounds of two in a row are the images of the infinities.

    Args:
        graph: Any graph.

    Returns:
        An equivalent graph.
    """
    draft = Draft(graph)
    for node in graph.nodes:
        if node.op not in ("Relu", "Clip") or node.type.dtype != "f32":
            draft.append(node)
            continue
        bounds = _bounds(node)
        value = node.inputs[0]
        before = draft.producer(value)
        if before is not None and before.op == "Clip" and draft.is_private(value, node):
            bounds = (_clip(_bounds(before)[0], bounds), _clip(_bounds(before)[1], bounds))
            draft.replace(before, _clip_node(node, before.inputs, bounds))
        else:
            draft.append(_clip_node(node, node.inputs, bounds))
    return draft.finish()


def _bounds(node: Node) -> tuple[float, float]:
    """Return the images of minus and plus infinity."""
    if node.op == "Relu":
        return (0.0, math.inf)
    bounds = (read_float(node.attrs, "min"), read_float(node.attrs, "max"))
    return (_clip(-math.inf, bounds), _clip(math.inf, bounds))


def _clip(x: float, bounds: tuple[float, float]) -> float:
    low, high = bounds
    return min(max(x, low), high)


def _clip_node(node: Node, inputs: tuple[str, ...], bounds: tuple[float, float]) -> Node:
    attrs = {"min": bounds[0], "max": bounds[1]}
    return replace(node, op="Clip", inputs=inputs, attrs=attrs)
