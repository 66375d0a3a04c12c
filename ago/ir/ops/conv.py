"""Convolution.

Read `OPERATORS` first. Invariant: one row covers every group, stride, dilation and padding.
"""

from __future__ import annotations

import math

import numpy as np

from ago.ir.attributes import read_int
from ago.ir.ops.operator import (
    Array,
    Attrs,
    InputArrays,
    InputTypes,
    Operator,
    array,
    optional,
    require,
    required_types,
)
from ago.ir.ops.window import Window, pad_array
from ago.ir.tensor import TensorType


def infer_conv(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Conv(x[N,C,...], w[O,C/group,...], b[O]?) -> [N,O,...]`."""
    x, w, *bias = required_types(types, 2, 3)
    group = read_int(attrs, "group")
    require(x.rank >= 3, f"needs an input [N,C,spatial...], not {x}")
    require(w.rank == x.rank, f"weight {w} must have as many axes as the input {x}")
    window = Window.read(attrs, w.shape[2:])
    channels, filters = x.shape[1], w.shape[0]
    require(group >= 1, f"group {group} must be positive")
    fits = w.shape[1] * group == channels
    require(fits, f"weight {w} with group={group} does not fit the input's {channels} channels")
    require(filters % group == 0, f"{filters} filters cannot be split into {group} groups")
    for kind in bias:
        require(kind.shape == (filters,), f"bias {kind} must have the shape ({filters},)")
    return (TensorType((x.shape[0], filters, *window.output_extents(x.shape[2:]))),)


def conv_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Convolution as a sum over taps of one matrix product per group."""
    x, w, bias = array(inputs, 0), array(inputs, 1), optional(inputs, 2)
    group = read_int(attrs, "group")
    window = Window.read(attrs, w.shape[2:])
    extents = window.output_extents(x.shape[2:])
    rank = len(extents)
    pads = (0, 0, *window.pads[:rank], 0, 0, *window.pads[rank:])
    padded = pad_array(x, pads, 0.0)
    batch, depth = x.shape[0], w.shape[1]
    weights = w.reshape(group, w.shape[0] // group, depth, -1)
    result = np.zeros((batch, group, weights.shape[1], math.prod(extents)))
    with np.errstate(invalid="ignore", over="ignore"):
        for tap, values in enumerate(window.taps(padded, extents)):
            columns = values.reshape(batch, group, depth, -1)
            matrix = weights[:, :, :, tap]
            result += columns * matrix if depth == 1 else matrix @ columns
        result = result.reshape(batch, w.shape[0], *extents)
        if bias is not None:
            result += bias.reshape(-1, *[1] * rank)
    return (result,)


OPERATORS = (Operator("Conv", "complex", infer_conv, conv_reference),)
