"""ONNX's operators that change a shape, and Concat.

Read `TRANSLATORS` first. Invariant: axes and shapes become plain non-negative numbers here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import (
    Canonical,
    Context,
    Expansion,
    Translator,
    axis_in_range,
    int_attr,
    ints_attr,
)
from ago.frontend.raw import RawNode


def reshape_5(node: RawNode, context: Context) -> Canonical:
    """`Reshape` since 5: 0 copies an extent (unless `allowzero`, since 14), -1 is inferred."""
    target = context.constant_ints(node.input(1), "shape")
    if target is None:
        raise ModelError("input 'shape' is missing")
    x = context.type(node.input(0))
    zero_copies = not int_attr(node, "allowzero", 0)
    return _reshape(node, resolve_shape(x.shape, target, zero_copies))


def reshape_1(node: RawNode, context: Context) -> Canonical:
    """`Reshape` 1: the shape is an attribute."""
    target = ints_attr(node, "shape") or ()
    return _reshape(node, resolve_shape(context.type(node.input(0)).shape, target, True))


def resolve_shape(
    shape: Sequence[int], target: Sequence[int], zero_copies: bool
) -> tuple[int, ...]:
    """Return the extents that a Reshape of `shape` to `target` asks for.

    Args:
        shape: The extents before.
        target: The extents wanted; one may be -1, and 0 may copy the extent at its place.
        zero_copies: Whether 0 copies.

    Raises:
        ModelError: If `target` does not fit.
    """
    extents = list(target)
    for axis, extent in enumerate(extents):
        if extent == 0 and zero_copies:
            if axis >= len(shape):
                raise ModelError(f"shape {tuple(target)} copies axis {axis} of {tuple(shape)}")
            extents[axis] = shape[axis]
    if extents.count(-1) == 1:
        known = math.prod(extent for extent in extents if extent != -1)
        extents[extents.index(-1)] = math.prod(shape) // known if known else 0
    if math.prod(extents) != math.prod(shape) or min(extents, default=1) < 0:
        raise ModelError(f"{tuple(shape)} cannot take the shape {tuple(target)}")
    return tuple(extents)


def flatten(node: RawNode, context: Context) -> Canonical:
    """`Flatten`, all versions."""
    shape = context.type(node.input(0)).shape
    axis = int_attr(node, "axis", 1)
    if axis != len(shape):
        axis = axis_in_range(axis, max(len(shape), 1))
    return _reshape(node, (math.prod(shape[:axis]), math.prod(shape[axis:])))


def squeeze_1(node: RawNode, context: Context) -> Canonical:
    """`Squeeze` up to 12: the axes are an attribute."""
    return _squeeze(node, context, ints_attr(node, "axes"))


def squeeze_13(node: RawNode, context: Context) -> Canonical:
    """`Squeeze` since 13: the axes are an input."""
    return _squeeze(node, context, context.constant_ints(node.input(1), "axes"))


def _squeeze(node: RawNode, context: Context, axes: Sequence[int] | None) -> Canonical:
    return _reshape(node, squeezed_shape(context.type(node.input(0)).shape, axes))


def squeezed_shape(shape: Sequence[int], axes: Sequence[int] | None) -> tuple[int, ...]:
    """Return `shape` without `axes`, by default without all axes of extent 1.

    Raises:
        ModelError: If an axis is out of range or longer than 1.
    """
    if axes is None:
        return tuple(extent for extent in shape if extent != 1)
    gone = {axis_in_range(axis, len(shape)) for axis in axes}
    if any(shape[axis] != 1 for axis in gone):
        raise ModelError(f"axes {tuple(axes)} of {tuple(shape)} are not all of extent 1")
    return tuple(extent for axis, extent in enumerate(shape) if axis not in gone)


def unsqueeze_1(node: RawNode, context: Context) -> Canonical:
    """`Unsqueeze` up to 12: the axes are an attribute."""
    return _unsqueeze(node, context, ints_attr(node, "axes"))


def unsqueeze_13(node: RawNode, context: Context) -> Canonical:
    """`Unsqueeze` since 13: the axes are an input."""
    return _unsqueeze(node, context, context.constant_ints(node.input(1), "axes"))


def _unsqueeze(node: RawNode, context: Context, axes: Sequence[int] | None) -> Canonical:
    if axes is None:
        raise ModelError("axes are missing")
    return _reshape(node, unsqueezed_shape(context.type(node.input(0)).shape, axes))


def unsqueezed_shape(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """Return `shape` with extents of 1 inserted, so that they stand at `axes` afterwards.

    Raises:
        ModelError: If an axis is out of range.
    """
    rank = len(shape) + len(axes)
    new = {axis_in_range(axis, rank) for axis in axes}
    if len(new) != len(axes):
        raise ModelError(f"axes {tuple(axes)} are not distinct")
    old = iter(shape)
    return tuple(1 if axis in new else next(old) for axis in range(rank))


def _reshape(node: RawNode, shape: tuple[int, ...]) -> Canonical:
    return Canonical("Reshape", node.inputs[:1], {"shape": shape})


def reshape_to(parts: Expansion, value: str, shape: Sequence[int]) -> Expansion:
    """End an expansion with `value` in another shape; nothing is added where it has it already."""
    target = tuple(shape)
    if parts.type(value).shape == target:
        return parts.outputs(value)
    return parts.result("Reshape", value, shape=target)


def concat(node: RawNode, context: Context) -> Canonical:
    """`Concat` since 4, which requires its axis."""
    if "axis" not in node.attrs:
        raise ModelError("attribute 'axis' is missing")
    axis = axis_in_range(int_attr(node, "axis", 0), context.type(node.input(0)).rank)
    parts = tuple(value for value in node.inputs if context.type(value).size)
    if len(parts) == 1:
        return Canonical("Identity", parts, {})
    return Canonical("Concat", parts or node.inputs, {"axis": axis})


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "Reshape": ((1, reshape_1), (5, reshape_5)),
    "Flatten": ((1, flatten),),
    "Squeeze": ((1, squeeze_1), (13, squeeze_13)),
    "Unsqueeze": ((1, unsqueeze_1), (13, unsqueeze_13)),
    "Concat": ((4, concat),),
}
