"""ONNX's operators that read images at computed places, or put maps together.

Read `TRANSLATORS` first.
"""

from __future__ import annotations

from collections.abc import Mapping

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import (
    Canonical,
    Context,
    RefusalError,
    Translator,
    float_attr,
    int_attr,
    ints_attr,
    str_attr,
)
from ago.frontend.onnx_ops.windows import window_attrs
from ago.frontend.raw import RawNode
from ago.ir.ops.sampling import GRID_MODES

_MODES_16 = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}
_MODES_20 = {mode: mode for mode in GRID_MODES}


def grid_sample_16(node: RawNode, context: Context) -> Canonical:
    """`GridSample` 16 to 19, on two spatial axes."""
    return _grid_sample(node, "bilinear", _MODES_16)


def grid_sample_20(node: RawNode, context: Context) -> Canonical:
    """`GridSample` since 20, on any spatial axes."""
    return _grid_sample(node, "linear", _MODES_20)


def _grid_sample(node: RawNode, default: str, modes: Mapping[str, str]) -> Canonical:
    name = str_attr(node, "mode", default)
    if name not in modes:
        raise RefusalError(f"attribute mode={name!r}; expected one of {', '.join(modes)}")
    mode = modes[name]
    attrs = {
        "mode": mode,
        "padding_mode": str_attr(node, "padding_mode", "zeros"),
        "align_corners": int(bool(int_attr(node, "align_corners", 0))),
    }
    return Canonical("GridSample", node.inputs, attrs)


def roi_align_10(node: RawNode, context: Context) -> Canonical:
    """`RoiAlign` 10, in whose coordinates the centre of the first pixel is at 0."""
    return _roi_align(node, half_pixel=False)


def roi_align_16(node: RawNode, context: Context) -> Canonical:
    """`RoiAlign` since 16, where an attribute says how coordinates count."""
    mode = str_attr(node, "coordinate_transformation_mode", "half_pixel")
    if mode not in ("half_pixel", "output_half_pixel"):
        raise RefusalError(f"attribute coordinate_transformation_mode={mode!r}")
    return _roi_align(node, half_pixel=mode == "half_pixel")


def _roi_align(node: RawNode, *, half_pixel: bool) -> Canonical:
    attrs = {
        "mode": str_attr(node, "mode", "avg"),
        "output_height": int_attr(node, "output_height", 1),
        "output_width": int_attr(node, "output_width", 1),
        "sampling_ratio": int_attr(node, "sampling_ratio", 0),
        "spatial_scale": float_attr(node, "spatial_scale", 1.0),
        "half_pixel": int(half_pixel),
    }
    return Canonical("RoiAlign", node.inputs, attrs)


def deform_conv(node: RawNode, context: Context) -> Canonical:
    """`DeformConv`, on two spatial axes."""
    x, w = context.type(node.input(0)), context.type(node.input(1))
    if x.rank != 4:
        raise RefusalError(f"{x.rank - 2} spatial axes; only 2 are supported")
    attrs, _ = window_attrs(node, x.shape[2:], w.shape[2:])
    attrs["group"] = int_attr(node, "group", 1)
    attrs["offset_group"] = int_attr(node, "offset_group", 1)
    return Canonical("DeformConv", node.inputs, attrs)


def max_unpool(node: RawNode, context: Context) -> Canonical:
    """`MaxUnpool`; the map that the indices count in may be smaller than the one asked for."""
    kernel = ints_attr(node, "kernel_shape")
    if kernel is None:
        raise ModelError("attribute 'kernel_shape' is missing")
    rank = len(kernel)
    extents = context.type(node.input(0)).shape[2:]
    strides = ints_attr(node, "strides") or (1,) * rank
    pads = ints_attr(node, "pads") or (0,) * 2 * rank
    if not len(extents) == len(strides) == rank or len(pads) != 2 * rank:
        raise ModelError(f"kernel_shape {kernel} does not fit {len(extents)} spatial axes")
    pooled = tuple(
        (extents[d] - 1) * strides[d] - pads[d] - pads[rank + d] + kernel[d] for d in range(rank)
    )
    shape = context.constant_ints(node.input(2), "output_shape")
    attrs = {"pooled": pooled, "extents": pooled if shape is None else shape[2:]}
    return Canonical("MaxUnpool", node.inputs[:2], attrs)


def col2im(node: RawNode, context: Context) -> Canonical:
    """`Col2Im`: image and block decide the shape, so they must be constant."""
    image = context.constant_ints(node.input(1), "image_shape")
    block = context.constant_ints(node.input(2), "block_shape")
    if image is None or block is None:
        raise ModelError("image_shape and block_shape must be there")
    attrs, _ = window_attrs(node, image, block)
    return Canonical("Col2Im", node.inputs[:1], {**attrs, "image": image, "block": block})


def det(node: RawNode, context: Context) -> Canonical:
    """`Det`."""
    return Canonical("Det", node.inputs, {})


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "GridSample": ((16, grid_sample_16), (20, grid_sample_20)),
    "RoiAlign": ((10, roi_align_10), (16, roi_align_16)),
    "DeformConv": ((19, deform_conv),),
    "MaxUnpool": ((9, max_unpool),),
    "Col2Im": ((18, col2im),),
    "Det": ((11, det),),
}
