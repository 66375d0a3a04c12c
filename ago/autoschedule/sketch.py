"""The sketch of one subgraph: from its naive program to a tiled, vectorised one.

Read `schedule_program` first. It emits a trace by rules over the program and asks the chooser for
register tile, loop order and unrolling; the analytic model puts its favourite first. A program that
fits no rule keeps its naive nests, which are always correct.
"""

from __future__ import annotations

from ago.autoschedule.order import outer_orders
from ago.autoschedule.packing import pack_constants
from ago.autoschedule.pieces import Piece, find_pieces
from ago.autoschedule.problem import tile_problem, vector_choices
from ago.autoschedule.shape import Roles, guarded_axes, reduction_axis, roles
from ago.cost_model.analytic import MAX_UNROLLED, TileProblem, candidate_tiles
from ago.errors import ScheduleError
from ago.ir.nest import Stage
from ago.ir.program import Program
from ago.schedule.annotate import unroll, vectorize
from ago.schedule.chooser import Chooser
from ago.schedule.collapse import collapse
from ago.schedule.compute_at import compute_at
from ago.schedule.peel import peel
from ago.schedule.reorder import reorder
from ago.schedule.round_axis import round_axis
from ago.schedule.split import split
from ago.schedule.store_at import store_at
from ago.schedule.trace import Schedule
from ago.target import Target


def schedule_program(program: Program, target: Target, chooser: Chooser | None = None) -> Schedule:
    """Schedule a naive program for a target.

    Args:
        program: Any naive program. Each reduction with the element-wise stages after it becomes
            one nest; a piece that fits no rule stays naive.
        target: The CPU.
        chooser: Who decides; by default the analytic model's favourites are taken.

    Returns:
        The schedule: program and trace.
    """
    schedule = Schedule(program, chooser)
    pieces = find_pieces(schedule)
    for piece in pieces:
        _collapse_spatial(schedule, piece.output)
    lanes = [_round_lanes(schedule, piece, target) for piece in pieces]
    for piece, width in reversed(list(zip(pieces, lanes, strict=True))):
        part = _roles(schedule.program, piece, width)
        if part is None:
            continue
        _peel_border(schedule, part.output, part.lane_axis if width > 1 else None)
        if part.reduction is None:
            _schedule_elementwise(schedule, part, width)
        else:
            _schedule_reduction(schedule, part, part.reduction, width, target)
    pack_constants(schedule)
    return schedule


def _roles(program: Program, piece: Piece, lanes: int) -> Roles | None:
    reduction = None if piece.reduction is None else program.stage(piece.reduction)
    return roles(program, program.stage(piece.output), reduction, lanes)


def _collapse_spatial(schedule: Schedule, output: str) -> None:
    """Merge neighbouring spatial axes of the output wherever no access tells them apart."""
    position = 0
    while True:
        axes = schedule.program.stage(output).axes
        if position + 2 >= len(axes):
            return
        try:
            schedule.apply(collapse, output, axes[position].name, axes[position + 1].name)
        except ScheduleError:
            position += 1


def _round_lanes(schedule: Schedule, piece: Piece, target: Target) -> int:
    """Round the vectorised axis to whole vectors; returns the lanes to use, 1 for scalar code."""
    part = _roles(schedule.program, piece, target.lanes)
    if part is None or part.lane_axis is None:
        return 1
    try:
        schedule.apply(round_axis, part.output.name, part.lane_axis, target.lanes)
    except ScheduleError:
        extent = part.output.axis(part.lane_axis).extent
        return target.lanes if extent % target.lanes == 0 else 1
    return target.lanes


def _peel_border(schedule: Schedule, output: Stage, lane_axis: str | None) -> None:
    """Move the borders, where a guard fails, into nests of their own around the interior.

    Borders along the vectorised axis become lane masks.
    """
    names = [output.loop(a.name) for a in output.axes]
    for axis in guarded_axes(output):
        if axis == lane_axis:
            continue
        loop = output.loop(axis)
        schedule.apply(reorder, [loop, *(n for n in names if n != loop)])
        try:
            schedule.apply(peel, loop)
        except ScheduleError:
            return
        names.sort(key=lambda n: n != loop)
    original = [output.loop(a.name) for a in output.axes]
    if names != original:
        schedule.apply(reorder, original)


def _schedule_elementwise(schedule: Schedule, part: Roles, lanes: int) -> None:
    if part.lane_axis is None or lanes == 1:
        return
    loop = part.output.loop(part.lane_axis)
    inner = [part.output.loop(a.name) for a in part.output.axes if a.name != part.lane_axis]
    schedule.apply(split, loop, lanes)
    schedule.apply(reorder, [*inner, f"{loop}.0", f"{loop}.1"])
    schedule.apply(vectorize, f"{loop}.1")


