"""Softmax and the normalisations: each element from statistics of a set of elements.

Read `OPERATORS` first. Invariant: `axes` are non-negative, ascending and distinct, and name what a
set extends along; variances are means of squared distances from the mean. Where a set holds NaN, or
what it computes is undefined (`inf - inf`, softmax of a row that is all -inf), the result is NaN.
"""

from __future__ import annotations

import math

import numpy as np

from ago.ir.attributes import read_float, read_int, read_ints
from ago.ir.ops.operator import (
    Array,
    Attrs,
    InputArrays,
    InputTypes,
    Operator,
    Reference,
    array,
    optional,
    require,
    required_types,
)
from ago.ir.tensor import TensorType


def infer_over_axes(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of an operator on one tensor that reads all elements along `axes`."""
    (x,) = required_types(types, 1, 1)
    _require_axes(x, attrs)
    return (TensorType(x.shape),)


def infer_scaled(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Normalization(x, scale?, bias?)`; scale and bias broadcast to `x`."""
    x, *others = required_types(types, 1, 3)
    _require_axes(x, attrs)
    for kind in others:
        fits = kind.rank <= x.rank and all(
            extent in (1, whole)
            for extent, whole in zip(reversed(kind.shape), reversed(x.shape), strict=False)
        )
        require(fits, f"scale or bias {kind} does not broadcast to {x}")
    return (TensorType(x.shape),)


def infer_statistic(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of a statistic over `axes`, which stay as extents of 1."""
    (x,) = required_types(types, 1, 1)
    axes = _require_axes(x, attrs)
    return (TensorType(tuple(1 if d in axes else e for d, e in enumerate(x.shape))),)


def infer_group_norm(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `GroupNormalization(x[N,C,...], scale[C], bias[C])`."""
    x, scale, bias = required_types(types, 3, 3)
    require(x.rank >= 2, f"needs an input [N,C,...], not {x}")
    channels, groups = x.shape[1], read_int(attrs, "groups")
    require(groups > 0 and channels % groups == 0, f"{channels} channels in {groups} groups")
    for name, kind in (("scale", scale), ("bias", bias)):
        require(kind.shape == (channels,), f"{name} {kind} must have the shape ({channels},)")
    return (TensorType(x.shape),)


def infer_lrn(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `LRN(x[N,C,...])`."""
    (x,) = required_types(types, 1, 1)
    require(x.rank >= 2, f"needs an input [N,C,...], not {x}")
    require(read_int(attrs, "size") > 0, f"size {attrs['size']} must be positive")
    return (TensorType(x.shape),)


def _require_axes(x: TensorType, attrs: Attrs) -> tuple[int, ...]:
    axes = read_ints(attrs, "axes")
    good = list(axes) == sorted(set(axes)) and all(0 <= axis < x.rank for axis in axes)
    require(good and bool(axes), f"axes {axes} must be ascending axes of {x}, at least one")
    return axes


def softmax_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `exp(x - max) / sum(exp(x - max))`."""
    axes = read_ints(attrs, "axes")
    (powers,) = powers_reference(inputs, attrs)
    return (powers / powers.sum(axis=axes, keepdims=True),)


def powers_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `exp(x - max)`, what softmax divides by its sums."""
    x, axes = array(inputs, 0), read_ints(attrs, "axes")
    return (np.exp(x - x.max(axis=axes, keepdims=True)),)


def log_softmax_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `x - max - log(sum(exp(x - max)))`."""
    x, axes = array(inputs, 0), read_ints(attrs, "axes")
    lower = x - x.max(axis=axes, keepdims=True)
    return (lower - np.log(np.exp(lower).sum(axis=axes, keepdims=True)),)


def hardmax_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return 1 for the first largest element, NaN being the largest, and 0 for all others."""
    x, axes = array(inputs, 0), read_ints(attrs, "axes")
    kept = tuple(d for d in range(x.ndim) if d not in axes)
    rows = x.transpose(*kept, *axes)
    flat = rows.reshape(-1, math.prod(rows.shape[len(kept) :]))
    result = np.zeros_like(flat)
    result[np.arange(len(flat)), flat.argmax(axis=1)] = 1.0
    return (result.reshape(rows.shape).transpose(np.argsort((*kept, *axes))),)


def layer_norm_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `(x - mean) / sqrt(variance + epsilon) * scale + bias`."""
    x, axes = array(inputs, 0), read_ints(attrs, "axes")
    centred = x - x.mean(axis=axes, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=axes, keepdims=True) + read_float(attrs, "epsilon"))
    return (_scaled(centred / spread, inputs),)


def rms_norm_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `x / sqrt(mean(x^2) + epsilon) * scale + bias`."""
    x, axes = array(inputs, 0), read_ints(attrs, "axes")
    spread = np.sqrt((x**2).mean(axis=axes, keepdims=True) + read_float(attrs, "epsilon"))
    return (_scaled(x / spread, inputs),)


def inverse_deviation_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `1 / sqrt(variance + epsilon)` over `axes`."""
    x, axes = array(inputs, 0), read_ints(attrs, "axes")
    return (1.0 / np.sqrt(x.var(axis=axes, keepdims=True) + read_float(attrs, "epsilon")),)


def mean_variance_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `(x - mean) / (sqrt(variance) + epsilon)`."""
    x, axes = array(inputs, 0), read_ints(attrs, "axes")
    centred = x - x.mean(axis=axes, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=axes, keepdims=True)) + read_float(attrs, "epsilon")
    return (centred / spread,)


def group_norm_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return each group of channels normalised, then scaled and shifted channel by channel."""
    x, groups = array(inputs, 0), read_int(attrs, "groups")
    scale, bias = (array(inputs, k).reshape(-1, *[1] * (x.ndim - 2)) for k in (1, 2))
    rows = x.reshape(x.shape[0], groups, -1)
    centred = rows - rows.mean(axis=2, keepdims=True)
    variance = (centred**2).mean(axis=2, keepdims=True)
    normal = centred / np.sqrt(variance + read_float(attrs, "epsilon"))
    return (normal.reshape(x.shape) * scale + bias,)


def lp_norm_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `x` over its 1-norm or 2-norm, and 0 where that is 0."""
    x, axes = array(inputs, 0), read_ints(attrs, "axes")
    if read_int(attrs, "p") == 1:
        norm = np.abs(x).sum(axis=axes, keepdims=True)
    else:
        norm = np.sqrt((x * x).sum(axis=axes, keepdims=True))
    return (np.where(norm == 0, 0.0, x / norm),)


def lrn_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return `x / (bias + alpha / size * s)^beta`, `s` the squares' sum over nearby channels."""
    x, size = array(inputs, 0), read_int(attrs, "size")
    before, after = (size - 1) // 2, size // 2
    border = [(0, 0), (before, after), *[(0, 0)] * (x.ndim - 2)]
    squares = np.pad(x * x, border)
    total = sum(squares[:, k : k + x.shape[1]] for k in range(size))
    base = read_float(attrs, "bias") + read_float(attrs, "alpha") / size * total
    return (x / base ** read_float(attrs, "beta"),)


def _scaled(normal: Array, inputs: InputArrays) -> Array:
    scale, bias = optional(inputs, 1), optional(inputs, 2)
    if scale is not None:
        normal = normal * scale
    return normal if bias is None else normal + bias


def _quiet(reference: Reference) -> Reference:
    """A reference without warnings: infinities and NaN are results like others."""

    def call(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return reference(inputs, attrs)

    return call


OPERATORS = tuple(
    Operator(name, "reduction", infer, _quiet(reference))
    for name, infer, reference in (
        ("Softmax", infer_over_axes, softmax_reference),
        ("SoftmaxPowers", infer_over_axes, powers_reference),
        ("LogSoftmax", infer_over_axes, log_softmax_reference),
        ("Hardmax", infer_over_axes, hardmax_reference),
        ("LayerNormalization", infer_scaled, layer_norm_reference),
        ("RMSNormalization", infer_scaled, rms_norm_reference),
        ("InverseDeviation", infer_statistic, inverse_deviation_reference),
        ("MeanVarianceNormalization", infer_over_axes, mean_variance_reference),
        ("GroupNormalization", infer_group_norm, group_norm_reference),
        ("LpNormalization", infer_over_axes, lp_norm_reference),
        ("LRN", infer_lrn, lrn_reference),
    )
)
