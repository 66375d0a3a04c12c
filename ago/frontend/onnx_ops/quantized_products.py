"""ONNX's convolution and matrix product of quantised tensors.

Read `TRANSLATORS` first. Operands are centred, multiplied in float32, scaled once and rounded.
Sums of products are exact up to 2^24, that is for 257 products of bytes; larger ones are within
float32's error, so that a result next to a half may round the other way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import Context, Expansion, RefusalError, Translator
from ago.frontend.onnx_ops.windows import conv_attrs
from ago.frontend.raw import RawNode
from ago.ir.functions import INTEGERS

Spread: TypeAlias = Callable[[int, int], tuple[int, ...]]
"""From the number of scales and the operand's rank to a shape that broadcasts over the operand."""


def quantized_matmul(node: RawNode, context: Context) -> Expansion:
    """`QLinearMatMul`: one scale a row of the first operand and a column of the second, or one."""
    parts = Expansion(node, context)
    a = _centred(parts, "a", 0, _rows)
    b = _centred(parts, "b", 3, _columns)
    product = parts.add("product", "MatMul", a, b)
    scale_a, scale_b = _scale(parts, "a", 0, _rows), _scale(parts, "b", 3, _columns)
    return _requantized(parts, product, scale_a, scale_b)


def quantized_conv(node: RawNode, context: Context) -> Expansion:
    """`QLinearConv`: one scale a filter, or one; the bias is in steps of the product's scale."""
    parts = Expansion(node, context)
    inputs = [_centred(parts, "x", 0, _whole), _centred(parts, "w", 3, _filters)]
    if node.input(8):
        inputs.append(parts.add("bias", "Cast", node.input(8), to="f32"))
    attrs = conv_attrs(node, context.type(node.input(0)), context.type(node.input(3)))
    sums = parts.add("sums", "Conv", *inputs, **attrs)
    rank = parts.type(sums).rank
    scale_w = _scale(parts, "w", 3, lambda count, _: (count, *[1] * (rank - 2)))
    return _requantized(parts, sums, _scale(parts, "x", 0, _whole), scale_w)


def _whole(count: int, rank: int) -> tuple[int, ...]:
    raise RefusalError(f"{count} scales of the input; only one")


def _rows(count: int, rank: int) -> tuple[int, ...]:
    return (count, 1)


def _columns(count: int, rank: int) -> tuple[int, ...]:
    return (count,)


def _filters(count: int, rank: int) -> tuple[int, ...]:
    return (count, *[1] * (rank - 1))


def _centred(parts: Expansion, name: str, position: int, spread: Spread) -> str:
    """An operand as float32 without its zero point, which stands two inputs behind."""
    node = parts.node
    value, zero = node.input(position), node.input(position + 2)
    rank = parts.type(value).rank
    value = parts.add(f"{name}_real", "Cast", value, to="f32")
    if not zero:
        raise ModelError(f"the zero point of input {position} is missing")
    zero = parts.add(f"{name}_zero", "Cast", zero, to="f32")
    return parts.add(
        f"{name}_centred", "Sub", value, _spread(parts, f"{name}_zeros", zero, rank, spread)
    )


def _scale(parts: Expansion, name: str, position: int, spread: Spread) -> str:
    """The scale of an operand, which stands one input behind it."""
    node = parts.node
    rank = parts.type(node.input(position)).rank
    value = _real(parts, f"{name}_scale_real", node.input(position + 1))
    return _spread(parts, f"{name}_scale", value, rank, spread)


def _real(parts: Expansion, name: str, value: str) -> str:
    return value if parts.type(value).dtype == "f32" else parts.add(name, "Cast", value, to="f32")


def _spread(parts: Expansion, name: str, value: str, rank: int, spread: Spread) -> str:
    """Scales or zero points in a shape that broadcasts over what they belong to."""
    kind = parts.type(value)
    if kind.size == 1:
        return parts.add(name, "Reshape", value, shape=())
    if kind.rank != 1:
        raise RefusalError(f"scales or zero points {kind}; only one, or one a slice")
    return parts.add(name, "Reshape", value, shape=spread(kind.size, rank))


def _requantized(parts: Expansion, sums: str, *scales: str) -> Expansion:
    """End with `saturate(round(sums * scales / y_scale) + y_zero_point)`."""
    node = parts.node
    to = parts.type(node.input(7)).dtype
    if to not in INTEGERS:
        raise RefusalError(f"quantisation to {to}; only to integers")
    y_scale = _real(parts, "y_scale_real", node.input(6))
    y_scale = parts.add("y_scale", "Reshape", y_scale, shape=())
    factor = parts.add("factor", "Div", parts.add("scales", "Mul", *scales), y_scale)
    scaled = parts.add("scaled", "Mul", sums, factor)
    zero = parts.add("y_zero", "Cast", node.input(7), to="f32")
    zero = parts.add("y_zeros", "Reshape", zero, shape=())
    shifted = parts.add("shifted", "Add", parts.add("rounded", "Round", scaled), zero)
    return parts.result("Cast", shifted, to=to)


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "QLinearConv": ((10, quantized_conv),),
    "QLinearMatMul": ((10, quantized_matmul),),
}