def _schedule_reduction(
    schedule: Schedule, part: Roles, reduction: Stage, lanes: int, target: Target
) -> None:
    """Tile the output in registers, compute the reduction at the tile, unroll and vectorise."""
    output, program = part.output, schedule.program
    lane, row = part.tile_axis, part.row_axis
    assert lane is not None
    problem = tile_problem(program, part, lane, row, lanes)
    choices = vector_choices(program, part, lane, lanes)
    tiles = candidate_tiles(problem, target, choices)
    picked = schedule.decide(f"{output.name}/tile", [(t.rows, t.vectors) for t in tiles])
    assert isinstance(picked, tuple)
    rows, vectors = int(picked[0]), int(picked[1])
    at = _tile_output(schedule, part, (lane, row), (rows, vectors), lanes, target)
    schedule.apply(compute_at, reduction.name, at)
    schedule.apply(store_at, reduction.buffer, at, "register")
    inside = _reduction_loops(schedule, part, reduction, (lane, row), lanes)
    _order_reduction(schedule, reduction, inside, problem, rows * vectors)
    if lanes > 1:
        schedule.apply(vectorize, inside[-1])


def _tile_output(
    schedule: Schedule,
    part: Roles,
    axes: tuple[str, str | None],
    tile: tuple[int, int],
    lanes: int,
    target: Target,
) -> str:
    """Split and order the output's loops; returns the loop of whose iterations each is a tile."""
    output, (lane, row), (rows, vectors) = part.output, axes, tile
    lane_loop = output.loop(lane)
    schedule.apply(split, lane_loop, lanes)
    schedule.apply(split, f"{lane_loop}.0", vectors, "shift")
    inner = [f"{lane_loop}.0.1", f"{lane_loop}.1"]
    outer = [output.loop(a.name) for a in output.axes if a.name != lane]
    if row is not None:
        row_loop = output.loop(row)
        schedule.apply(split, row_loop, rows, "shift")
        outer[outer.index(row_loop)] = f"{row_loop}.0"
        inner.insert(0, f"{row_loop}.1")
    orders = outer_orders(schedule.program, part, lane, outer, f"{lane_loop}.0.0", target)
    position = schedule.decide(f"{output.name}/order", orders)
    assert isinstance(position, int)
    outer.insert(position, f"{lane_loop}.0.0")
    schedule.apply(reorder, [*outer, *inner])
    for loop in inner[:-1]:
        schedule.apply(unroll, loop)
    schedule.apply(vectorize if lanes > 1 else unroll, inner[-1])
    return outer[-1]


def _reduction_loops(
    schedule: Schedule,
    part: Roles,
    reduction: Stage,
    axes: tuple[str, str | None],
    lanes: int,
) -> list[str]:
    """Split the reduction's lane loop; returns its loops over the tile, innermost last."""
    lane, row = axes
    inner = reduction_axis(part.output, reduction, lane)
    assert inner is not None
    lane_loop = reduction.loop(inner)
    schedule.apply(split, lane_loop, lanes)
    outer = None if row is None else reduction_axis(part.output, reduction, row)
    rows = [] if outer is None else [reduction.loop(outer)]
    return [*rows, f"{lane_loop}.0", f"{lane_loop}.1"]


def _order_reduction(
    schedule: Schedule,
    reduction: Stage,
    inside: list[str],
    problem: TileProblem,
    accumulators: int,
) -> None:
    """Put the tile's loops innermost; unroll them and as many reduction steps as is sensible.

    Where neighbouring rows of the tile share vectors of a window, the window's loop goes inside the
    rows: each vector is used up by the rows that need it before the next is loaded. Where they
    share values that are the same for all lanes, the window's loop stays: unrolled, those values
    would be kept for later rows and push accumulators out of the registers.
    """
    steps = [a for a in reduction.axes if a.kind == "reduce"]
    serial = [reduction.loop(a.name) for a in steps]
    unrolled: list[str] = []
    room = max(MAX_UNROLLED // accumulators, 1)
    for axis in reversed(steps):
        loop = reduction.loop(axis.name)
        if axis.name == problem.window_axis and axis.extent > 1 and not problem.shares_vectors:
            break
        if axis.extent <= room:
            serial.remove(loop)
            unrolled.insert(0, loop)
            room //= axis.extent
            continue
        factor = next((f for f in (4, 2) if f <= room), 1)
        if not unrolled and factor > 1:
            schedule.apply(split, loop, factor, "guard")
            serial[serial.index(loop)] = f"{loop}.0"
            unrolled.insert(0, f"{loop}.1")
        break
    spatial = {reduction.loop(a.name) for a in reduction.axes if a.kind == "spatial"}
    others = [n for n in sorted(spatial) if n not in inside and f"{n}.0" not in inside]
    window = unrolled[-1:] if problem.shares_vectors else []
    rows, lanes = inside[:-2], inside[-2:]
    taps = unrolled[: len(unrolled) - len(window)]
    schedule.apply(reorder, [*others, *serial, *taps, *rows, *window, *lanes])
    for loop in [*unrolled, *inside[:-1]]:
        schedule.apply(unroll, loop)
