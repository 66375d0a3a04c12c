"""ONNX's Pad.

Read `TRANSLATORS` first. Invariant: there is an amount for each end of each axis here.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    ints_attr,
    str_attr,
)
from ago.frontend.raw import RawNode
from ago.ir.ops.padding import MODES


def pad_2(node: RawNode, context: Context) -> Canonical:
    """`Pad` 2: amounts and value are attributes."""
    return _pad(node, ints_attr(node, "pads"), float_attr(node, "value", 0.0))


def pad_11(node: RawNode, context: Context) -> Canonical | Expansion:
    """`Pad` since 11: amounts, value and, since 18, the axes are inputs."""
    pads = context.constant_ints(node.input(1), "pads")
    axes = context.constant_ints(node.input(3), "axes")
    if pads is not None and axes is not None:
        pads = _spread(pads, axes, context.type(node.input(0)).rank)
    border = node.input(2)
    if border in context.constants:
        value = np.ravel(context.constants[border])
        return _pad(node, pads, float(value[0]) if value.size else 0.0)
    meaning = _pad(node, pads, 0.0)
    if not border or meaning.attrs["mode"] != "constant":
        return meaning
    parts = Expansion(node, context)
    number = parts.add("value", "Reshape", border, shape=())
    return parts.result("Pad", node.input(0), number, **meaning.attrs)


def _spread(pads: Sequence[int], axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Amounts for all axes from those for some."""
    if len(pads) != 2 * len(axes):
        raise ModelError(f"pads {tuple(pads)} do not fit the axes {tuple(axes)}")
    spread = [0] * 2 * rank
    for position, axis in enumerate(axes):
        place = axis_in_range(axis, rank)
        spread[place] = pads[position]
        spread[place + rank] = pads[position + len(axes)]
    return tuple(spread)


def _pad(node: RawNode, pads: Sequence[int] | None, value: float) -> Canonical:
    mode = str_attr(node, "mode", "constant")
    if mode not in MODES:
        raise RefusalError(f"attribute mode={mode!r}; known are {', '.join(MODES)}")
    if pads is None:
        raise ModelError("pads are missing")
    return Canonical("Pad", node.inputs[:1], {"mode": mode, "pads": tuple(pads), "value": value})


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {"Pad": ((2, pad_2), (11, pad_11))}
