"""Externs that read images at computed places."""

from __future__ import annotations

import math

from ago.ir.attributes import read_int, read_str
from ago.ir.extern import CFunction, CValue
from ago.ir.graph import Node
from ago.ir.lowering.context import Lowering


def lower_grid_sample(node: Node, lowering: Lowering) -> None:
    """An image read where a grid says."""
    x, grid = (lowering.types(value) for value in node.inputs)
    constants: dict[str, CValue] = {
        "batch": x.shape[0],
        "channels": x.shape[1],
        "rank": x.rank - 2,
        "extents": x.shape[2:],
        "points": math.prod(grid.shape[1:-1]),
        "mode": f"AGO_GRID_{read_str(node.attrs, 'mode').upper()}",
        "padding": f"AGO_GRID_{read_str(node.attrs, 'padding_mode').upper()}",
        "align_corners": read_int(node.attrs, "align_corners"),
    }
    name = "ago_grid_sample"
    lowering.extern(node, CFunction(name, name, f"{name}_args", constants), ("input", "grid"))


EXTERNS = {"GridSample": lower_grid_sample}
