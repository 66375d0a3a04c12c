"""TopK, ArgMax, ArgMin and NonMaxSuppression as externs."""

from __future__ import annotations

from ago.ir.attributes import read_int
from ago.ir.graph import Node
from ago.ir.lowering.context import Lowering
from ago.ir.lowering.externs.common import around, c_function, element_type


def lower_top_k(node: Node, lowering: Lowering) -> None:
    """A heap of the best elements for each line."""
    x, k = lowering.types(node.inputs[0]), read_int(node.attrs, "k")
    function = c_function(
        "ago_top_k",
        "ago_top_k",
        **around(x, read_int(node.attrs, "axis")),
        k=k,
        largest=read_int(node.attrs, "largest"),
        type=element_type(x),
    )
    lowering.extern(node, function, ("x",), [("heap", 2 * max(k, 1), "i64")])


def lower_arg(node: Node, lowering: Lowering) -> None:
    """One walk along the axis."""
    x = lowering.types(node.inputs[0])
    function = c_function(
        "ago_arg_max",
        "ago_top_k",
        **around(x, read_int(node.attrs, "axis")),
        largest=int(node.op == "ArgMax"),
        select_last=read_int(node.attrs, "select_last"),
        type=element_type(x),
    )
    lowering.extern(node, function, ("x",))


def lower_nms(node: Node, lowering: Lowering) -> None:
    """Boxes sorted by score, then compared with those that are kept."""
    scores = lowering.types(node.inputs[1])
    batch, classes, boxes = scores.shape
    function = c_function(
        "ago_nms",
        "ago_nms",
        batch=batch,
        classes=classes,
        boxes=boxes,
        rows=read_int(node.attrs, "rows"),
        center_format=read_int(node.attrs, "center_point_box"),
    )
    roles = ("boxes", "scores", "most", "overlap", "least")
    lowering.extern(node, function, roles, [("order", 2 * boxes, "i64")])


EXTERNS = {
    "TopK": lower_top_k,
    "ArgMax": lower_arg,
    "ArgMin": lower_arg,
    "NonMaxSuppression": lower_nms,
}
