"""Gathers, scatters and OneHot as externs."""

from __future__ import annotations

import math

from ago.ir.attributes import read_int, read_str
from ago.ir.graph import Node
from ago.ir.lowering.context import Lowering
from ago.ir.lowering.externs.common import (
    around,
    c_function,
    element_bytes,
    element_type,
    strides,
)


def lower_gather(node: Node, lowering: Lowering) -> None:
    """Slices along an axis, copied whole."""
    x, indices = (lowering.types(value) for value in node.inputs)
    place = around(x, read_int(node.attrs, "axis"))
    function = c_function(
        "ago_gather",
        "ago_gather",
        outer=place["outer"],
        extent=place["extent"],
        count=indices.size,
        bytes=math.prod(x.shape[read_int(node.attrs, "axis") + 1 :]) * element_bytes(x),
        indices=element_type(indices),
    )
    lowering.extern(node, function, ("x", "indices"))


def lower_gather_elements(node: Node, lowering: Lowering) -> None:
    """Single elements, in the order of the indices."""
    x, indices = (lowering.types(value) for value in node.inputs)
    axis = read_int(node.attrs, "axis")
    function = c_function(
        "ago_gather_elements",
        "ago_gather",
        rank=x.rank,
        axis=axis,
        shape=indices.shape,
        strides=strides(x),
        extent=x.shape[axis],
        bytes=element_bytes(x),
        indices=element_type(indices),
    )
    lowering.extern(node, function, ("x", "indices"))


def lower_gather_nd(node: Node, lowering: Lowering) -> None:
    """Slices, copied whole."""
    x, indices = (lowering.types(value) for value in node.inputs)
    batch, depth = read_int(node.attrs, "batch_dims"), indices.shape[-1]
    function = c_function(
        "ago_gather_nd",
        "ago_gather",
        batches=math.prod(x.shape[:batch]),
        tuples=math.prod(indices.shape[batch:-1]),
        depth=depth,
        extents=x.shape[batch : batch + depth],
        bytes=math.prod(x.shape[batch + depth :]) * element_bytes(x),
        indices=element_type(indices),
    )
    lowering.extern(node, function, ("x", "indices"))


def lower_scatter_elements(node: Node, lowering: Lowering) -> None:
    """A copy, then single elements in the order of the updates."""
    x, indices, _ = (lowering.types(value) for value in node.inputs)
    axis = read_int(node.attrs, "axis")
    function = c_function(
        "ago_scatter_elements",
        "ago_scatter",
        size=x.size,
        rank=x.rank,
        axis=axis,
        shape=indices.shape,
        strides=strides(x),
        extent=x.shape[axis],
        bytes=element_bytes(x),
        type=element_type(x),
        indices=element_type(indices),
        reduction=f"AGO_SCATTER_{read_str(node.attrs, 'reduction').upper()}",
    )
    lowering.extern(node, function, ("x", "indices", "updates"))


def lower_scatter_nd(node: Node, lowering: Lowering) -> None:
    """A copy, then slices in the order of the updates."""
    x, indices, _ = (lowering.types(value) for value in node.inputs)
    depth = indices.shape[-1]
    function = c_function(
        "ago_scatter_nd",
        "ago_scatter",
        size=x.size,
        tuples=math.prod(indices.shape[:-1]),
        depth=depth,
        extents=x.shape[:depth],
        slice=math.prod(x.shape[depth:]),
        bytes=element_bytes(x),
        type=element_type(x),
        indices=element_type(indices),
        reduction=f"AGO_SCATTER_{read_str(node.attrs, 'reduction').upper()}",
    )
    lowering.extern(node, function, ("x", "indices", "updates"))


def lower_one_hot(node: Node, lowering: Lowering) -> None:
    """A comparison with each position of the new axis."""
    indices, values = (lowering.types(value) for value in node.inputs)
    axis = read_int(node.attrs, "axis")
    function = c_function(
        "ago_one_hot",
        "ago_one_hot",
        outer=math.prod(indices.shape[:axis]),
        depth=read_int(node.attrs, "depth"),
        inner=math.prod(indices.shape[axis:]),
        bytes=element_bytes(values),
        indices=element_type(indices),
    )
    lowering.extern(node, function, ("indices", "values"))


EXTERNS = {
    "Gather": lower_gather,
    "GatherElements": lower_gather_elements,
    "GatherND": lower_gather_nd,
    "ScatterElements": lower_scatter_elements,
    "ScatterND": lower_scatter_nd,
    "OneHot": lower_one_hot,
}
