"""Borders around tensors.

Read `OPERATORS` and `MODES` first. Invariant: negative amounts crop before any border is made, so
that a border only ever repeats what is left.
"""

from __future__ import annotations

import numpy as np

from ago.ir.attributes import read_float, read_ints, read_str
from ago.ir.functions import ELEMENTS
from ago.ir.ops.operator import (
    Array,
    Attrs,
    InputArrays,
    InputTypes,
    Operator,
    array,
    optional,
    require,
    require_same_dtype,
    required_types,
)
from ago.ir.ops.window import crop_array, pad_array
from ago.ir.tensor import TensorType

MODES = ("constant", "edge", "reflect", "wrap")
"""A border of `value`, of the nearest element, of the mirror image, of the other end."""


def infer_pad(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Pad(x, value?)`: `pads` elements before each axis, then after each.

    Negative ones crop. A constant border holds the attribute `value`, or the input if there is one.
    """
    x, *value = required_types(types, 1, 2, ELEMENTS)
    require_same_dtype([x, *value])
    require(all(kind.rank == 0 for kind in value), f"value {value} must be one number")
    pads = read_ints(attrs, "pads")
    require(len(pads) == 2 * x.rank, f"pads {pads} must be {2 * x.rank} integers")
    mode = read_str(attrs, "mode")
    require(mode in MODES, f"mode {mode!r} must be one of {', '.join(MODES)}")
    befores, afters = pads[: x.rank], pads[x.rank :]
    shape = tuple(e + b + a for e, b, a in zip(x.shape, befores, afters, strict=True))
    left = [
        extent + min(before, 0) + min(after, 0)
        for extent, before, after in zip(x.shape, befores, afters, strict=True)
    ]
    least = 0 if mode == "constant" else 1
    require(min(left, default=1) >= least, f"pads {pads} crop all of {x}")
    return (TensorType(shape, x.dtype),)


def pad_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `x`, cropped where amounts are negative, with borders of the given mode."""
    x, pads, mode = array(inputs, 0), read_ints(attrs, "pads"), read_str(attrs, "mode")
    if mode == "constant":
        value = optional(inputs, 1)
        border = read_float(attrs, "value") if value is None else value.item()
        return (pad_array(x, pads, border),)
    grow = [(max(b, 0), max(a, 0)) for b, a in zip(pads[: x.ndim], pads[x.ndim :], strict=True)]
    places = [np.arange(extent) for extent in crop_array(x, pads).shape]
    around = [
        np.pad(place, amounts, mode=mode)  # type: ignore[call-overload]
        for place, amounts in zip(places, grow, strict=True)
    ]
    return (crop_array(x, pads)[np.ix_(*around)] if around else x,)


OPERATORS = (Operator("Pad", "movement", infer_pad, pad_reference),)
