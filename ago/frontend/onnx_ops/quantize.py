"""ONNX's linear quantisation, in terms of arithmetic and casts.

Read `TRANSLATORS` first. Scales and zero points are one number, one a slice of an axis, or one a
block of it. Invariant: quotients round half to even, and what does not fit saturates.
"""

from __future__ import annotations

from dataclasses import dataclass

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import (
    Canonical,
    Context,
    Expansion,
    RefusalError,
    Translator,
    axis_in_range,
    int_attr,
)
from ago.frontend.onnx_ops.elementwise import element_type
from ago.frontend.raw import RawNode
from ago.ir.functions import INTEGERS

_FLOAT = 1
"""ONNX's number of float32."""


@dataclass(frozen=True, slots=True)
class _Grid:
    """How scales lie over a tensor.

    Attributes:
        whole: The tensor's shape, a blocked axis as two.
        scales: The shape of scales and zero points, so that they broadcast to `whole`.
    """

    whole: tuple[int, ...]
    scales: tuple[int, ...]


def _grid(node: RawNode, context: Context) -> _Grid:
    """The grid of a node on `x` and `scale`."""
    shape, scale = context.type(node.input(0)).shape, context.type(node.input(1)).shape
    if scale in ((), (1,)):
        return _Grid(shape, ())
    axis = axis_in_range(int_attr(node, "axis", 1), len(shape))
    if len(scale) == 1:
        if scale[0] != shape[axis]:
            raise ModelError(f"{scale[0]} scales for the {shape[axis]} slices of axis {axis}")
        return _Grid(shape, (*scale, *[1] * (len(shape) - axis - 1)))
    block = int_attr(node, "block_size", 0)
    blocks = scale[axis] if len(scale) == len(shape) else 0
    if blocks == 0 or scale[:axis] + scale[axis + 1 :] != shape[:axis] + shape[axis + 1 :]:
        raise ModelError(f"scales of shape {scale} fit no axis of {shape}")
    if block * blocks != shape[axis]:
        raise RefusalError(f"{shape[axis]} elements in {blocks} blocks of {block}; only whole ones")
    whole = (*shape[:axis], blocks, block, *shape[axis + 1 :])
    return _Grid(whole, (*scale[: axis + 1], 1, *scale[axis + 1 :]))


def _real(parts: Expansion, name: str, value: str, shape: tuple[int, ...]) -> str:
    """A value as float32 in another shape."""
    if parts.type(value).dtype != "f32":
        value = parts.add(f"{name}_real", "Cast", value, to="f32")
    if parts.type(value).shape != shape:
        value = parts.add(name, "Reshape", value, shape=shape)
    return value


def quantize(node: RawNode, context: Context) -> Canonical | Expansion:
    """`QuantizeLinear`: `saturate(round(x / scale) + zero_point)`."""
    if int_attr(node, "precision", _FLOAT) not in (0, _FLOAT):
        raise RefusalError("attribute precision; only that of float32")
    to = element_type(node, "output_dtype", 0) if int_attr(node, "output_dtype", 0) else "u8"
    if node.input(2):
        to = context.type(node.input(2)).dtype
    if to not in INTEGERS:
        raise RefusalError(f"quantisation to {to}; only to integers")
    parts, grid = Expansion(node, context), _grid(node, context)
    x = _real(parts, "x", node.input(0), grid.whole)
    scaled = parts.add("scaled", "Div", x, _real(parts, "scale", node.input(1), grid.scales))
    number = parts.add("rounded", "Round", scaled)
    if node.input(2):
        zero = _real(parts, "zero_point", node.input(2), grid.scales)
        number = parts.add("shifted", "Add", number, zero)
    shape = context.type(node.input(0)).shape
    return parts.result("Cast", _real(parts, "flat", number, shape), to=to)


def dequantize(node: RawNode, context: Context) -> Canonical | Expansion:
    """`DequantizeLinear`: `(x - zero_point) * scale`, in float32."""
    if int_attr(node, "output_dtype", _FLOAT) not in (0, _FLOAT):
        raise RefusalError("attribute output_dtype; only float32")
    parts, grid = Expansion(node, context), _grid(node, context)
    value = _real(parts, "x", node.input(0), grid.whole)
    if node.input(2):
        zero = _real(parts, "zero_point", node.input(2), grid.scales)
        value = parts.add("centred", "Sub", value, zero)
    scaled = parts.add("scaled", "Mul", value, _real(parts, "scale", node.input(1), grid.scales))
    return parts.result("Reshape", scaled, shape=context.type(node.input(0)).shape)


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "DequantizeLinear": ((10, dequantize),),
    "QuantizeLinear": ((10, quantize),),
}
