"""ONNX's recurrent networks.

Read `TRANSLATORS` first. Invariant: each activation gets an alpha and a beta of its own here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import (
    Canonical,
    Context,
    RefusalError,
    Translator,
    float_attr,
    floats_attr,
    int_attr,
    str_attr,
    strs_attr,
)
from ago.frontend.raw import RawNode
from ago.ir.ops.recurrent import ACTIVATIONS, ACTIVATIONS_OF, DIRECTIONS

_USUAL: Mapping[str, tuple[str, ...]] = {
    "RNN": ("Tanh",),
    "GRU": ("Sigmoid", "Tanh"),
    "LSTM": ("Sigmoid", "Tanh", "Tanh"),
}

_ALPHA: Mapping[str, float | None] = {
    "Affine": 1.0,
    "LeakyRelu": 0.01,
    "ThresholdedRelu": 1.0,
    "ScaledTanh": None,
    "HardSigmoid": 0.2,
    "Elu": 1.0,
}
"""Activations with an alpha and what it is by default, as for the operators of these names."""

_BETA: Mapping[str, float | None] = {"Affine": 0.0, "ScaledTanh": None, "HardSigmoid": 0.5}
"""Likewise for beta."""


def _translator(op: str, switch: str) -> Translator:
    def translate(node: RawNode, context: Context) -> Canonical:
        direction = str_attr(node, "direction", "forward")
        if direction not in DIRECTIONS:
            raise ModelError(f"attribute direction={direction!r} is not one of {DIRECTIONS}")
        directions = 2 if direction == "bidirectional" else 1
        names = _names(op, strs_attr(node, "activations"), directions)
        attrs: dict[str, object] = {
            "direction": direction,
            "layout": int_attr(node, "layout", 0),
            "activations": names,
            "activation_alpha": _numbers(node, "activation_alpha", names, _ALPHA),
            "activation_beta": _numbers(node, "activation_beta", names, _BETA),
            "clip": float_attr(node, "clip", math.inf),
        }
        if switch:
            attrs[switch] = int_attr(node, switch, 0)
        return Canonical(op, _without_absent_end(node.inputs), attrs)

    return translate


def _names(op: str, given: Sequence[str] | None, directions: int) -> tuple[str, ...]:
    """ONNX's names of all activations; files write them in any case."""
    if not given:
        return _USUAL[op] * directions
    count = ACTIVATIONS_OF[op] * directions
    if len(given) != count:
        raise ModelError(f"attribute 'activations' must list {count} of them, not {given}")
    known = {name.lower(): name for name in ACTIVATIONS}
    unknown = [name for name in given if name.lower() not in known]
    if unknown:
        raise RefusalError(f"activation {unknown[0]!r} is unknown")
    return tuple(known[name.lower()] for name in given)


def _numbers(
    node: RawNode, attribute: str, names: Sequence[str], defaults: Mapping[str, float | None]
) -> tuple[float, ...]:
    """One number for each activation: the file lists those of activations that have one, in order.

    Others get 0, which they do not use.
    """
    given = list(floats_attr(node, attribute) or ())
    numbers = []
    for name in names:
        default = defaults.get(name, 0.0)
        if name in defaults and given:
            default = given.pop(0)
        if default is None:
            raise RefusalError(f"activation {name} without {attribute}, which has no default")
        numbers.append(default)
    return tuple(numbers)


def _without_absent_end(inputs: Sequence[str]) -> tuple[str, ...]:
    count = max((k + 1 for k, value in enumerate(inputs) if value), default=0)
    return tuple(inputs[:count])


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "RNN": ((7, _translator("RNN", "")),),
    "GRU": ((7, _translator("GRU", "linear_before_reset")),),
    "LSTM": ((7, _translator("LSTM", "input_forget")),),
}
