"""The sketch of one subgraph: from its naive program to a tiled, vectorised one.

Read `schedule_program` first. It emits a trace by rules over the program and asks the chooser for
register tile, loop order and unrolling; the analytic model puts its favourite first. A program that
fits no rule keeps its naive nests, which are always correct.
"""

from __future__ import annotations

from functools import partial

from ago.autoschedule.fused_rows import schedule_rows
from ago.autoschedule.groups import interleaving, ragged_group
from ago.autoschedule.packing import pack_constants
from ago.autoschedule.tiles import tile_piece
from ago.errors import IRError, ScheduleError
from ago.fuse.pieces import Piece, find_pieces
from ago.fuse.rows import RowPlan, find_row_plans
from ago.fuse.shape import Roles, guarded_axes, roles
from ago.ir.index import variables
from ago.ir.program import Program
from ago.ir.value import loads
from ago.ir.verify import verify
from ago.schedule.chooser import Chooser, Decision
from ago.schedule.collapse import collapse
from ago.schedule.peel import peel
from ago.schedule.reorder import reorder
from ago.schedule.round_axis import round_axis
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
    plans = _choose_plans(schedule, pieces, target)
    if not plans:
        for piece in pieces:
            _collapse_spatial(schedule, piece.output)
    lanes = {piece: _round_lanes(schedule, piece, target) for piece in pieces}
    heads = {plan.pieces[-1]: plan for plan in plans}
    fused = {piece for plan in plans for piece in plan.pieces}
    for piece in reversed(pieces):
        if piece in heads:
            _schedule_rows(schedule, heads[piece], lanes, target)
        elif piece not in fused:
            _schedule_alone(schedule, piece, lanes[piece], target)
    pack_constants(schedule)
    return schedule


def _choose_plans(schedule: Schedule, pieces: list[Piece], target: Target) -> list[RowPlan]:
    """The plans of fusion by rows that are decided for; by default those expected to gain."""
    chosen: list[RowPlan] = []
    for plan in find_row_plans(schedule.program, pieces, target):
        if not _is_legal(schedule.program, plan, target):
            continue
        choices = ("rows", "apart") if plan.gain > 0 else ("apart", "rows")
        key = f"{plan.pieces[-1].output}/fusion"
        if schedule.decide(key, choices, partial(_explain_fusion, plan.gain)) == "rows":
            chosen.append(plan)
    return chosen


def _explain_fusion(gain: float, choice: Decision) -> str:
    saved = gain if choice == "rows" else 0.0
    return f"{saved:.3g} cycles of cache traffic saved"


def _is_legal(program: Program, plan: RowPlan, target: Target) -> bool:
    """Whether the primitives accept a plan and its nest is well-formed, found by trying."""
    trial = Schedule(program)
    lanes = {piece: _round_lanes(trial, piece, target) for piece in plan.pieces}
    try:
        _schedule_rows(trial, plan, lanes, target)
        verify(trial.program)
    except (ScheduleError, IRError):
        return False
    return True


def _schedule_rows(
    schedule: Schedule, plan: RowPlan, lanes: dict[Piece, int], target: Target
) -> None:
    def roles_of(piece: Piece) -> Roles:
        part = _roles(schedule.program, piece, lanes[piece])
        assert part is not None
        return part

    schedule_rows(schedule, plan, [lanes[p] for p in plan.pieces], roles_of, target)


def _schedule_alone(schedule: Schedule, piece: Piece, lanes: int, target: Target) -> None:
    part = _roles(schedule.program, piece, lanes)
    if part is None:
        return
    _peel_border(schedule, part, part.lane_axis if lanes > 1 else None)
    tile_piece(schedule, part, lanes, target)


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
    whole_tile = target.lanes * interleaving(schedule.program, part, part.lane_axis, target.lanes)
    try:
        schedule.apply(round_axis, part.output.name, part.lane_axis, whole_tile)
    except ScheduleError:
        extent = part.output.axis(part.lane_axis).extent
        whole = extent % whole_tile == 0
        grouped = part.reduction and ragged_group(part, part.lane_axis, target.lanes)
        return target.lanes if whole or grouped else 1
    return target.lanes


def _peel_border(schedule: Schedule, part: Roles, lane_axis: str | None) -> None:
    """Move the borders, where a guard fails, into nests of their own around the interior.

    Borders along the vectorised axis become lane masks. A border in which the reduction is read
    stays, since all its readers must be in one nest.
    """
    output = part.output
    names = [output.loop(a.name) for a in output.axes]
    for axis in guarded_axes(output):
        if axis == lane_axis or not _stops_reduction(part, output.loop(axis)):
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


def _stops_reduction(part: Roles, loop: str) -> bool:
    """Whether nothing reads the reduction where a guard that depends on `loop` fails."""
    return part.reduction is None or all(
        any(loop in variables(condition) for condition in guard)
        for load, guard in loads(part.output.value)
        if load.buffer == part.reduction.buffer
    )
