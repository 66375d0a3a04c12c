"""Borders of a piece: where its guards fail, apart from the interior, where they hold."""

from __future__ import annotations

from ago.autoschedule.elementwise import MOST_UNROLLED
from ago.errors import ScheduleError
from ago.fuse.shape import Roles, guarded_axes
from ago.ir.index import variables
from ago.ir.nest import Stage
from ago.ir.value import loads
from ago.schedule.peel import peel
from ago.schedule.reorder import reorder
from ago.schedule.specialize import specialize
from ago.schedule.trace import Schedule


def split_guards(schedule: Schedule, loop: str) -> None:
    """Test every guard along a loop once an iteration."""
    while True:
        try:
            schedule.apply(specialize, loop)
        except ScheduleError as refusal:
            if refusal.code != "no-guard":
                raise
            return


def peel_borders(schedule: Schedule, part: Roles, lane_axis: str | None, kept: int = 0) -> None:
    """Move the borders, where a guard fails, into nests of their own around the interior.

    Borders along the vectorised axis become lane masks. A border in which the reduction is read
    stays, since all its readers must be in one nest. So does a choice along a few neighbours in
    memory, which are stored together.

    Args:
        schedule: The schedule.
        part: The piece; its output's loops are whole.
        lane_axis: The vectorised axis; None in scalar code.
        kept: How many of the output's outermost loops stay as they are.
    """
    output = part.output
    free = [a.name for a in output.axes[kept:]]
    names = [output.loop(a) for a in free]
    for axis in guarded_axes(output):
        if axis == lane_axis or axis not in free or not _stops_reduction(part, output.loop(axis)):
            continue
        loop = output.loop(axis)
        if part.reduction is None and _is_stored_together(output, axis):
            continue
        schedule.apply(reorder, [loop, *(n for n in names if n != loop)])
        try:
            schedule.apply(peel, loop)
        except ScheduleError:
            return
        names.sort(key=lambda n: n != loop)
    original = [output.loop(a) for a in free]
    if names != original:
        schedule.apply(reorder, original)


def _is_stored_together(output: Stage, axis: str) -> bool:
    """Whether an axis is short and its elements are neighbours in memory."""
    together = output.index[-1].coefficient(output.loop(axis)) == 1
    return together and output.axis(axis).extent <= MOST_UNROLLED


def _stops_reduction(part: Roles, loop: str) -> bool:
    """Whether nothing reads the reduction where a guard that depends on `loop` fails."""
    return part.reduction is None or all(
        any(loop in variables(condition) for condition in guard)
        for load, guard in loads(part.output.value)
        if load.buffer == part.reduction.buffer
    )
