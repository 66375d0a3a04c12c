"""ONNX's matrix products, normalisation and element-wise operators.

Read `TRANSLATORS` first. Invariant: each version of an operator that means something else has
its own translator.
"""

from __future__ import annotations

import math

import numpy as np

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import (
    Canonical,
    Context,
    RefusalError,
    Translator,
    float_attr,
    int_attr,
)
from ago.frontend.raw import RawNode

_FLOAT32 = np.finfo(np.float32)
_LOWEST, _HIGHEST = float(_FLOAT32.min), float(_FLOAT32.max)


def gemm(node: RawNode, context: Context) -> Canonical:
    """`Gemm` since 7, where the addend broadcasts by itself."""
    attrs = {
        "trans_a": int(bool(int_attr(node, "transA", 0))),
        "trans_b": int(bool(int_attr(node, "transB", 0))),
        "alpha": float_attr(node, "alpha", 1.0),
        "beta": float_attr(node, "beta", 1.0),
    }
    return Canonical("Gemm", node.inputs, attrs)


def matmul(node: RawNode, context: Context) -> Canonical:
    """`MatMul`, all versions."""
    return Canonical("MatMul", node.inputs, {})


def batch_norm_7(node: RawNode, context: Context) -> Canonical:
    """`BatchNormalization` 7, which could normalise each position by itself."""
    if int_attr(node, "spatial", 1) != 1:
        raise RefusalError("attribute spatial=0")
    return batch_norm_9(node, context)


def batch_norm_9(node: RawNode, context: Context) -> Canonical:
    """`BatchNormalization` since 9; since 14 it may be in training mode."""
    if int_attr(node, "training_mode", 0):
        raise RefusalError("attribute training_mode=1; only inference")
    names = ("scale", "bias", "mean", "variance")
    for position, what in enumerate(names, start=1):
        if context.constant(node.input(position), what) is None:
            raise ModelError(f"{what} is missing")
    return Canonical("BatchNormalization", node.inputs, {"epsilon": _epsilon(node)})


def _epsilon(node: RawNode) -> float:
    return float_attr(node, "epsilon", 1e-5)


def relu(node: RawNode, context: Context) -> Canonical:
    """`Relu`, all versions."""
    return Canonical("Relu", node.inputs, {})


def clip_6(node: RawNode, context: Context) -> Canonical:
    """`Clip` 6: the bounds are attributes."""
    low, high = float_attr(node, "min", _LOWEST), float_attr(node, "max", _HIGHEST)
    return _clip(node, low, high)


def clip_11(node: RawNode, context: Context) -> Canonical:
    """`Clip` since 11: the bounds are optional inputs.

    An absent bound is, as the operator defines, the lowest or highest finite number.
    """
    low = _bound(context, node.input(1), "min", _LOWEST)
    high = _bound(context, node.input(2), "max", _HIGHEST)
    return _clip(node, low, high)


def _clip(node: RawNode, low: float, high: float) -> Canonical:
    if math.isnan(low) or math.isnan(high):
        raise RefusalError(f"bounds min={low}, max={high}; NaN is no bound")
    return Canonical("Clip", node.inputs[:1], {"min": low, "max": high})


def _bound(context: Context, value: str, what: str, default: float) -> float:
    array = context.constant(value, f"bound {what}")
    if array is None:
        return default
    if array.size != 1:
        raise ModelError(f"bound {what} must be one number, not an array of {array.shape}")
    return float(array.ravel()[0])


def _binary(op: str) -> Translator:
    def translate(node: RawNode, context: Context) -> Canonical:
        return Canonical(op, node.inputs, {})

    return translate


def identity(node: RawNode, context: Context) -> Canonical:
    """`Identity`, all versions, and `Dropout` 7 to 11."""
    return Canonical("Identity", node.inputs[:1], {})


def dropout_12(node: RawNode, context: Context) -> Canonical:
    """`Dropout` since 12: an input may ask for training mode."""
    training = context.constant(node.input(2), "training_mode")
    if training is not None and bool(training.any()):
        raise RefusalError("input training_mode is true; only inference")
    return identity(node, context)


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "Gemm": ((7, gemm),),
    "MatMul": ((1, matmul),),
    "BatchNormalization": ((7, batch_norm_7), (9, batch_norm_9)),
    "Relu": ((1, relu),),
    "Clip": ((6, clip_6), (11, clip_11)),
    "Add": ((7, _binary("Add")),),
    "Sub": ((7, _binary("Sub")),),
    "Mul": ((7, _binary("Mul")),),
    "Div": ((7, _binary("Div")),),
    "Identity": ((1, identity),),
    "Dropout": ((7, identity), (12, dropout_12)),
}
