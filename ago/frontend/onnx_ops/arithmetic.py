"""ONNX's matrix products, and normalisation by given statistics.

Read `TRANSLATORS` first. Invariant: each version of an operator that means something else has
its own translator.
"""

from __future__ import annotations

import numpy as np

from ago.frontend.onnx_ops.base import (
    Canonical,
    Context,
    Expansion,
    RefusalError,
    Translator,
    float_attr,
    int_attr,
)
from ago.frontend.raw import RawNode


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


def batch_norm_7(node: RawNode, context: Context) -> Canonical | Expansion:
    """`BatchNormalization` 7, which could normalise each position by itself."""
    if int_attr(node, "spatial", 1) != 1:
        raise RefusalError("attribute spatial=0")
    return batch_norm_9(node, context)


def batch_norm_9(node: RawNode, context: Context) -> Canonical | Expansion:
    """`BatchNormalization` since 9; since 14 it may be in training mode."""
    if int_attr(node, "training_mode", 0):
        raise RefusalError("attribute training_mode=1; only inference")
    epsilon = float_attr(node, "epsilon", 1e-5)
    if all(value in context.constants for value in node.inputs[1:]):
        return Canonical("BatchNormalization", node.inputs, {"epsilon": epsilon})
    return _batch_norm_of_values(node, context, epsilon)


def _batch_norm_of_values(node: RawNode, context: Context, epsilon: float) -> Expansion:
    """`(x - mean) * (scale / sqrt(var + epsilon)) + bias`, with statistics made at run time."""
    parts = Expansion(node, context)
    shape = (context.type(node.input(0)).shape[1], *[1] * (context.type(node.input(0)).rank - 2))
    small = parts.constant("epsilon", np.array(epsilon, np.float32))
    deviation = parts.add("deviation", "Sqrt", parts.add("variance", "Add", node.input(4), small))
    factor = parts.add("factor", "Div", node.input(1), deviation)
    factor = parts.add("factors", "Reshape", factor, shape=shape)
    bias, mean = (
        parts.add(name, "Reshape", node.input(position), shape=shape)
        for name, position in (("bias", 2), ("mean", 3))
    )
    centred = parts.add("centred", "Sub", node.input(0), mean)
    return parts.result("Add", parts.add("scaled", "Mul", centred, factor), bias)


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "Gemm": ((7, gemm),),
    "MatMul": ((1, matmul),),
    "BatchNormalization": ((7, batch_norm_7), (9, batch_norm_9)),
}
