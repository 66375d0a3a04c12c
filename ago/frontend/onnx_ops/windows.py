"""ONNX's convolution and pooling.

Read `TRANSLATORS` first. Invariant: `auto_pad` and defaults are resolved here, so that the
canonical nodes are explicit.
"""

from __future__ import annotations

from collections.abc import Sequence

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import (
    Canonical,
    Context,
    Expansion,
    RefusalError,
    Translator,
    int_attr,
    ints_attr,
    str_attr,
)
from ago.frontend.onnx_ops.pool_indices import max_pool_with_indices
from ago.frontend.raw import RawNode
from ago.ir.graph import TensorType


def conv(node: RawNode, context: Context) -> Canonical:
    """`Conv`, all versions."""
    x, w = context.type(node.input(0)), context.type(node.input(1))
    return Canonical("Conv", node.inputs, conv_attrs(node, x, w))


def conv_attrs(node: RawNode, x: TensorType, w: TensorType) -> dict[str, object]:
    """Return the attributes of a convolution of `x` with `w`.

    Raises:
        ModelError: If the node's attributes do not fit them.
        RefusalError: If there are more than three spatial axes.
    """
    kernel = w.shape[2:]
    stated = ints_attr(node, "kernel_shape")
    if stated not in (None, kernel):
        raise ModelError(f"kernel_shape {stated} differs from the weight's {kernel}")
    attrs, _ = window_attrs(node, x.shape[2:], kernel)
    return {**attrs, "group": int_attr(node, "group", 1)}


def max_pool(node: RawNode, context: Context) -> Canonical | Expansion:
    """`MaxPool`, all versions; `storage_order` matters only to its second output."""
    attrs = _pool_attrs(node, context)
    if not node.output(1):
        return Canonical("MaxPool", node.inputs, attrs)
    by_column = bool(int_attr(node, "storage_order", 0))
    return max_pool_with_indices(Expansion(node, context), attrs, by_column)


def average_pool(node: RawNode, context: Context) -> Canonical:
    """`AveragePool`, all versions."""
    attrs = _pool_attrs(node, context)
    attrs["count_include_pad"] = int_attr(node, "count_include_pad", 0)
    return Canonical("AveragePool", node.inputs, attrs)


def lp_pool(node: RawNode, context: Context) -> Canonical:
    """`LpPool` since 2, when the order became an integer."""
    return Canonical("LpPool", node.inputs, {**_pool_attrs(node, context), "p": _order(node)})


def global_lp_pool(node: RawNode, context: Context) -> Canonical:
    """`GlobalLpPool` since 2: one window, as large as the map."""
    extents = context.type(node.input(0)).shape[2:]
    ones, zeros = (1,) * len(extents), (0,) * 2 * len(extents)
    attrs = {"strides": ones, "dilations": ones, "pads": zeros, "ceil_mode": 0}
    return Canonical("LpPool", node.inputs, {**attrs, "kernel_shape": extents, "p": _order(node)})


def _order(node: RawNode) -> int:
    return int_attr(node, "p", 2)


def _pool_attrs(node: RawNode, context: Context) -> dict[str, object]:
    kernel = ints_attr(node, "kernel_shape")
    if kernel is None:
        raise ModelError("attribute 'kernel_shape' is missing")
    attrs, automatic = window_attrs(node, context.type(node.input(0)).shape[2:], kernel)
    attrs["kernel_shape"] = kernel
    attrs["ceil_mode"] = 0 if automatic else int_attr(node, "ceil_mode", 0)
    return attrs


def window_attrs(
    node: RawNode, extents: Sequence[int], kernel: Sequence[int]
) -> tuple[dict[str, object], bool]:
    """Return strides, dilations and pads, and whether the padding is automatic."""
    rank = len(kernel)
    if not 1 <= rank <= 3:
        raise RefusalError(f"{rank} spatial axes; only 1 to 3 are supported")
    strides = ints_attr(node, "strides") or (1,) * rank
    dilations = ints_attr(node, "dilations") or (1,) * rank
    if not len(strides) == len(dilations) == len(extents) == rank:
        message = f"kernel {tuple(kernel)}, strides {strides} and dilations {dilations}"
        raise ModelError(f"{message} do not fit {len(extents)} spatial axes")
    if min(*strides, *dilations) < 1:
        raise ModelError(f"strides {strides} and dilations {dilations} must be positive")
    automatic = str_attr(node, "auto_pad", "NOTSET")
    attrs: dict[str, object] = {"strides": strides, "dilations": dilations}
    if automatic in ("NOTSET", ""):
        attrs["pads"] = ints_attr(node, "pads") or (0,) * 2 * rank
    elif automatic == "VALID":
        attrs["pads"] = (0,) * 2 * rank
    elif automatic in ("SAME_UPPER", "SAME_LOWER"):
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        attrs["pads"] = _same_pads(extents, reach, strides, automatic == "SAME_UPPER")
    else:
        raise ModelError(f"auto_pad {automatic!r} is unknown")
    return attrs, automatic not in ("NOTSET", "")


def _same_pads(
    extents: Sequence[int], reach: Sequence[int], strides: Sequence[int], upper: bool
) -> tuple[int, ...]:
    """Return pads that give `ceil(extent / stride)` windows; `upper` puts the odd one behind."""
    less, more = [], []
    for extent, size, stride in zip(extents, reach, strides, strict=True):
        total = max((-(-extent // stride) - 1) * stride + size - extent, 0)
        less.append(total // 2)
        more.append(total - total // 2)
    return (*less, *more) if upper else (*more, *less)


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "Conv": ((1, conv),),
    "MaxPool": ((1, max_pool),),
    "AveragePool": ((7, average_pool),),
    "LpPool": ((2, lp_pool),),
    "GlobalLpPool": ((2, global_lp_pool),),
}
