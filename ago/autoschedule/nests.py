"""Schedules the pieces of a nest: their borders, their tiles, their reductions.

Read `schedule_nest` first. `ago.fuse.nest` gives each piece its place; what is done here is what is
done to a piece alone, except that loops which other pieces depend on stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ago.autoschedule.borders import peel_borders, split_guards
from ago.autoschedule.tiles import tile_piece
from ago.fuse.nest import OpenNest, Seat, build_nest
from ago.fuse.pieces import Piece
from ago.fuse.shape import Roles, guarded_axes
from ago.schedule.trace import Schedule
from ago.target import Target

RolesOf = Callable[[Piece], Roles | None]


def schedule_nest(
    schedule: Schedule,
    opened: OpenNest,
    lanes: Mapping[Piece, int],
    roles_of: RolesOf,
    target: Target,
    threads: int,
) -> None:
    """Schedule the pieces of a nest.

    Args:
        schedule: The schedule; the pieces' nests are still naive.
        opened: The nest.
        lanes: Lanes of a vector of each piece.
        roles_of: The roles in a piece of the program as it is; None where nothing can be tiled.
        target: The CPU.
        threads: How many threads share the nest.
    """

    def finish(seat: Seat) -> None:
        part = roles_of(seat.piece)
        if part is None:
            return
        part = _with_free_rows(part, seat)
        width = lanes[seat.piece]
        lane_axis = part.lane_axis if width > 1 else None
        if seat.kept and seat.axis in guarded_axes(part.output):
            split_guards(schedule, part.output.loop(seat.axis))
        peel_borders(schedule, part, lane_axis, seat.kept)
        tile_piece(schedule, part, width, target, inner=seat.kept, whole=seat.cut)

    build_nest(schedule, opened, finish, threads)


def _with_free_rows(part: Roles, seat: Seat) -> Roles:
    """The roles with tiles along an axis that is free: the longest inner one of those left."""
    free = [a for a in part.output.axes[seat.kept :] if a.name != part.tile_axis]
    long = [a.name for a in free if a.extent > 1]
    names = long or [a.name for a in free]
    return replace(part, row_axis=names[-1] if names else None)
