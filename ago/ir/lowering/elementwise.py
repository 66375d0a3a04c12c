"""Lowering of element-wise operators: one plain store for each element of the output.

Read `ELEMENTWISE` first. What an element is computed as stands in `ago.ir.lowering.pointwise`, but
for the operators here, whose value depends on element types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ago.ir.attributes import read_float
from ago.ir.functions import FLOATS, INTEGERS
from ago.ir.graph import Node
from ago.ir.lowering.context import Lowering
from ago.ir.lowering.pointwise import POINTWISE, Expression
from ago.ir.value import Call, Const, Value

TypedExpression = Callable[[Node, list[Value], list[str]], Value]


def lower_elementwise(kind: str, expression: Expression) -> Callable[[Node, Lowering], None]:
    """The lowering of an operator that maps elements, with broadcasting.

    Args:
        kind: What to call the stage.
        expression: The value, from the node and the loads of its inputs.
    """
    return lower_typed(kind, lambda node, operands, dtypes: expression(node, operands))


def lower_typed(kind: str, expression: TypedExpression) -> Callable[[Node, Lowering], None]:
    """As `lower_elementwise`, for a value that depends on the operands' element types.

    Args:
        kind: What to call the stage.
        expression: The value, from the node, the loads of its inputs and their element types.
    """

    def lower(node: Node, lowering: Lowering) -> None:
        name = lowering.stage_name(kind)
        out = lowering.axes_of(name, node.output)
        operands: list[Value] = []
        for value in node.inputs:
            constant = value in lowering.constants
            role = f"{name}_constant" if constant else "input"
            operands.append(lowering.broadcast(value, out.index, role))
        dtypes = [lowering.types(value).dtype for value in node.inputs]
        lowering.store(node, name, out.axes, out.index, expression(node, operands, dtypes))

    return lower


def clip(node: Node, operands: list[Value]) -> Value:
    """`min(high, max(low, x))`, in this order as ONNX says where `low > high`; NaN stays NaN."""
    value = operands[0]
    low, high = read_float(node.attrs, "min"), read_float(node.attrs, "max")
    if low != -math.inf:
        value = Call("max", (Const(low), value))
    if high != math.inf:
        value = Call("min", (Const(high), value))
    return value


def convert(value: Value, source: str, target: str) -> Value:
    """A value as another element type."""
    return value if source == target else Call(f"to_{target}", (value,))


def cast(node: Node, operands: list[Value], dtypes: list[str]) -> Value:
    """The number, as the type of the result."""
    return convert(operands[0], dtypes[0], node.type.dtype)


def bitcast(node: Node, operands: list[Value], dtypes: list[str]) -> Value:
    """The bits, as the type of the result."""
    same = dtypes[0] == node.type.dtype
    return operands[0] if same else Call(f"bits_{node.type.dtype}", (operands[0],))


def power(node: Node, operands: list[Value], dtypes: list[str]) -> Value:
    """`a` to the power of `b` in the type of `a`; through float32 where one of them is a float.

    Odd integers from 2^24 on are even in float32: the sign of their power is set apart.
    """
    own = dtypes[0]
    if own in INTEGERS and dtypes[1] in FLOATS:
        base, exponent = (
            convert(value, dtype, "f32") for value, dtype in zip(operands, dtypes, strict=True)
        )
        return convert(Call("pow", (base, exponent)), "f32", own)
    exponent = convert(operands[1], dtypes[1], own)
    result = Call("pow", (operands[0], exponent))
    if own not in FLOATS or dtypes[1] not in ("i32", "i64", "u32", "u64"):
        return result
    one = Const(1, dtypes[1])
    odd = Call("equal", (Call("and", (operands[1], one)), one))
    rounded = Call("less_equal", (Const(2.0**24), Call("abs", (exponent,))))
    negative = Call("less", (operands[0], Const(0.0)))
    flips = Call("and", (Call("and", (odd, rounded)), negative))
    return Call("where", (flips, Call("neg", (Call("abs", (result,)),)), result))


_NAMES: Mapping[str, str] = {"Identity": "copy"}

ELEMENTWISE: Mapping[str, Callable[[Node, Lowering], None]] = {
    **{
        op: lower_elementwise(_NAMES.get(op, op.lower()), expression)
        for op, expression in POINTWISE.items()
    },
    "Clip": lower_elementwise("clip", clip),
    "Cast": lower_typed("cast", cast),
    "BitCast": lower_typed("bitcast", bitcast),
    "Pow": lower_typed("pow", power),
}
"""The lowerings of the operators that map elements."""
