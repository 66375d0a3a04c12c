"""Regions of images: RoiAlign and deformable convolution.

Read `OPERATORS` first. Invariant: images are `[N, C, H, W]`; outside of them is 0.
"""

from __future__ import annotations

import math

import numpy as np

from ago.ir.attributes import read_float, read_int, read_ints, read_str
from ago.ir.ops.operands import FLOAT, INDEX, at_most, operand, optional_operand
from ago.ir.ops.operator import (
    Array,
    Attrs,
    InputArrays,
    InputTypes,
    Operator,
    array,
    optional,
    require,
)
from ago.ir.ops.window import Window
from ago.ir.tensor import TensorType

MOST_SAMPLES = 1024
"""Most samples of a bin of RoiAlign along one axis, where their number follows from the region."""


def infer_roi_align(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `RoiAlign(x[N,C,H,W], rois[R,4], images[R]) -> [R,C,height,width]`."""
    at_most(types, 3)
    x, rois = operand(types, 0, "x"), operand(types, 1, "rois")
    images = operand(types, 2, "batch_indices", INDEX)
    fits = x.rank == 4 and rois.rank == 2 and rois.shape[1] == 4
    fits = fits and images.shape == (rois.shape[0],)
    require(fits, f"{x}, {rois} and {images} do not fit each other")
    require(read_str(attrs, "mode") in ("avg", "max"), "mode must be 'avg' or 'max'")
    height, width = read_int(attrs, "output_height"), read_int(attrs, "output_width")
    require(height >= 1 and width >= 1, f"an output of {height} by {width}")
    require(read_int(attrs, "sampling_ratio") >= 0, "sampling_ratio must not be negative")
    return (TensorType((rois.shape[0], x.shape[1], height, width)),)


def roi_align_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """The mean or the greatest of samples at regular places of each bin of each region.

    Of a sample it is the greatest of the four weighted pixels around it.
    """
    x, rois = array(inputs, 0), array(inputs, 1)
    images = np.clip(array(inputs, 2), 0, len(x) - 1)
    shift = 0.5 if read_int(attrs, "half_pixel") else 0.0
    scaled = rois * float(np.float32(read_float(attrs, "spatial_scale"))) - shift
    bins = read_int(attrs, "output_height"), read_int(attrs, "output_width")
    result = np.zeros((len(rois), x.shape[1], *bins))
    for number, (x1, y1, x2, y2) in enumerate(scaled):
        image = x[images[number]]
        rows = _samples(y1, y2, bins[0], x.shape[2], attrs)
        columns = _samples(x1, x2, bins[1], x.shape[3], attrs)
        result[number] = _pool(image, rows, columns, read_str(attrs, "mode"))
    return (result,)


_Samples = tuple[Array, Array]


def _samples(start: float, end: float, bins: int, extent: int, attrs: Attrs) -> _Samples:
    """Pixels and weights of a region on one axis, `[bins, samples, 2]`."""
    length = end - start
    if not read_int(attrs, "half_pixel"):
        length = max(length, 1.0)
    size = length / bins
    count = read_int(attrs, "sampling_ratio") or math.ceil(np.clip(size, 0, MOST_SAMPLES))
    steps = np.arange(bins)[:, None] * size + (np.arange(count) + 0.5) * size / max(count, 1)
    places = start + steps
    outside = ~((places >= -1) & (places <= extent))
    places = np.where(outside, 0.0, np.clip(places, 0, extent - 1))
    low = np.floor(places).astype(np.int64)
    part = places - low
    weights = np.where(outside[..., None], 0.0, np.stack([1 - part, part], -1))
    return np.stack([low, np.minimum(low + 1, extent - 1)], -1), weights


def _pool(image: Array, rows: _Samples, columns: _Samples, mode: str) -> Array:
    (at_y, weight_y), (at_x, weight_x) = rows, columns
    pixels = image[:, at_y[:, None, :, None, :, None], at_x[None, :, None, :, None, :]]
    weights = weight_y[:, None, :, None, :, None] * weight_x[None, :, None, :, None, :]
    terms = weights * pixels
    if mode == "max":
        return np.asarray(terms.max(axis=(3, 4, 5, 6), initial=-np.inf if terms.size else 0.0))
    return np.asarray(terms.sum(axis=(3, 4, 5, 6)) / max(terms.shape[3] * terms.shape[4], 1))


def infer_deform_conv(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `DeformConv(x[N,C,H,W], w, offset, bias?, mask?) -> [N,O,OH,OW]`."""
    at_most(types, 5)
    x, w, offset = (operand(types, k, name) for k, name in enumerate(("x", "w", "offset")))
    require(x.rank == 4 and w.rank == 4, f"needs images and two-dimensional windows, not {x}, {w}")
    groups, offset_groups = read_int(attrs, "group"), read_int(attrs, "offset_group")
    fits = groups >= 1 and w.shape[1] * groups == x.shape[1] and w.shape[0] % groups == 0
    require(fits, f"weight {w} does not fit {x} with group={groups}")
    fits = offset_groups >= 1 and x.shape[1] % offset_groups == 0
    require(fits, f"offset_group={offset_groups} of {x.shape[1]} channels")
    window = Window.read(attrs, w.shape[2:])
    extents = window.output_extents(x.shape[2:])
    taps = offset_groups * math.prod(window.kernel)
    batch, filters = x.shape[0], w.shape[0]
    wanted = (batch, 2 * taps, *extents)
    require(offset.shape == wanted, f"offset must have the shape {wanted}, not {offset}")
    for position, name, shape in (
        (3, "bias", (filters,)),
        (4, "mask", (batch, taps, *extents)),
    ):
        kind = optional_operand(types, position, name, FLOAT)
        require(kind is None or kind.shape == shape, f"{name} must have the shape {shape}: {kind}")
    return (TensorType((batch, filters, *extents)),)


def deform_conv_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """A convolution each tap of which reads between pixels, at its place plus its offset."""
    x, w, offset = (array(inputs, k) for k in range(3))
    bias, mask = optional(inputs, 3), optional(inputs, 4)
    kernel, (top, left) = w.shape[2:], read_ints(attrs, "pads")[:2]
    (stride_y, stride_x) = read_ints(attrs, "strides")
    (step_y, step_x) = read_ints(attrs, "dilations")
    groups, offset_groups = read_int(attrs, "group"), read_int(attrs, "offset_group")
    batch, channels = x.shape[:2]
    out = offset.shape[2:]
    taps = math.prod(kernel)
    bent = offset.reshape(batch, offset_groups, taps, 2, *out)
    scale = np.ones((batch, offset_groups, taps, *out)) if mask is None else mask
    scale = scale.reshape(batch, offset_groups, taps, *out)
    tap_y, tap_x = np.divmod(np.arange(taps), kernel[1])
    rows = (np.arange(out[0]) * stride_y - top)[:, None] + (tap_y * step_y)[:, None, None]
    columns = np.arange(out[1]) * stride_x - left + (tap_x * step_x)[:, None, None]
    share = channels // offset_groups
    windows = np.zeros((batch, channels, taps, *out))
    for n, c in np.ndindex(batch, channels):
        g = c // share
        places = rows + bent[n, g, :, 0], columns + bent[n, g, :, 1]
        windows[n, c] = scale[n, g] * _between(x[n, c], *places)
    windows = windows.reshape(batch, groups, channels // groups * taps, *out)
    weights = w.reshape(groups, w.shape[0] // groups, -1)
    result = np.einsum("gok,ngkyx->ngoyx", weights, windows).reshape(batch, w.shape[0], *out)
    return (result if bias is None else result + bias[:, None, None],)


def _between(image: Array, y: Array, x: Array) -> Array:
    """Bilinear interpolation; outside of the image, and at NaN, is 0."""
    y, x = (np.where(np.isfinite(place), place, -2.0) for place in (y, x))
    y, x = np.clip(y, -2, image.shape[0] + 1), np.clip(x, -2, image.shape[1] + 1)
    low_y, low_x = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    result = np.zeros(y.shape)
    for high_y, high_x in np.ndindex(2, 2):
        row, column = low_y + high_y, low_x + high_x
        inside = (row >= 0) & (row < image.shape[0]) & (column >= 0) & (column < image.shape[1])
        weight = np.abs(1 - high_y - (y - low_y)) * np.abs(1 - high_x - (x - low_x))
        pixel = image[np.where(inside, row, 0), np.where(inside, column, 0)]
        result = result + np.where(inside & (weight != 0), weight * pixel, 0.0)
    return result


OPERATORS = (
    Operator("RoiAlign", "extern", infer_roi_align, roi_align_reference),
    Operator("DeformConv", "extern", infer_deform_conv, deform_conv_reference),
)
