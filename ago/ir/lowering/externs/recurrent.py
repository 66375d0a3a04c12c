"""RNN, GRU and LSTM as externs."""

from __future__ import annotations

from ago.ir.attributes import read_float, read_floats, read_int, read_str, read_strs
from ago.ir.extern import CFunction, CValue
from ago.ir.graph import Node
from ago.ir.lowering.context import Lowering
from ago.ir.ops.recurrent import GATES, Sizes

_ROWS = 16
"""Rows of the input, steps times batch, whose share of the gates is computed together."""

_ROLES = ("x", "w", "r", "b", "lengths", "initial_h", "initial_c", "peepholes")


def lower_recurrent(node: Node, lowering: Lowering) -> None:
    """A recurrence over the steps of a sequence; the states and gates are scratch."""
    attrs = node.attrs
    sizes = Sizes.of(lowering.types(node.inputs[0]), lowering.types(node.inputs[2]), attrs)
    chunk = max(1, min(sizes.steps, _ROWS // sizes.batch))
    constants: dict[str, CValue] = {
        "steps": sizes.steps,
        "batch": sizes.batch,
        "input": sizes.input,
        "hidden": sizes.hidden,
        "directions": sizes.directions,
        "chunk": chunk,
        "backwards": int(read_str(attrs, "direction") == "reverse"),
        "batch_first": read_int(attrs, "layout"),
        "kinds": tuple(f"AGO_ACTIVATION_{k.upper()}" for k in read_strs(attrs, "activations")),
        "alpha": read_floats(attrs, "activation_alpha"),
        "beta": read_floats(attrs, "activation_beta"),
        "clip": read_float(attrs, "clip"),
    }
    if node.op == "LSTM":
        constants["coupled"] = read_int(attrs, "input_forget")
    if node.op == "GRU":
        constants["linear_before_reset"] = read_int(attrs, "linear_before_reset")
    function = CFunction(f"ago_{node.op.lower()}", "ago_recurrent", "ago_recurrent_args", constants)
    elements = (chunk * GATES[node.op] + 3) * sizes.batch * sizes.hidden
    count = 8 if node.op == "LSTM" else 6
    lowering.extern(node, function, _ROLES[:count], [("scratch", elements, "f32")])


EXTERNS = dict.fromkeys(GATES, lower_recurrent)
