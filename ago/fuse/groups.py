"""Neighbours along a vectorised axis that read the same input: groups, and channel multipliers.

Read `interleaving` first. All of it looks at how the reduction's loads depend on the axis: by a
quotient, so that elements of one quotient share what they read.
"""

from __future__ import annotations

import math

from ago.fuse.shape import Repeat, Roles, reduction_axis, repeated_lanes, stage_loads
from ago.ir.index import FloorDiv, variables
from ago.ir.nest import Stage
from ago.ir.program import Program
from ago.ir.value import Load


def loops_of(part: Roles, axis: str | None) -> set[str]:
    """The reduction's loop that an axis of the output becomes; empty where there is none."""
    if axis is None or part.reduction is None:
        return set()
    inner = reduction_axis(part.output, part.reduction, axis)
    return set() if inner is None else {part.reduction.loop(inner)}


def shared_group(part: Roles, lane: str) -> int:
    """Elements along the lane axis that read the same input: the divisor of a group; 1 without."""
    assert part.reduction is not None
    loops = loops_of(part, lane)
    indices = (index for load in stage_loads(part.reduction) for index in load.index)
    quotients = (a for index in indices for a, _ in index.terms if isinstance(a, FloorDiv))
    return min((a.divisor for a in quotients if loops & variables(a.value)), default=1)


def ragged_group(part: Roles, lane: str, lanes: int) -> int:
    """Elements of a group along the lane axis that is no whole number of vectors; 0 without.

    Vectors must not reach into the next group, which reads another input: the last one of a group
    overlaps its neighbour.
    """
    group = shared_group(part, lane)
    return group if lanes > 1 and group >= lanes and group % lanes else 0


def repeated(load: Load, loops: set[str], lanes: int) -> Repeat | None:
    """How neighbouring lanes read the same element of a load, where they do."""
    found = (repeated_lanes(index, loop, lanes) for index in load.index for loop in loops)
    return next((repeat for repeat in found if repeat is not None), None)


def lane_period(part: Roles, lane: str, lanes: int) -> int:
    """Vectors along the lane axis after which lanes are picked from a load in the same way again.

    1 unless several lanes read the same element, and their number does not divide the lanes.
    """
    if part.reduction is None or lanes == 1:
        return 1
    loops = loops_of(part, lane)
    found = [repeated(load, loops, lanes) for load in stage_loads(part.reduction)]
    return math.lcm(*(r.lanes // math.gcd(r.lanes, lanes) for r in found if r is not None))


def interleaving(program: Program, part: Roles, lane: str, lanes: int) -> int:
    """How many neighbours along the lane axis are made of the same inputs; 1 mostly.

    Their vectors, one for each neighbour, then share each load, and are interleaved as they are
    stored. The inputs must be neighbours themselves, and no other input be read along the axis.

    Args:
        program: The program, its reduction's loops still whole.
        part: Its stages.
        lane: The output's vectorised axis.
        lanes: float32 lanes of a vector.
    """
    if part.reduction is None or lanes == 1 or not _is_plain(program, part, lane):
        return 1
    loops = loops_of(part, lane)
    along = [load for load in _inputs(program, part.reduction) if _mentions(load, loops)]
    found = {repeated(load, loops, lanes) for load in along}
    match list(found):
        case [Repeat(count, 1)]:
            return count
    return 1


def _is_plain(program: Program, part: Roles, lane: str) -> bool:
    """Whether the output is contiguous along the lane axis, where it reads the reduction only."""
    output, loop = part.output, part.output.loop(lane)
    return output.index[-1].coefficient(loop) == 1 and not any(
        _mentions(load, {loop})
        for load in _inputs(program, output)
        if part.reduction is None or load.buffer != part.reduction.buffer
    )


def _inputs(program: Program, stage: Stage) -> list[Load]:
    loads = stage_loads(stage)
    return [load for load in loads if program.buffer(load.buffer).scope != "constant"]


def _mentions(load: Load, loops: set[str]) -> bool:
    return any(loops & variables(index) for index in load.index)
