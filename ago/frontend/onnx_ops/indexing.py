"""ONNX's operators with indices that are data.

Read `TRANSLATORS` first. Invariant: constant indices are read by `movement`, whose operators fuse;
what is left here is an extern.
"""

from __future__ import annotations

from ago.errors import ModelError
from ago.frontend.onnx_ops import movement
from ago.frontend.onnx_ops.base import (
    Canonical,
    Context,
    Expansion,
    RefusalError,
    Translator,
    axis_in_range,
    int_attr,
    str_attr,
)
from ago.frontend.raw import RawNode


def _unless_constant(position: int, constant: Translator, data: Translator) -> Translator:
    """Read a node by `constant` where an input is constant or absent, else by `data`."""

    def translate(node: RawNode, context: Context) -> Canonical | Expansion:
        value = node.input(position)
        chosen = constant if not value or value in context.constants else data
        return chosen(node, context)

    return translate


def gather(node: RawNode, context: Context) -> Canonical:
    """`Gather`; before 11 negative indices had no meaning."""
    return Canonical("Gather", node.inputs, {"axis": _axis(node, context)})


def gather_elements(node: RawNode, context: Context) -> Canonical:
    """`GatherElements`."""
    return Canonical("GatherElements", node.inputs, {"axis": _axis(node, context)})


def gather_nd(node: RawNode, context: Context) -> Canonical:
    """`GatherND`; since 12 with batches."""
    return Canonical("GatherND", node.inputs, {"batch_dims": int_attr(node, "batch_dims", 0)})


def scatter_elements(node: RawNode, context: Context) -> Canonical:
    """`Scatter` 9 and `ScatterElements`; since 16 with reductions, since 18 with all of them."""
    attrs = {"axis": _axis(node, context), "reduction": str_attr(node, "reduction", "none")}
    return Canonical("ScatterElements", node.inputs, attrs)


def scatter_nd(node: RawNode, context: Context) -> Canonical:
    """`ScatterND`, likewise."""
    attrs = {"reduction": str_attr(node, "reduction", "none")}
    return Canonical("ScatterND", node.inputs, attrs)


def one_hot(node: RawNode, context: Context) -> Canonical:
    """`OneHot`: the depth decides the shape, so it is constant, or the file states the shape."""
    rank = context.type(node.input(0)).rank + 1
    axis = axis_in_range(int_attr(node, "axis", -1), rank)
    attrs = {"axis": axis, "depth": _depth(node, context, axis)}
    return Canonical("OneHot", (node.input(0), node.input(2)), attrs)


def _depth(node: RawNode, context: Context, axis: int) -> int:
    result = context.stated().get(node.output(0))
    if node.input(1) not in context.constants and result is not None and axis < result.rank:
        return result.shape[axis]
    depth = context.constant(node.input(1), "depth")
    if depth is None or depth.size != 1:
        raise ModelError("input 'depth' must be one number")
    return int(depth.ravel()[0])


def reverse_sequence(node: RawNode, context: Context) -> Canonical:
    """`ReverseSequence`."""
    attrs = {
        "batch_axis": int_attr(node, "batch_axis", 1),
        "time_axis": int_attr(node, "time_axis", 0),
    }
    return Canonical("ReverseSequence", node.inputs, attrs)


def trilu(node: RawNode, context: Context) -> Canonical:
    """`Trilu` with a diagonal that is data."""
    return Canonical("TriluAt", node.inputs, {"upper": int_attr(node, "upper", 1)})


def compress(node: RawNode, context: Context) -> Canonical:
    """`Compress` with a condition that is data, which would decide the shape."""
    message = f"condition {node.input(1)!r} is not constant, so the shape depends on data"
    raise RefusalError(message, node.input(1))


def _axis(node: RawNode, context: Context) -> int:
    return axis_in_range(int_attr(node, "axis", 0), context.type(node.input(0)).rank)


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "Gather": ((1, _unless_constant(1, movement.gather, gather)),),
    "GatherElements": ((11, _unless_constant(1, movement.gather_elements, gather_elements)),),
    "GatherND": ((11, _unless_constant(1, movement.gather_nd, gather_nd)),),
    "Scatter": ((9, scatter_elements),),
    "ScatterElements": ((11, scatter_elements),),
    "ScatterND": ((11, scatter_nd),),
    "OneHot": ((9, one_hot),),
    "ReverseSequence": ((10, _unless_constant(1, movement.reverse_sequence, reverse_sequence)),),
    "Trilu": ((14, _unless_constant(1, movement.trilu, trilu)),),
    "Compress": ((9, _unless_constant(1, movement.compress, compress)),),
}
