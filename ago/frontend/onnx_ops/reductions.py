"""ONNX's reductions over whole axes.

Read `TRANSLATORS` first. Invariant: axes become ascending non-negative numbers here.
"""

from __future__ import annotations

from collections.abc import Sequence

from ago.frontend.onnx_ops.base import (
    Canonical,
    Context,
    Translator,
    axis_in_range,
    int_attr,
    ints_attr,
)
from ago.frontend.raw import RawNode

_PLAIN = ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum")
"""Reductions that give an element itself where it is the only one."""

_OTHERS = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")


def _by_attribute(op: str) -> Translator:
    """The axes are an attribute; without them all axes are reduced."""

    def translate(node: RawNode, context: Context) -> Canonical:
        return _reduce(op, node, context, ints_attr(node, "axes"))

    return translate


def _by_input(op: str) -> Translator:
    """The axes are an input; that no axes are given may mean that nothing is reduced."""

    def translate(node: RawNode, context: Context) -> Canonical:
        axes = context.constant_ints(node.input(1), "axes")
        if axes or not int_attr(node, "noop_with_empty_axes", 0):
            return _reduce(op, node, context, axes)
        if op in _PLAIN:
            return Canonical("Identity", node.inputs[:1], {})
        return Canonical(op, node.inputs[:1], {"axes": (), "keepdims": 1})

    return translate


def _reduce(op: str, node: RawNode, context: Context, axes: Sequence[int] | None) -> Canonical:
    rank = context.type(node.input(0)).rank
    resolved = sorted({axis_in_range(axis, rank) for axis in axes or range(rank)})
    attrs = {"axes": tuple(resolved), "keepdims": int_attr(node, "keepdims", 1)}
    return Canonical(op, node.inputs[:1], attrs)


def global_average_pool(node: RawNode, context: Context) -> Canonical:
    """`GlobalAveragePool`, all versions."""
    return Canonical("GlobalAveragePool", node.inputs, {})


def global_max_pool(node: RawNode, context: Context) -> Canonical:
    """`GlobalMaxPool`, all versions: the maximum over the spatial axes."""
    axes = tuple(range(2, context.type(node.input(0)).rank))
    return Canonical("ReduceMax", node.inputs, {"axes": axes, "keepdims": 1})


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    **{op: ((1, _by_attribute(op)), (18, _by_input(op))) for op in (*_PLAIN, *_OTHERS)},
    "ReduceSum": ((1, _by_attribute("ReduceSum")), (13, _by_input("ReduceSum"))),
    "GlobalAveragePool": ((1, global_average_pool),),
    "GlobalMaxPool": ((1, global_max_pool),),
}
