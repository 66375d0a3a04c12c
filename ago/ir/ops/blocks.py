"""Blocks of pixels as channels and back.

Read `OPERATORS` first. Invariant: in `depth_first` (ONNX's DCR) the place in the block is the
slower part of a channel's number, otherwise (CRD) the faster one.
"""

from __future__ import annotations

from ago.ir.attributes import read_int
from ago.ir.functions import ELEMENTS
from ago.ir.ops.operator import (
    Array,
    Attrs,
    InputArrays,
    InputTypes,
    Operator,
    array,
    require,
    required_types,
)
from ago.ir.tensor import TensorType


def infer_depth_to_space(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `DepthToSpace(x[N,C*b*b,H,W]) -> [N,C,H*b,W*b]` for blocks of `b` x `b`."""
    x, block = _image(types, attrs)
    batch, channels, height, width = x.shape
    fits = channels % (block * block) == 0
    require(fits, f"{channels} channels are no whole number of blocks of {block} x {block}")
    shape = (batch, channels // (block * block), height * block, width * block)
    return (TensorType(shape, x.dtype),)


def infer_space_to_depth(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `SpaceToDepth(x[N,C,H*b,W*b]) -> [N,C*b*b,H,W]` for blocks of `b` x `b`."""
    x, block = _image(types, attrs)
    batch, channels, height, width = x.shape
    fits = height % block == 0 and width % block == 0
    require(fits, f"{height} x {width} pixels are no whole number of blocks of {block} x {block}")
    shape = (batch, channels * block * block, height // block, width // block)
    return (TensorType(shape, x.dtype),)


def depth_to_space_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return the image whose blocks are the channels of `x`."""
    x, block = array(inputs, 0), read_int(attrs, "block")
    batch, channels, height, width = x.shape
    channels //= block * block
    if read_int(attrs, "depth_first"):
        parts = x.reshape(batch, block, block, channels, height, width)
        parts = parts.transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = x.reshape(batch, channels, block, block, height, width)
        parts = parts.transpose(0, 1, 4, 2, 5, 3)
    return (parts.reshape(batch, channels, height * block, width * block),)


def space_to_depth_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return the blocks of an image as channels."""
    x, block = array(inputs, 0), read_int(attrs, "block")
    batch, channels, height, width = x.shape
    height, width = height // block, width // block
    parts = x.reshape(batch, channels, height, block, width, block)
    order = (0, 3, 5, 1, 2, 4) if read_int(attrs, "depth_first") else (0, 1, 3, 5, 2, 4)
    return (parts.transpose(order).reshape(batch, channels * block * block, height, width),)


def _image(types: InputTypes, attrs: Attrs) -> tuple[TensorType, int]:
    (x,) = required_types(types, 1, 1, ELEMENTS)
    block = read_int(attrs, "block")
    require(x.rank == 4, f"needs an input [N,C,H,W], not {x}")
    require(block >= 1, f"block {block} must be positive")
    return x, block


OPERATORS = (
    Operator("DepthToSpace", "movement", infer_depth_to_space, depth_to_space_reference),
    Operator("SpaceToDepth", "movement", infer_space_to_depth, space_to_depth_reference),
)
