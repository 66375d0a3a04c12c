"""Schedules a chain of pieces row by row in one nest.

Read `schedule_rows` first. It goes from the last piece to the first: the last one's loop over rows
is the shared loop; each producer is computed there, slides along with its window, keeps a ring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ago.autoschedule.tiles import tile_piece
from ago.errors import ScheduleError
from ago.fuse.pieces import Piece
from ago.fuse.rows import ROW, RowPlan
from ago.fuse.shape import Roles, guarded_axes
from ago.ir.nest import Stage
from ago.schedule.compute_at import compute_at
from ago.schedule.fold_storage import fold_storage
from ago.schedule.peel import peel
from ago.schedule.slide import slide
from ago.schedule.specialize import specialize
from ago.schedule.trace import Schedule
from ago.target import Target

RolesOf = Callable[[Piece], Roles]


def schedule_rows(
    schedule: Schedule, plan: RowPlan, lanes: Sequence[int], roles_of: RolesOf, target: Target
) -> None:
    """Schedule the pieces of a plan in one nest over the rows of the last.

    Args:
        schedule: The schedule; the pieces' nests are still naive.
        plan: The pieces.
        lanes: Lanes of a vector of each piece.
        roles_of: The roles in a piece of the program as it is.
        target: The CPU.
    """
    last = plan.pieces[-1].output
    output = schedule.program.stage(last)
    shared = output.loop(output.axes[ROW].name)
    lane = roles_of(plan.pieces[-1]).lane_axis
    for axis in reversed(guarded_axes(output)):
        if axis not in (output.axes[ROW].name, lane):
            schedule.apply(peel, output.loop(axis))
    tile_piece(schedule, _along_columns(roles_of(plan.pieces[-1])), lanes[-1], target, ROW + 1)
    for piece, width in reversed(list(zip(plan.pieces[:-1], lanes[:-1], strict=True))):
        _place(schedule, schedule.program.stage(piece.output), shared)
        part = _along_columns(roles_of(piece))
        tile_piece(schedule, part, width, target, inner=ROW + 1)
    for piece in plan.pieces[:-1]:
        _slide(schedule, schedule.program.stage(piece.output), shared)


def _along_columns(part: Roles) -> Roles:
    """The roles with tiles along the columns, as the rows are the shared loop."""
    columns = part.output.axes[ROW + 1].name
    return replace(part, row_axis=None if part.tile_axis == columns else columns)


def _slide(schedule: Schedule, producer: Stage, shared: str) -> None:
    """Compute only new rows, where windows overlap, and keep just the rows in use, as a ring.

    Producers come first: a window is plain only while its reader's own has not begun to slide.
    """
    try:
        schedule.apply(slide, producer.name, producer.axes[ROW].name, shared)
    except ScheduleError as refusal:
        if refusal.code != "no-window":
            raise
    schedule.apply(fold_storage, producer.buffer, ROW, shared)


def _place(schedule: Schedule, producer: Stage, shared: str) -> None:
    """Compute a producer at the shared loop, each row's guards tested once."""
    schedule.apply(compute_at, producer.name, shared)
    row = producer.axes[ROW].name
    for axis in reversed(guarded_axes(producer)):
        if axis == row:
            _split_guards(schedule, producer.loop(axis))
        else:
            schedule.apply(peel, producer.loop(axis))


def _split_guards(schedule: Schedule, loop: str) -> None:
    """Test every guard along the rows once a row."""
    while True:
        try:
            schedule.apply(specialize, loop)
        except ScheduleError as refusal:
            if refusal.code != "no-guard":
                raise
            return
