"""Tiles a reduction in blocks of its steps: partial sums wait in memory between two blocks.

Read `tile_by_depth` first. What a tile reads of the constants is then a block that stays in L1
while all rows pass by, however long the reduction is; for that each tile of the sums is loaded and
stored once a block. The stages after the reduction become a nest of their own.
"""

from __future__ import annotations

from ago.autoschedule.steps import unroll_factor
from ago.cost_model.analytic import Tile
from ago.fuse.shape import Roles, reduction_axis
from ago.ir.nest import Stage
from ago.schedule.annotate import unroll, vectorize
from ago.schedule.decompose_reduction import decompose_reduction
from ago.schedule.reorder import reorder
from ago.schedule.split import split
from ago.schedule.stage_mem import stage_mem
from ago.schedule.trace import Schedule
from ago.schedule.tree import loop_names

_GOALS = (96, 192, 384)
"""Steps of a block, about."""

_STEP = 8
"""Steps that blocks are multiples of, so that they are unrolled without a remainder."""


def longest_axis(reduction: Stage) -> str:
    """The reduce axis that is cut into blocks."""
    steps = [axis for axis in reduction.axes if axis.kind == "reduce"]
    return max(steps, key=lambda axis: axis.extent).name


def longest_steps(reduction: Stage) -> int:
    """Steps along the longest reduce axis; 1 where a single step left no such axis."""
    return max((axis.extent for axis in reduction.axes if axis.kind == "reduce"), default=1)


def depths(reduction: Stage) -> tuple[int, ...]:
    """Steps of the blocks that there are to choose from: they divide the longest reduce axis."""
    extent = longest_steps(reduction)
    found = set()
    for goal in _GOALS:
        near = [d for d in range(_STEP, goal + 1, _STEP) if extent % d == 0 and 2 * d > goal]
        found.update(near[-1:])
    return tuple(sorted(depth for depth in found if 2 * depth <= extent))


def tile_by_depth(
    schedule: Schedule, part: Roles, reduction: Stage, tile: Tile, depth: int, room: int, lanes: int
) -> None:
    """Tile a reduction that is a nest of its own.

    Args:
        schedule: The schedule.
        part: The piece.
        reduction: Its reduction, whose loops are whole.
        tile: Accumulators.
        depth: Steps of a block; they divide the longest reduce axis.
        room: Most steps to unroll.
        lanes: Lanes of a vector.
    """
    lane, row = (_own_loop(part, reduction, axis) for axis in (part.lane_axis, part.row_axis))
    along = reduction.loop(longest_axis(reduction))
    step = unroll_factor(depth, room)
    schedule.apply(split, lane, lanes)
    schedule.apply(split, f"{lane}.0", tile.vectors, "balance")
    schedule.apply(split, row, tile.rows, "balance")
    schedule.apply(split, along, depth, "exact")
    schedule.apply(split, f"{along}.1", step, "exact")
    loops = {kind: _loops(reduction, kind, {lane, row, along}) for kind in ("spatial", "reduce")}
    steps = [*loops["reduce"], f"{along}.1.0", f"{along}.1.1"]
    inside = [f"{row}.1", f"{lane}.0.1", f"{lane}.1"]
    outside = [f"{lane}.0.0", f"{along}.0", *loops["spatial"], f"{row}.0"]
    schedule.apply(reorder, [*outside, *steps, *inside])
    schedule.apply(decompose_reduction, reduction.name, f"{along}.0")
    schedule.apply(stage_mem, reduction.buffer, steps[0], "register")
    for way in ("in", "out"):
        _copy_vectors(schedule, f"{reduction.buffer}_tile.{way}.d", lanes)
    schedule.apply(unroll, f"{lane}.0.1.init")
    schedule.apply(vectorize, f"{lane}.1.init")
    for loop in (steps[-1], *inside[:-1]):
        schedule.apply(unroll, loop)
    schedule.apply(vectorize, inside[-1])


def _own_loop(part: Roles, reduction: Stage, axis: str | None) -> str:
    """The reduction's loop along an axis of the output."""
    assert axis is not None
    own = reduction_axis(part.output, reduction, axis)
    assert own is not None
    return reduction.loop(own)


def _loops(reduction: Stage, kind: str, without: set[str]) -> list[str]:
    """The reduction's loops of a kind, outermost first."""
    found = [reduction.loop(axis.name) for axis in reduction.axes if axis.kind == kind]
    return [loop for loop in found if loop not in without]


def _copy_vectors(schedule: Schedule, prefix: str, lanes: int) -> None:
    """Vectors of a copy between partial sums and registers, all of them unrolled."""
    *outer, last = (name for name in loop_names(schedule.program) if name.startswith(prefix))
    schedule.apply(split, last, lanes)
    for loop in (*outer, f"{last}.0"):
        schedule.apply(unroll, loop)
    schedule.apply(vectorize, f"{last}.1")
