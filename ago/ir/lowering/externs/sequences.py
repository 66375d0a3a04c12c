"""CumSum, CumProd, ReverseSequence and Trilu with a run-time diagonal as externs."""

from __future__ import annotations

import math

from ago.ir.attributes import read_int
from ago.ir.graph import Node
from ago.ir.lowering.context import Lowering
from ago.ir.lowering.externs.common import around, c_function, element_bytes, element_type


def lower_scan(node: Node, lowering: Lowering) -> None:
    """Partial sums or products of neighbouring lines at once."""
    x = lowering.types(node.inputs[0])
    function = c_function(
        "ago_scan",
        "ago_scan",
        **around(x, read_int(node.attrs, "axis")),
        multiply=int(node.op == "CumProd"),
        exclusive=read_int(node.attrs, "exclusive"),
        reverse=read_int(node.attrs, "reverse"),
        type=element_type(x),
    )
    lowering.extern(node, function, ("x",))


def lower_reverse_sequence(node: Node, lowering: Lowering) -> None:
    """Steps copied whole."""
    x, lengths = (lowering.types(value) for value in node.inputs)
    batch = read_int(node.attrs, "batch_axis")
    function = c_function(
        "ago_reverse_sequence",
        "ago_rearrange",
        steps=x.shape[1 - batch],
        batch=x.shape[batch],
        bytes=math.prod(x.shape[2:]) * element_bytes(x),
        batch_first=int(batch == 0),
        lengths=element_type(lengths),
    )
    lowering.extern(node, function, ("x", "lengths"))


def lower_trilu_at(node: Node, lowering: Lowering) -> None:
    """A comparison of row and column with the diagonal."""
    x, k = (lowering.types(value) for value in node.inputs)
    function = c_function(
        "ago_trilu",
        "ago_rearrange",
        matrices=math.prod(x.shape[:-2]),
        rows=x.shape[-2],
        columns=x.shape[-1],
        bytes=element_bytes(x),
        upper=read_int(node.attrs, "upper"),
        diagonal=element_type(k),
    )
    lowering.extern(node, function, ("x", "diagonal"))


EXTERNS = {
    "CumSum": lower_scan,
    "CumProd": lower_scan,
    "ReverseSequence": lower_reverse_sequence,
    "TriluAt": lower_trilu_at,
}
