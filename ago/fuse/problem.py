"""A program's reduction as the analytic model sees it."""

from __future__ import annotations

import math

from ago.cost_model.analytic import Operand, TileProblem
from ago.fuse.groups import (
    interleaving,
    lane_period,
    loops_of,
    ragged_group,
    repeated,
    shared_group,
)
from ago.fuse.shape import Roles, is_uniform
from ago.ir.index import variables
from ago.ir.nest import Stage
from ago.ir.program import Program
from ago.ir.value import Load, loads
from ago.schedule.tree import find_loop

_WIDEST = 8


def tile_problem(
    program: Program, part: Roles, lane: str, row: str | None, lanes: int
) -> TileProblem:
    """The features of a reduction that decide its register tile.

    Args:
        program: The program, before its loops are split.
        part: Its stages.
        lane: The output's vectorised axis.
        row: The output's axis tiled by rows, if any.
        lanes: float32 lanes of a vector.
    """
    output, reduction = part.output, part.reduction
    assert reduction is not None
    rows = output.axis(row).extent if row else 1
    if row is not None:
        rows = _interior(program, output.loop(row), rows)
    vectors = _interior(program, output.loop(lane), output.axis(lane).extent) // lanes
    ragged = ragged_group(part, lane, lanes)
    if ragged:
        vectors = output.axis(lane).extent // ragged * -(-ragged // lanes)
    others = [a.extent for a in output.axes if a.name not in (lane, row)]
    steps = [a for a in reduction.axes if a.kind == "reduce"]
    row_loops = loops_of(part, row)
    lane_loops = loops_of(part, lane)
    innermost = reduction.loop(steps[-1].name) if steps else ""
    long_run = bool(steps) and steps[-1].extent >= lanes
    found = [load for load, _ in loads(reduction.value)]
    window_axis = _window_axis(reduction, found, row_loops)
    window = reduction.axis(window_axis).extent if window_axis else 1
    shared = interleaving(program, part, lane, lanes)
    operands = tuple(
        Operand(
            along_rows=_mentions(load, row_loops),
            along_lanes=not _is_same(program, load, lane_loops, lanes),
            shared=shared if repeated(load, lane_loops, lanes) else 1,
            picked=shared == 1 and repeated(load, lane_loops, lanes) is not None,
            along_reduction=long_run and load.index[-1].coefficient(innermost) == 1,
            row_step=_row_step(load, row_loops) if window > 1 else 0,
        )
        for load in found
    )
    return TileProblem(
        rows=rows,
        vectors=vectors,
        steps=math.prod(a.extent for a in steps),
        repeats=math.prod(others),
        operands=operands,
        window=window,
        window_axis=window_axis,
        inner_steps=_inside(reduction, window_axis),
    )


def vector_choices(
    program: Program, part: Roles, lane: str, lanes: int, vectors: int
) -> tuple[int, ...]:
    """Tile widths in vectors: any up to a limit; for a grouped axis, those that divide a group.

    Args:
        program: The program, before its loops are split.
        part: Its stages.
        lane: The output's vectorised axis.
        lanes: float32 lanes of a vector.
        vectors: Extent of that axis, or of a block of it, in vectors.
    """
    assert part.reduction is not None
    shared = interleaving(program, part, lane, lanes)
    if shared > 1:
        return (shared,)
    if ragged_group(part, lane, lanes) or lane_period(part, lane, lanes) > 1:
        return (1,)
    group = shared_group(part, lane)
    if group >= lanes > 1:
        return tuple(v for v in range(1, _WIDEST + 1) if (group // lanes) % v == 0) or (1,)
    counts = range(1, vectors + 1)
    return tuple(sorted({math.ceil(vectors / n) for n in counts if vectors / n <= _WIDEST}))


def _interior(program: Program, loop: str, extent: int) -> int:
    """The iterations of a loop that is still whole: after peeling, or in a block of a nest."""
    found = find_loop(program, loop).extent
    return found.const if found.is_constant else extent


def _mentions(load: Load, loops: set[str]) -> bool:
    return any(loops & variables(i) for i in load.index)


def _is_same(program: Program, load: Load, loops: set[str], lanes: int) -> bool:
    """Whether all lanes of a vector read the same element."""
    if program.buffer(load.buffer).scope == "constant":
        return not _mentions(load, loops)
    return all(is_uniform(i, loop, lanes) for i in load.index for loop in loops)


def _window_axis(reduction: Stage, found: list[Load], row_loops: set[str]) -> str:
    """The reduce axis that slides along the rows; an empty string if there is none."""
    for load in found:
        for index in load.index:
            if not row_loops & variables(index):
                continue
            for axis in reduction.axes:
                if axis.kind == "reduce" and index.coefficient(reduction.loop(axis.name)):
                    return axis.name
    return ""


def _inside(reduction: Stage, window_axis: str) -> int:
    """Iterations of the reduce loops inside a window's loop; 1 where there is no window."""
    names = [a.name for a in reduction.axes]
    if not window_axis:
        return 1
    return math.prod(a.extent for a in reduction.axes[names.index(window_axis) + 1 :])


def _row_step(load: Load, row_loops: set[str]) -> int:
    return max((i.coefficient(loop) for i in load.index for loop in row_loops), default=0)
