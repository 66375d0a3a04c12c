"""Divide and conquer: parts of a task are tuned first, then the whole, from what they found.

Read `split_task` and `join_parts` first. A part, the paper's mini-subgraph, has one convolution or
matrix product at most. Its stages keep their names, so that its decisions are decisions of the
whole: joining them is a union.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ago.autoschedule.sketch import FUSION
from ago.fuse.pieces import Piece
from ago.fuse.rank import is_complex
from ago.fuse.shape import stage_loads
from ago.ir.nest import Buffer, Stage
from ago.ir.program import Program
from ago.schedule.chooser import Decision
from ago.tune.task import Task

Decisions = Mapping[str, Decision]


def split_task(task: Task) -> tuple[Task, ...]:
    """Cut a task into parts with one complex operator each.

    Each complex operator begins a part, which has the simple ones that follow it; those in front
    of all of them belong to the part that reads them.

    Args:
        task: Any task.

    Returns:
        The parts, producers first; none where the task has one complex operator at most.
    """
    program = task.program
    groups = _groups(program)
    if max(groups.values(), default=0) < 1:
        return ()
    parts = []
    for number in sorted(set(groups.values())):
        stages = [stage for stage in program.stages if groups[stage.name] == number]
        part = part_of(program, stages)
        origins = " → ".join(dict.fromkeys(s.origin for s in stages if s.origin))
        label = f"part {number + 1} of {task.label}: {origins}"
        made = Task.of(part, task.target, label, intensive=task.intensive)
        parts.append(replace(made, uses=task.uses))
    return tuple(parts)


def join_parts(plans: Sequence[Decision], parts: Iterable[Decisions]) -> list[dict[str, Decision]]:
    """The first population of a whole: all decisions of its parts, under each fusion plan.

    Args:
        plans: The fusion plans of the whole, the most promising first.
        parts: The best decisions of each part.

    Returns:
        A candidate for each plan; what a plan does not ask for is in it, too.
    """
    union: dict[str, Decision] = {}
    for decisions in parts:
        union.update((key, value) for key, value in decisions.items() if key != FUSION)
    return [{FUSION: plan, **union} for plan in plans] if union else []


def part_of(program: Program, stages: Sequence[Stage]) -> Program:
    """Some stages of a naive program as a program of their own.

    Args:
        program: A naive program.
        stages: Some of its stages, in order.

    Returns:
        The program: what the other stages compute is an input, what they read an output.
    """
    names = {stage.name for stage in stages}
    inside = [load.buffer for stage in stages for load in stage_loads(stage)]
    others = [stage for stage in program.stages if stage.name not in names]
    outside = {load.buffer for stage in others for load in stage_loads(stage)}
    written = {stage.buffer for stage in stages}

    def seen_from_here(buffer: Buffer) -> Buffer:
        if buffer.scope == "workspace" and buffer.name not in written:
            return replace(buffer, scope="input")
        if buffer.scope == "output" and buffer.name not in written:
            return replace(buffer, scope="input")
        if buffer.scope == "workspace" and buffer.name in outside:
            return replace(buffer, scope="output")
        return buffer

    used = [b for b in program.buffers if b.name in {*inside, *written}]
    buffers = sorted(map(seen_from_here, used), key=lambda b: b.scope == "workspace")
    return Program.naive(program.name, tuple(buffers), tuple(stages))


def _groups(program: Program) -> dict[str, int]:
    """The part of each stage: no stage has a higher number than one that reads it."""
    writers = {stage.buffer: stage.name for stage in program.stages}
    groups: dict[str, int] = {}
    begun = 0
    for stage in program.stages:
        before = [
            groups[writers[load.buffer]] for load in stage_loads(stage) if load.buffer in writers
        ]
        if is_complex(program, Piece(stage.name, stage.name if stage.reduce else None)):
            groups[stage.name] = begun
            begun += 1
        else:
            groups[stage.name] = max(before, default=-1)
    for stage in reversed(program.stages):
        if groups[stage.name] < 0:
            readers = [
                groups[s.name]
                for s in program.stages
                if any(load.buffer == stage.buffer for load in stage_loads(s))
            ]
            groups[stage.name] = min(readers, default=0)
    return groups
