"""ONNX's Resize and Upsample.

Read `TRANSLATORS` first. Each axis is resized by itself: a choice of its elements, or weighted sums
of a few of them, at places computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import (
    Context,
    Expansion,
    RefusalError,
    Translator,
    axis_in_range,
    float_attr,
    int_attr,
    ints_attr,
    str_attr,
)
from ago.frontend.onnx_ops.movement import take
from ago.frontend.onnx_ops.resampling import (
    Resampling,
    Weights,
    cubic,
    cubic_antialias,
    linear,
    linear_antialias,
    nearest,
    taps,
)
from ago.frontend.raw import RawNode

Span = tuple[int, Fraction]
"""Extent of a resized axis, and its scale."""


@dataclass(frozen=True, slots=True)
class _Sampling:
    """How samples are made.

    Attributes:
        rounding: ONNX's `nearest_mode`.
        weights: Of the elements around a sample; None where it is the nearest one.
        exclude_outside: Whether elements beyond the ends weigh nothing.
        extrapolation: Value of samples outside the region.
    """

    rounding: str
    weights: Weights | None = None
    exclude_outside: bool = False
    extrapolation: float = 0.0


def upsample_7(node: RawNode, context: Context) -> Expansion:
    """`Upsample` 7: the scales are an attribute."""
    scales = node.attrs.get("scales")
    if not isinstance(scales, tuple):
        raise ModelError("attribute 'scales' is missing")
    return _simple(node, context, [_fraction(scale) for scale in scales])


def resize_10(node: RawNode, context: Context) -> Expansion:
    """`Resize` 10, and `Upsample` since 9: the scales are an input."""
    scales = _numbers(context, node.input(1), "scales")
    if scales is None:
        raise ModelError("input 'scales' is missing")
    return _simple(node, context, scales)


def _simple(node: RawNode, context: Context, scales: Sequence[Fraction]) -> Expansion:
    """Samples at `place / scale`; the nearest element is the one before."""
    shape = context.type(node.input(0)).shape
    mode = str_attr(node, "mode", "nearest")
    if mode not in ("nearest", "linear", "bilinear"):
        raise ModelError(f"attribute mode={mode!r} is unknown")
    axes = range(len(shape))
    spans = _scaled(shape, axes, scales, [Fraction(1)] * len(shape))
    sampling = _Sampling("floor", None if mode == "nearest" else linear)
    resampled = [
        Resampling(shape[axis], after, scale, "asymmetric")
        for axis, (after, scale) in zip(axes, spans, strict=True)
    ]
    return _resize(node, context, dict(zip(axes, resampled, strict=True)), sampling)


def resize_11(node: RawNode, context: Context) -> Expansion:
    """`Resize` since 11; since 18 it may name its axes."""
    shape = context.type(node.input(0)).shape
    listed = ints_attr(node, "axes") or range(len(shape))
    axes = [axis_in_range(axis, len(shape)) for axis in listed]
    transformation = str_attr(node, "coordinate_transformation_mode", "half_pixel")
    cropped = transformation == "tf_crop_and_resize"
    roi = _numbers(context, node.input(1), "roi") if cropped else None
    regions = [(Fraction(0), Fraction(1))] * len(axes)
    if cropped:
        if roi is None or len(roi) != 2 * len(axes):
            raise ModelError("roi must hold a start and an end an axis")
        regions = list(zip(roi[: len(axes)], roi[len(axes) :], strict=True))
    scales = _numbers(context, node.input(2), "scales")
    sizes = context.constant_ints(node.input(3), "sizes")
    if sizes:
        spans = _sized(shape, axes, sizes, str_attr(node, "keep_aspect_ratio_policy", "stretch"))
    elif scales is not None:
        spans = _scaled(shape, axes, scales, [end - start for start, end in regions])
    else:
        raise ModelError("neither scales nor sizes are given")
    resampled = {
        axis: Resampling(shape[axis], after, scale, transformation, region)
        for axis, (after, scale), region in zip(axes, spans, regions, strict=True)
    }
    return _resize(node, context, resampled, _sampling(node))


def _sampling(node: RawNode) -> _Sampling:
    mode = str_attr(node, "mode", "nearest")
    coefficient = float_attr(node, "cubic_coeff_a", -0.75)
    kinds = {
        ("linear", 0): linear,
        ("linear", 1): linear_antialias,
        ("cubic", 0): cubic(coefficient),
        ("cubic", 1): cubic_antialias(coefficient),
    }
    weights = kinds.get((mode, int_attr(node, "antialias", 0)))
    if weights is None and mode != "nearest":
        raise ModelError(f"attribute mode={mode!r} is unknown")
    return _Sampling(
        str_attr(node, "nearest_mode", "round_prefer_floor"),
        weights,
        bool(int_attr(node, "exclude_outside", 0)),
        float_attr(node, "extrapolation_value", 0.0),
    )


def _scaled(
    shape: Sequence[int],
    axes: Sequence[int],
    scales: Sequence[Fraction],
    parts: Sequence[Fraction],
) -> list[Span]:
    """Extents by scales: rounded down, computed in float32 as onnx's shape inference does."""
    if len(scales) != len(axes) or min(scales, default=Fraction(1)) <= 0:
        raise ModelError(f"scales {[float(s) for s in scales]} must be positive, one an axis")
    spans = []
    for axis, scale, part in zip(axes, scales, parts, strict=True):
        extent = np.float32(float(shape[axis] * part)) * np.float32(float(scale))
        spans.append((int(np.floor(extent)), scale))
    return spans


