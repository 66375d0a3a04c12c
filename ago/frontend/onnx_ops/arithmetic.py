"""ONNX's matrix products, and normalisation by given statistics.

Read `TRANSLATORS` first. Invariant: each version of an operator that means something else has
its own translator.
"""

from __future__ import annotations

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


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "Gemm": ((7, gemm),),
    "MatMul": ((1, matmul),),
    "BatchNormalization": ((7, batch_norm_7), (9, batch_norm_9)),
}
