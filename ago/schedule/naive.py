"""Shared by the primitives that rewrite whole stages, before any loop is scheduled."""

from __future__ import annotations

from dataclasses import replace

from ago.ir.nest import Buffer, Stage, leaf_loads
from ago.ir.program import Program
from ago.schedule.refusals import refuse


def require_naive(program: Program, what: str) -> None:
    """Check that the body is one naive nest a stage.

    Raises:
        ScheduleError: `stage-scheduled`.
    """
    if program.body != tuple(stage.nest() for stage in program.stages):
        hint = "collapse and round first, then split and reorder"
        raise refuse("stage-scheduled", program, f"{what} after a loop was scheduled", hint=hint)


def require_sole_writer(program: Program, stage: Stage) -> None:
    """Check that no other stage writes the stage's buffer, and that it reads none of it.

    Raises:
        ScheduleError: `many-writers`, `in-place`.
    """
    writers = [s.name for s in program.stages if s.buffer == stage.buffer]
    if len(writers) > 1:
        message = f"{stage.buffer} is written by {', '.join(writers)}"
        raise refuse("many-writers", program, message)
    if any(load.buffer == stage.buffer for load, _ in leaf_loads(stage.leaf())):
        raise refuse("in-place", program, f"{stage.name} reads and writes {stage.buffer}")


def rebuild(program: Program, stages: tuple[Stage, ...], buffers: tuple[Buffer, ...]) -> Program:
    """`program` with new stages and buffers, and the naive body they have."""
    body = tuple(stage.nest() for stage in stages)
    return replace(program, stages=stages, buffers=buffers, body=body)
