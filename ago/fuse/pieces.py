"""Cuts a program into pieces: each a stage to be tiled and the reduction computed at its tiles.

Read `find_pieces` first. A subgraph may hold any number of reductions; each becomes the heart of
one piece, with the element-wise stages after it inlined into the stage that writes its result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ago.fuse.shape import plain_stages, reduction_axis, stage_loads
from ago.ir.functions import SLOW
from ago.ir.identity import by_identity
from ago.ir.index import variables
from ago.ir.nest import Stage
from ago.ir.program import Program
from ago.ir.value import functions, loads
from ago.ir.value_types import buffer_types, is_lanewise, is_real_stage
from ago.schedule.cache_write import cache_write
from ago.schedule.inline import inline
from ago.schedule.trace import Schedule
from ago.schedule.tree import plain_variable


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a program that becomes one nest.

    Attributes:
        output: Name of the stage that writes its result; its loops are tiled.
        reduction: Name of the stage computed at its tiles; None in an element-wise piece.
    """

    output: str
    reduction: str | None


def find_pieces(schedule: Schedule) -> list[Piece]:
    """Inline element-wise stages, and give each reduction a stage that writes its result.

    Last ones first, so that a stage read by several others joins the one that they have become.

    Args:
        schedule: Of a naive program; the rewrites are recorded in it.

    Returns:
        The pieces in order of execution.
    """
    for name in reversed(plain_stages(schedule.program)):
        if _joins_its_reader(schedule.program, name):
            schedule.apply(inline, name)
    taken: dict[str, str] = {}
    for stage in schedule.program.stages:
        if stage.reduce is None:
            continue
        writer = _writer_of_result(schedule.program, stage, taken)
        if writer is None:
            before = {s.name for s in schedule.program.stages}
            schedule.apply(cache_write, stage.name)
            (writer,) = (s.name for s in schedule.program.stages if s.name not in before)
        taken[writer] = stage.name
    outputs = [s.name for s in schedule.program.stages if s.reduce is None]
    return [Piece(name, taken.get(name)) for name in outputs]


def readers(program: Program, buffer: str) -> list[Stage]:
    """The stages that load from a buffer."""
    return [s for s in program.stages if any(load.buffer == buffer for load in stage_loads(s))]


@by_identity(4)
def reads_of(program: Program, piece: Piece) -> frozenset[str]:
    """The buffers that a piece reads."""
    names = [piece.output] if piece.reduction is None else [piece.output, piece.reduction]
    return frozenset(load.buffer for name in names for load in stage_loads(program.stage(name)))


def _joins_its_reader(program: Program, name: str) -> bool:
    """Whether a stage has one reader, which is element-wise: a reduction would repeat its work.

    So would a reader that spreads a quotient or the like over elements, as one of a row. And one
    that is computed in vectors stays so: integers are converted before it.
    """
    stage = program.stage(name)
    found = readers(program, stage.buffer)
    if len(found) != 1 or found[0].reduce is not None:
        return False
    types = buffer_types(program.buffers)
    if is_real_stage(found[0], types) and not is_lanewise(stage.value, types):
        return False
    spreads = math.prod(a.extent for a in found[0].axes) > math.prod(a.extent for a in stage.axes)
    return not spreads or SLOW.isdisjoint(functions(stage.value))


def _writer_of_result(program: Program, reduction: Stage, taken: dict[str, str]) -> str | None:
    """The element-wise stage that visits each element of the reduction once; None if none does.

    Not one that takes elements now from here, now from there, as a Concat does: most of its tiles
    need nothing of the reduction. Nor one that regroups its axes: a tile of it is no tile of them.
    Nor one of another type behind a reduction in float32, which would no longer be a vector.
    Nor one that takes them on one side of a diagonal: that is no box of tiles.
    """
    if program.buffer(reduction.buffer).scope == "output":
        return None
    found = readers(program, reduction.buffer)
    if len(found) != 1 or found[0].reduce is not None or found[0].name in taken:
        return None
    reader = found[0]
    types = buffer_types(program.buffers)
    if is_real_stage(reduction, types) and not is_real_stage(reader, types):
        return None
    once = all(
        axis.extent == 1 or reduction_axis(reader, reduction, axis.name) for axis in reader.axes
    )
    plain = all(
        plain_variable(index - index.const) is not None
        for load, _ in loads(reader.value)
        if load.buffer == reduction.buffer
        for index in load.index
    )
    guards = {guard for _, guard in loads(reader.value)}
    box = all(len(variables(part)) <= 1 for guard in guards for part in guard)
    return reader.name if once and plain and box and len(guards) <= 1 else None
