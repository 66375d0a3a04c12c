"""Maps put together from parts, and determinants.

Read `OPERATORS` first. Invariant: maps are `[N, C, spatial...]` with 1 to 3 spatial axes.
"""

from __future__ import annotations

import math

import numpy as np

from ago.ir.attributes import read_ints
from ago.ir.ops.operands import at_most, operand
from ago.ir.ops.operator import Array, Attrs, InputArrays, InputTypes, Operator, array, require
from ago.ir.ops.window import Window
from ago.ir.tensor import TensorType


def infer_max_unpool(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `MaxUnpool(x, indices)`: a map of `extents`, which holds one of `pooled`."""
    at_most(types, 2)
    x, indices = operand(types, 0, "x"), operand(types, 1, "indices", {"i64"})
    require(x.shape == indices.shape, f"{x} and {indices} differ in shape")
    pooled, extents = read_ints(attrs, "pooled"), read_ints(attrs, "extents")
    rank = x.rank - 2
    require(1 <= rank <= 3 and len(pooled) == len(extents) == rank, f"extents {extents} for {x}")
    fits = all(1 <= own <= full for own, full in zip(pooled, extents, strict=True))
    require(fits, f"a map of {pooled} does not fit one of {extents}")
    return (TensorType((*x.shape[:2], *extents)),)


def max_unpool_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Zeros, and each element at its index, which counts through all of the pooled maps."""
    x, indices = array(inputs, 0), array(inputs, 1)
    pooled, extents = read_ints(attrs, "pooled"), read_ints(attrs, "extents")
    flat = np.zeros(math.prod(x.shape[:2]) * math.prod(pooled))
    inside = (indices >= 0) & (indices < flat.size)
    flat[indices[inside]] = x[inside]
    result = np.zeros((*x.shape[:2], *extents))
    corner = (slice(None), slice(None), *(slice(extent) for extent in pooled))
    result[corner] = flat.reshape(*x.shape[:2], *pooled)
    return (result,)


def infer_col2im(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Col2Im(x[N, C * block, blocks]) -> [N, C, image...]`."""
    at_most(types, 1)
    x = operand(types, 0, "x")
    image, block = read_ints(attrs, "image"), read_ints(attrs, "block")
    require(x.rank == 3 and len(image) == len(block), f"an image of {image} from {x}")
    counts = Window.read(attrs, block).output_extents(image)
    channels, rest = divmod(x.shape[1], math.prod(block))
    require(rest == 0, f"{x.shape[1]} rows are no whole blocks of {block}")
    require(math.prod(counts) == x.shape[2], f"blocks {counts} of an image of {image} for {x}")
    return (TensorType((x.shape[0], channels, *image)),)


def col2im_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """The sum of all blocks, each at its place; what lies in the padding is left out."""
    x = array(inputs, 0)
    image, block = read_ints(attrs, "image"), read_ints(attrs, "block")
    window = Window.read(attrs, block)
    counts = window.output_extents(image)
    parts = x.reshape(x.shape[0], -1, *block, *counts)
    result = np.zeros((*parts.shape[:2], *image))
    for place in np.ndindex(*block, *counts):
        tap, number = place[: len(block)], place[len(block) :]
        at = tuple(
            n * stride - pad + t * step
            for n, stride, pad, t, step in zip(
                number, window.strides, window.pads, tap, window.dilations, strict=False
            )
        )
        if all(0 <= p < extent for p, extent in zip(at, image, strict=True)):
            result[(..., *at)] += parts[(..., *place)]
    return (result,)


def infer_det(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Det(x[..., n, n])`."""
    at_most(types, 1)
    x = operand(types, 0, "x")
    require(x.rank >= 2 and x.shape[-1] == x.shape[-2], f"needs square matrices, not {x}")
    return (TensorType(x.shape[:-2]),)


def det_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """The determinant of each matrix."""
    return (np.asarray(np.linalg.det(array(inputs, 0))),)


OPERATORS = (
    Operator("MaxUnpool", "extern", infer_max_unpool, max_unpool_reference),
    Operator("Col2Im", "extern", infer_col2im, col2im_reference),
    Operator("Det", "extern", infer_det, det_reference),
)
