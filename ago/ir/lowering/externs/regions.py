"""RoiAlign and DeformConv as externs."""

from __future__ import annotations

import math

from ago.ir.attributes import read_float, read_int, read_str
from ago.ir.graph import Node
from ago.ir.lowering.context import Lowering
from ago.ir.lowering.externs.common import c_function, element_type
from ago.ir.ops.window import Window

_BLOCK = 16
"""Output positions that share weights: AGO_DEFORM_BLOCK of `ago_deform_conv.h`."""


def lower_roi_align(node: Node, lowering: Lowering) -> None:
    """Samples of each bin of each region."""
    x, rois, images = (lowering.types(value) for value in node.inputs)
    batch, channels, height, width = x.shape
    function = c_function(
        "ago_roi_align",
        "ago_roi_align",
        batch=batch,
        channels=channels,
        height=height,
        width=width,
        rois=rois.shape[0],
        out_height=read_int(node.attrs, "output_height"),
        out_width=read_int(node.attrs, "output_width"),
        samples=read_int(node.attrs, "sampling_ratio"),
        scale=read_float(node.attrs, "spatial_scale"),
        maximum=int(read_str(node.attrs, "mode") == "max"),
        half_pixel=read_int(node.attrs, "half_pixel"),
        indices=element_type(images),
    )
    lowering.extern(node, function, ("x", "rois", "images"))


def lower_deform_conv(node: Node, lowering: Lowering) -> None:
    """Windows gathered for a block of positions, then products with the weights."""
    x, w = (lowering.types(value) for value in node.inputs[:2])
    window = Window.read(node.attrs, w.shape[2:])
    batch, channels, height, width = x.shape
    function = c_function(
        "ago_deform_conv",
        "ago_deform_conv",
        batch=batch,
        channels=channels,
        height=height,
        width=width,
        filters=w.shape[0],
        groups=read_int(node.attrs, "group"),
        offset_groups=read_int(node.attrs, "offset_group"),
        kernel=window.kernel,
        strides=window.strides,
        dilations=window.dilations,
        pads=window.pads[:2],
        out_height=node.type.shape[2],
        out_width=node.type.shape[3],
    )
    elements = _BLOCK * (channels * math.prod(window.kernel) + w.shape[0])
    roles = ("x", "weight", "offset", "bias", "mask")
    lowering.extern(node, function, roles, [("windows", elements, "f32")])


EXTERNS = {"RoiAlign": lower_roi_align, "DeformConv": lower_deform_conv}
