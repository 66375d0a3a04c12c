"""MaxUnpool, Col2Im and Det as externs."""

from __future__ import annotations

import math

from ago.ir.attributes import read_ints
from ago.ir.graph import Node
from ago.ir.lowering.context import Lowering
from ago.ir.lowering.externs.common import c_function
from ago.ir.ops.window import Window


def lower_max_unpool(node: Node, lowering: Lowering) -> None:
    """Zeros, then each element at its index."""
    x = lowering.types(node.inputs[0])
    function = c_function(
        "ago_max_unpool",
        "ago_fold",
        planes=math.prod(x.shape[:2]),
        rank=x.rank - 2,
        count=math.prod(x.shape[2:]),
        pooled=read_ints(node.attrs, "pooled"),
        extents=read_ints(node.attrs, "extents"),
    )
    lowering.extern(node, function, ("x", "indices"))


def lower_col2im(node: Node, lowering: Lowering) -> None:
    """Zeros, then the sum of the blocks."""
    image, block = read_ints(node.attrs, "image"), read_ints(node.attrs, "block")
    window = Window.read(node.attrs, block)
    function = c_function(
        "ago_col2im",
        "ago_fold",
        planes=math.prod(node.type.shape[:2]),
        rank=len(image),
        image=image,
        block=block,
        counts=window.output_extents(image),
        strides=window.strides,
        dilations=window.dilations,
        pads=window.pads[: len(image)],
    )
    lowering.extern(node, function, ("x",))


def lower_det(node: Node, lowering: Lowering) -> None:
    """Elimination in double, one matrix after another."""
    x = lowering.types(node.inputs[0])
    size = x.shape[-1]
    function = c_function("ago_det", "ago_det", matrices=math.prod(x.shape[:-2]), size=size)
    lowering.extern(node, function, ("x",), [("matrix", size * size, "f64")])


EXTERNS = {"MaxUnpool": lower_max_unpool, "Col2Im": lower_col2im, "Det": lower_det}
