"""Batch normalisation into the contraction before it, or into a product and a sum.

Read `fold_batch_norm` first. Invariant: folded only where the contraction's result is read by the
batch normalisation alone; never over an activation, never forward into a padded convolution.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ago.ir.attributes import read_float, read_int
from ago.ir.graph import Graph, Node, TensorType
from ago.ir.ops import Array
from ago.passes.draft import Draft


def fold_batch_norm(graph: Graph) -> Graph:
    """Fold each BatchNormalization with constant statistics.

    After a Conv, Gemm or MatMul with constant weights whose result nothing else reads, the weights
    are scaled (a private copy, where others share them) and the shift becomes the bias. Elsewhere
    it becomes a Mul and an Add with constants per channel. One whose constants are not finite
    stays as it is.

    Args:
        graph: Any graph.

    Returns:
        A graph equivalent up to the rounding of the new constants to float32.
    """
    draft = Draft(graph)
    for node in graph.nodes:
        affine = _affine(draft, node) if node.op == "BatchNormalization" else None
        if affine is None:
            draft.append(node)
        elif not _fold_into_producer(draft, node, *affine):
            _append_mul_add(draft, node, *affine)
    return draft.finish()


def _affine(draft: Draft, node: Node) -> tuple[Array, Array] | None:
    """Return scale and shift per channel, or None if they are not constant or not finite."""
    scale, bias, mean, var = (draft.param(value) for value in node.inputs[1:5])
    if scale is None or bias is None or mean is None or var is None:
        return None
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(var + read_float(node.attrs, "epsilon"))
        shift = bias - mean * factor
    return (factor, shift) if _finite(factor, shift) else None


def _fold_into_producer(draft: Draft, node: Node, factor: Array, shift: Array) -> bool:
    """Fold into the contraction before `node` and return True, or return False if it is inexact."""
    value = node.inputs[0]
    before = draft.producer(value)
    if before is None or not draft.is_private(value, node):
        return False
    if before.op == "Conv":
        folded = _folded_conv(draft, before, factor, shift)
    elif before.op in ("Gemm", "MatMul"):
        folded = _folded_gemm(draft, before, factor, shift)
    else:
        return False
    if folded is None:
        return False
    draft.replace(before, replace(folded, outputs=node.outputs))
    return True


def _folded_conv(draft: Draft, node: Node, factor: Array, shift: Array) -> Node | None:
    weight, bias = draft.param(node.inputs[1]), _constant_or_zero(draft, node)
    if weight is None or bias is None:
        return None
    column = factor.reshape(-1, *[1] * (weight.ndim - 1))
    return _with_constants(draft, node, weight * column, bias * factor + shift)


def _folded_gemm(draft: Draft, node: Node, factor: Array, shift: Array) -> Node | None:
    weight, addend = draft.param(node.inputs[1]), _constant_or_zero(draft, node)
    if weight is None or addend is None:
        return None
    attrs: dict[str, object] = {"trans_a": 0, "trans_b": 0, "alpha": 1.0, "beta": 1.0}
    attrs.update(node.attrs)
    columns = factor[:, None] if read_int(attrs, "trans_b") else factor
    bias = read_float(attrs, "beta") * addend * factor + shift
    gemm = replace(node, op="Gemm", attrs={**attrs, "beta": 1.0})
    return _with_constants(draft, gemm, weight * columns, bias)


def _constant_or_zero(draft: Draft, node: Node) -> Array | None:
    """Return the third operand: zero if absent, None if it is not constant."""
    present = len(node.inputs) > 2 and node.inputs[2]
    return draft.param(node.inputs[2]) if present else np.zeros(())


def _with_constants(draft: Draft, node: Node, weight: Array, bias: Array) -> Node | None:
    """Return the node with new weights and bias, or None if float32 cannot hold them."""
    with np.errstate(over="ignore"):
        if not _finite(weight.astype(np.float32), bias.astype(np.float32)):
            return None
    w = draft.add_param(f"{node.name}.folded.weight", weight)
    b = draft.add_param(f"{node.name}.folded.bias", bias)
    return replace(node, inputs=(node.inputs[0], w, b))


def _append_mul_add(draft: Draft, node: Node, factor: Array, shift: Array) -> None:
    shape = (-1, *[1] * (node.type.rank - 2))
    scale = draft.add_param(f"{node.name}.scale", factor.reshape(shape))
    offset = draft.add_param(f"{node.name}.shift", shift.reshape(shape))
    product, name = draft.fresh(f"{node.output}.scaled"), draft.fresh(f"{node.name}.mul")
    kind = TensorType(node.type.shape)
    draft.append(Node(name, "Mul", (node.inputs[0], scale), (product,), {}, (kind,)))
    draft.append(Node(node.name, "Add", (product, offset), node.outputs, {}, (kind,)))


def _finite(*arrays: Array) -> bool:
    return all(bool(np.isfinite(array).all()) for array in arrays)
