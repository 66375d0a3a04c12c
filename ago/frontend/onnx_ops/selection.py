"""ONNX's operators that choose by order, and those that accumulate along an axis.

Read `TRANSLATORS` first. Invariant: what decides a shape is constant here.
"""

from __future__ import annotations

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import (
    Canonical,
    Context,
    RefusalError,
    Translator,
    axis_in_range,
    int_attr,
)
from ago.frontend.raw import RawNode


def top_k_1(node: RawNode, context: Context) -> Canonical:
    """`TopK` 1: the number is an attribute."""
    if "k" not in node.attrs:
        raise ModelError("attribute 'k' is missing")
    return _top_k(node, context, int_attr(node, "k", 0))


def top_k_10(node: RawNode, context: Context) -> Canonical:
    """`TopK` since 10: the number is an input; since 11 the least may be asked for."""
    k = context.constant_ints(node.input(1), "K")
    if k is None or len(k) != 1:
        raise ModelError("input 'K' must be one number")
    return _top_k(node, context, k[0])


def _top_k(node: RawNode, context: Context, k: int) -> Canonical:
    axis = axis_in_range(int_attr(node, "axis", -1), context.type(node.input(0)).rank)
    attrs = {"axis": axis, "k": k, "largest": int(bool(int_attr(node, "largest", 1)))}
    return Canonical("TopK", node.inputs[:1], attrs)


def _arg(op: str) -> Translator:
    def translate(node: RawNode, context: Context) -> Canonical:
        axis = axis_in_range(int_attr(node, "axis", 0), context.type(node.input(0)).rank)
        attrs = {
            "axis": axis,
            "keepdims": int_attr(node, "keepdims", 1),
            "select_last": int_attr(node, "select_last_index", 0),
        }
        return Canonical(op, node.inputs, attrs)

    return translate


def non_max_suppression(node: RawNode, context: Context) -> Canonical:
    """`NonMaxSuppression` where the file states how many boxes are selected."""
    kind = context.stated().get(node.output(0))
    if kind is None or kind.rank != 2:
        raise RefusalError(
            "the number of selected boxes depends on data; give the output a static shape, the "
            "most boxes that it may hold: rows behind the last one are then -1"
        )
    attrs = {"center_point_box": int_attr(node, "center_point_box", 0), "rows": kind.shape[0]}
    return Canonical("NonMaxSuppression", node.inputs, attrs)


def _scan(op: str) -> Translator:
    def translate(node: RawNode, context: Context) -> Canonical:
        axis = context.constant_ints(node.input(1), "axis")
        if axis is None or len(axis) != 1:
            raise ModelError("input 'axis' must be one number")
        attrs = {
            "axis": axis_in_range(axis[0], context.type(node.input(0)).rank),
            "exclusive": int(bool(int_attr(node, "exclusive", 0))),
            "reverse": int(bool(int_attr(node, "reverse", 0))),
        }
        return Canonical(op, node.inputs[:1], attrs)

    return translate


TRANSLATORS: dict[str, tuple[tuple[int, Translator], ...]] = {
    "TopK": ((1, top_k_1), (10, top_k_10)),
    "ArgMax": ((1, _arg("ArgMax")),),
    "ArgMin": ((1, _arg("ArgMin")),),
    "NonMaxSuppression": ((10, non_max_suppression),),
    "CumSum": ((11, _scan("CumSum")),),
    "CumProd": ((26, _scan("CumProd")),),
}
