"""Lowering of element-wise operators: one plain store for each element of the output."""

from __future__ import annotations

import math
from collections.abc import Callable

from ago.ir.attributes import read_float
from ago.ir.graph import Node
from ago.ir.lowering.context import Lowering
from ago.ir.value import Call, Const, Value

Expression = Callable[[Node, list[Value]], Value]


def lower_elementwise(kind: str, expression: Expression) -> Callable[[Node, Lowering], None]:
    """The lowering of an operator that maps elements, with broadcasting.

    Args:
        kind: What to call the stage.
        expression: The value, from the node and the loads of its inputs.
    """

    def lower(node: Node, lowering: Lowering) -> None:
        name = lowering.stage_name(kind)
        out = lowering.axes_of(name, node.output)
        operands: list[Value] = []
        for value in node.inputs:
            constant = value in lowering.constants
            role = f"{name}_constant" if constant else "input"
            operands.append(lowering.broadcast(value, out.index, role))
        lowering.store(node, name, out.axes, out.index, expression(node, operands))

    return lower


def identity(node: Node, operands: list[Value]) -> Value:
    """The element itself."""
    return operands[0]


def relu(node: Node, operands: list[Value]) -> Value:
    """`max(0, x)`; NaN stays NaN, since `max` returns its second operand for it."""
    return Call("max", (Const(0.0), operands[0]))


def clip(node: Node, operands: list[Value]) -> Value:
    """`min(high, max(low, x))`, in this order as ONNX says where `low > high`; NaN stays NaN."""
    value = operands[0]
    low, high = read_float(node.attrs, "min"), read_float(node.attrs, "max")
    if low != -math.inf:
        value = Call("max", (Const(low), value))
    if high != math.inf:
        value = Call("min", (Const(high), value))
    return value


def binary(function: str) -> Expression:
    """`function(a, b)`."""
    return lambda node, operands: Call(function, (operands[0], operands[1]))
