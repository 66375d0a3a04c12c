"""A program's reduction as the analytic model sees it."""

from __future__ import annotations

import math

from ago.cost_model.analytic import Operand, TileProblem
from ago.fuse.shape import Roles, reduction_axis, stage_loads
from ago.ir.index import FloorDiv, variables
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
    vectors = output.axis(lane).extent // lanes
    ragged = ragged_group(part, lane, lanes)
    if ragged:
        vectors = output.axis(lane).extent // ragged * -(-ragged // lanes)
    others = [a.extent for a in output.axes if a.name not in (lane, row)]
    steps = [a for a in reduction.axes if a.kind == "reduce"]
    row_loops = _loops(part, reduction, row)
    lane_loops = _loops(part, reduction, lane)
    innermost = reduction.loop(steps[-1].name) if steps else ""
    long_run = bool(steps) and steps[-1].extent >= lanes
    found = [load for load, _ in loads(reduction.value)]
    window_axis = _window_axis(reduction, found, row_loops)
    window = reduction.axis(window_axis).extent if window_axis else 1
    operands = tuple(
        Operand(
            along_rows=_mentions(load, row_loops),
            along_lanes=_mentions(load, lane_loops),
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


def vector_choices(program: Program, part: Roles, lane: str, lanes: int) -> tuple[int, ...]:
    """Tile widths in vectors: any up to a limit; for a grouped axis, those that divide a group."""
    assert part.reduction is not None
    vectors = part.output.axis(lane).extent // lanes
    if ragged_group(part, lane, lanes):
        return (1,)
    group = _group(part.reduction, _loops(part, part.reduction, lane))
    if group > 1:
        return tuple(v for v in range(1, _WIDEST + 1) if (group // lanes) % v == 0) or (1,)
    counts = range(1, vectors + 1)
    return tuple(sorted({math.ceil(vectors / n) for n in counts if vectors / n <= _WIDEST}))


def ragged_group(part: Roles, lane: str, lanes: int) -> int:
    """Elements of a group along the lane axis that is no whole number of vectors; 0 without.

    Vectors must not reach into the next group, which reads another input: the last one of a group
    overlaps its neighbour.
    """
    assert part.reduction is not None
    group = _group(part.reduction, _loops(part, part.reduction, lane))
    return group if lanes > 1 and group >= lanes and group % lanes else 0


def _interior(program: Program, loop: str, extent: int) -> int:
    """The iterations of a loop that is still whole, or of its interior after peeling."""
    found = find_loop(program, loop).extent
    return found.const if found.is_constant else extent


def _loops(part: Roles, reduction: Stage, axis: str | None) -> set[str]:
    if axis is None:
        return set()
    inner = reduction_axis(part.output, reduction, axis)
    return set() if inner is None else {reduction.loop(inner)}


def _group(reduction: Stage, loops: set[str]) -> int:
    """Elements along some loops that read the same input: the divisor of a group; 1 without."""
    atoms = (a for load in stage_loads(reduction) for index in load.index for a, _ in index.terms)
    return min(
        (a.divisor for a in atoms if isinstance(a, FloorDiv) and loops & variables(a.value)),
        default=1,
    )


def _mentions(load: Load, loops: set[str]) -> bool:
    return any(loops & variables(i) for i in load.index)


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