def _sized(
    shape: Sequence[int], axes: Sequence[int], sizes: Sequence[int], policy: str
) -> list[Span]:
    """Extents by sizes, or by one scale for all that keeps the aspect ratio."""
    if len(sizes) != len(axes):
        raise ModelError(f"{len(sizes)} sizes for {len(axes)} axes")
    scales = [Fraction(size, shape[axis]) for axis, size in zip(axes, sizes, strict=True)]
    if policy == "stretch":
        return list(zip(sizes, scales, strict=True))
    if policy not in ("not_larger", "not_smaller"):
        raise ModelError(f"keep_aspect_ratio_policy={policy!r} is unknown")
    scale = min(scales) if policy == "not_larger" else max(scales)
    half = Fraction(1, 2)
    return [(int(scale * shape[axis] + half), scale) for axis in axes]


def _resize(
    node: RawNode, context: Context, axes: dict[int, Resampling], sampling: _Sampling
) -> Expansion:
    parts = Expansion(node, context)
    value = node.input(0)
    for axis, resampled in sorted(axes.items()):
        if not resampled.is_identity:
            value = _resize_axis(parts, value, axis, resampled, sampling)
    return parts.outputs(value)


def _resize_axis(
    parts: Expansion, value: str, axis: int, resampled: Resampling, sampling: _Sampling
) -> str:
    """Resize one axis; samples outside take an element that is padded on behind the last."""
    outside = [place for place in range(resampled.after) if resampled.is_outside(place)]
    if outside:
        rank = parts.type(value).rank
        pads = tuple(int(place == rank + axis) for place in range(2 * rank))
        border = {"mode": "constant", "pads": pads, "value": sampling.extrapolation}
        value = parts.add(f"padded_{axis}", "Pad", value, **border)
    if sampling.weights is None:
        places = nearest(resampled, sampling.rounding)
        for place in outside:
            places[place] = resampled.before
        return take(parts, f"resized_{axis}", value, axis, places)
    around, weights = taps(resampled, sampling.weights, sampling.exclude_outside)
    around[outside] = resampled.before
    weights[outside] = np.eye(1, weights.shape[1])
    constant = parts.constant(f"weights_{axis}", weights.astype(np.float32))
    indices = tuple(int(place) for place in around.ravel())
    return parts.add(f"resized_{axis}", "Interpolate", value, constant, axis=axis, indices=indices)


def _numbers(context: Context, value: str, what: str) -> list[Fraction] | None:
    """The exact values of a constant input of floats; None where it is absent or empty."""
    array = context.constant(value, what)
    if array is None or not array.size:
        return None
    return [_fraction(number) for number in array.ravel().tolist()]


def _fraction(number: float) -> Fraction:
    if not np.isfinite(number):
        raise RefusalError(f"{number} is no scale")
    return Fraction(number)


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "Upsample": ((7, upsample_7), (9, resize_10)),
    "Resize": ((10, resize_10), (11, resize_11)),
}
