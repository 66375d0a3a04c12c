"""ONNX's softmax and normalisations.

Read `TRANSLATORS` first. Invariant: `axes` of the canonical operators are counted from the front;
before opset 13 softmax and its kin ran over all axes from `axis` on, as rows of a matrix.
"""

from __future__ import annotations

import numpy as np

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import (
    Canonical,
    Context,
    Expansion,
    RefusalError,
    Translator,
    axis_in_range,
    float_attr,
    int_attr,
    ints_attr,
)
from ago.frontend.raw import RawNode


def _one_axis(op: str) -> Translator:
    """Since 13: over one axis, by default the last."""

    def translate(node: RawNode, context: Context) -> Canonical:
        rank = context.type(node.input(0)).rank
        axis = axis_in_range(int_attr(node, "axis", -1), rank)
        return Canonical(op, node.inputs, {"axes": (axis,)})

    return translate


def _all_from_axis(op: str) -> Translator:
    """Before 13: over all axes from `axis` on, by default the second."""

    def translate(node: RawNode, context: Context) -> Canonical:
        rank = context.type(node.input(0)).rank
        axis = axis_in_range(int_attr(node, "axis", 1), rank)
        return Canonical(op, node.inputs, {"axes": tuple(range(axis, rank))})

    return translate


def layer_norm(node: RawNode, context: Context) -> Canonical | Expansion:
    """`LayerNormalization`: over all axes from `axis` on; mean and deviation may be outputs too."""
    attrs = _normalised(node, context)
    if not any(node.outputs[1:]):
        return Canonical("LayerNormalization", node.inputs, attrs)
    parts = Expansion(node, context)
    y = parts.add("y", "LayerNormalization", *node.inputs, **attrs)
    x, (mean_name, deviation_name) = node.input(0), (*node.outputs[1:], "", "")[:2]
    mean = deviation = ""
    if mean_name:
        mean = parts.add("mean", "ReduceMean", x, axes=attrs["axes"], keepdims=1)
    if deviation_name:
        deviation = parts.add("deviation", "InverseDeviation", x, **attrs)
    return parts.outputs(y, mean, deviation)


def rms_norm(node: RawNode, context: Context) -> Canonical:
    """`RMSNormalization`: over all axes from `axis` on."""
    return Canonical("RMSNormalization", node.inputs, _normalised(node, context))


def _normalised(node: RawNode, context: Context) -> dict[str, object]:
    if int_attr(node, "stash_type", 1) != 1:
        raise RefusalError("attribute stash_type is not 1 (float32)")
    rank = context.type(node.input(0)).rank
    axis = axis_in_range(int_attr(node, "axis", -1), rank)
    return {"axes": tuple(range(axis, rank)), "epsilon": float_attr(node, "epsilon", 1e-5)}


def mean_variance(node: RawNode, context: Context) -> Canonical:
    """`MeanVarianceNormalization`: over given axes, by default all but the channels."""
    rank = context.type(node.input(0)).rank
    given = ints_attr(node, "axes")
    axes = sorted(axis_in_range(axis, rank) for axis in ((0, 2, 3) if given is None else given))
    if len(set(axes)) != len(axes):
        raise ModelError(f"attribute axes {given} names an axis twice")
    return Canonical(
        "MeanVarianceNormalization", node.inputs, {"axes": tuple(axes), "epsilon": 1e-9}
    )


def instance_norm(node: RawNode, context: Context) -> Canonical:
    """`InstanceNormalization`: each channel is a group of its own."""
    shape = context.type(node.input(0)).shape
    channels = shape[1] if len(shape) > 1 else 0
    return _groups(node, channels)


def group_norm_18(node: RawNode, context: Context) -> Expansion:
    """`GroupNormalization` 18: one scale and bias a group."""
    shape, groups = context.type(node.input(0)).shape, int_attr(node, "num_groups", 0)
    if len(shape) < 2 or groups < 1 or shape[1] % groups:
        raise ModelError(f"{groups} groups do not divide the channels of {shape}")
    parts = Expansion(node, context)
    each = shape[1] // groups
    spread = parts.constant("ones", np.ones((1, each), np.float32))
    operands = []
    for position, name in ((1, "scale"), (2, "bias")):
        column = parts.add(f"{name}_column", "Reshape", node.input(position), shape=(groups, 1))
        rows = parts.add(f"{name}_rows", "Mul", column, spread)
        operands.append(parts.add(name, "Reshape", rows, shape=(shape[1],)))
    attrs = _groups(node, groups).attrs
    return parts.result("GroupNormalization", node.input(0), *operands, **attrs)


def group_norm_21(node: RawNode, context: Context) -> Canonical:
    """`GroupNormalization` since 21: one scale and bias a channel."""
    if int_attr(node, "stash_type", 1) != 1:
        raise RefusalError("attribute stash_type is not 1 (float32)")
    return _groups(node, int_attr(node, "num_groups", 0))


def _groups(node: RawNode, groups: int) -> Canonical:
    attrs = {"groups": groups, "epsilon": float_attr(node, "epsilon", 1e-5)}
    return Canonical("GroupNormalization", node.inputs, attrs)


def lp_norm(node: RawNode, context: Context) -> Canonical:
    """`LpNormalization`, by the sum of absolute values or the root of that of squares."""
    axis = axis_in_range(int_attr(node, "axis", -1), context.type(node.input(0)).rank)
    p = int_attr(node, "p", 2)
    if p not in (1, 2):
        raise ModelError(f"attribute p must be 1 or 2, not {p}")
    return Canonical("LpNormalization", node.inputs, {"axes": (axis,), "p": p})


def lrn(node: RawNode, context: Context) -> Canonical:
    """`LRN`, all versions."""
    size = int_attr(node, "size", 0)
    attrs = {
        "size": size,
        "alpha": float_attr(node, "alpha", 1e-4),
        "beta": float_attr(node, "beta", 0.75),
        "bias": float_attr(node, "bias", 1.0),
    }
    return Canonical("LRN", node.inputs, attrs)


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    **{
        op: ((1, _all_from_axis(op)), (13, _one_axis(op)))
        for op in ("Softmax", "LogSoftmax", "Hardmax")
    },
    "LayerNormalization": ((17, layer_norm),),
    "RMSNormalization": ((23, rms_norm),),
    "MeanVarianceNormalization": ((9, mean_variance),),
    "InstanceNormalization": ((6, instance_norm),),
    "GroupNormalization": ((18, group_norm_18), (21, group_norm_21)),
    "LpNormalization": ((1, lp_norm),),
    "LRN": ((1, lrn),),
}
