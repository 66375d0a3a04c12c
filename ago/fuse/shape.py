"""What fusion and scheduling need to know of a program: its stages' and its axes' roles.

Read `Roles` first. Everything here looks at loops, accesses and sizes, never at an operator's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ago.ir.identity import by_identity
from ago.ir.index import FloorDiv, Index, var, variables
from ago.ir.interned import KEPT
from ago.ir.nest import Stage
from ago.ir.program import Program
from ago.ir.value import Load, loads, select_conditions
from ago.ir.value_types import buffer_types, is_real_stage
from ago.schedule.tree import plain_variable


@dataclass(frozen=True, slots=True)
class Roles:
    """Stages and axes by what they do in the tiled nest.

    Attributes:
        output: The stage that writes the piece's result; its loops are tiled.
        reduction: The stage computed at the output's tile; None in an element-wise piece.
        lane_axis: Axis of `output` that is vectorised; None where no axis suits.
        tile_axis: Axis of `output` tiled innermost: the vectorised one, or where none suits the
            innermost that the reduction shares; None in a scalar.
        row_axis: Another axis of `output`, tiled by rows; None if it has no other. It is longer
            than 1 if there is one, and along it an operand of the reduction is the same, as the
            weights are.
    """

    output: Stage
    reduction: Stage | None
    lane_axis: str | None
    tile_axis: str | None
    row_axis: str | None


@dataclass(frozen=True, slots=True)
class Repeat:
    """An index that is the same for `lanes` neighbours, and `step` further for the next ones."""

    lanes: int
    step: int


def plain_stages(program: Program) -> list[str]:
    """Names of the stages that can be inlined: plain stores to intermediate buffers."""
    return [
        stage.name
        for stage in program.stages
        if stage.reduce is None
        and not stage.guard
        and program.buffer(stage.buffer).scope == "workspace"
        and all(plain_variable(i) is not None for i in stage.index)
    ]


@by_identity(64)
def roles(program: Program, writer: str, reducer: str | None, lanes: int) -> Roles | None:
    """The roles in one piece of a program; None where nothing can be tiled.

    A piece that computes with other types than float32 stays as it is: compilers vectorise its
    plain loops.

    Args:
        program: The program.
        writer: Name of the stage that writes the piece's result.
        reducer: Name of the stage to compute at its tiles, if any.
        lanes: float32 lanes of a vector.
    """
    output = program.stage(writer)
    reduction = None if reducer is None else program.stage(reducer)
    types = buffer_types(program.buffers)
    if not all(is_real_stage(stage, types) for stage in (output, reduction) if stage is not None):
        return None
    lane = _lane_axis(program, output, reduction, lanes)
    names = [a.name for a in output.axes]
    shared = [n for n in names if reduction is None or reduction_axis(output, reduction, n)]
    if reduction is not None and not shared:
        return None
    tiled = lane or (shared[-1] if shared else None)
    others = sorted(
        (a for a in output.axes if a.name != tiled),
        key=lambda a: (a.extent > 1, shares_operand(output, reduction, a.name)),
    )
    return Roles(output, reduction, lane, tiled, others[-1].name if others else None)


def shares_operand(output: Stage, reduction: Stage | None, axis: str | None) -> bool:
    """Whether the elements of a reduction along an axis of the output have an operand in common."""
    if reduction is None or axis is None:
        return False
    inner = reduction_axis(output, reduction, axis)
    if inner is None:
        return False
    loop = reduction.loop(inner)
    return any(
        not any(loop in variables(index) for index in load.index)
        for load, _ in loads(reduction.value)
    )


def _lane_axis(program: Program, output: Stage, reduction: Stage | None, lanes: int) -> str | None:
    """The innermost axis along which loads are contiguous or the same for all lanes.

    In a reduction that counts for its own loads; its result is then read, and the output stored,
    once a vector, where strides cost less than scalar multiply-accumulates. An axis along which the
    store is contiguous goes before others.
    """
    contiguous = [a for a in output.axes if output.index[-1].coefficient(output.loop(a.name)) == 1]
    if reduction is None:
        suitable = (
            axis.name
            for axis in reversed(contiguous)
            if _all_suit(program, output, None, output.loop(axis.name), lanes)
        )
        return next(suitable, None)
    others = [a for a in output.axes if a not in contiguous]
    for axis in [*reversed(contiguous), *reversed(others)]:
        if _reduces_along(program, output, reduction, axis.name, lanes):
            return axis.name
    return None


def _reduces_along(
    program: Program, output: Stage, reduction: Stage, axis: str, lanes: int
) -> bool:
    """Whether whole vectors along an axis of the output can be accumulated."""
    inner = reduction_axis(output, reduction, axis)
    if inner is None or is_bordered(output, reduction, output.loop(axis)):
        return False
    loop = reduction.loop(inner)
    contiguous = reduction.index[-1].coefficient(loop) == 1
    return contiguous and _all_suit(program, reduction, reduction, loop, lanes)


def _all_suit(
    program: Program, stage: Stage, reduction: Stage | None, loop: str, lanes: int
) -> bool:
    return all(
        _suits(program, load, loop, lanes)
        for load in stage_loads(stage)
        if reduction is None or load.buffer != reduction.buffer
    )


def is_bordered(output: Stage, reduction: Stage, loop: str) -> bool:
    """Whether the reduction's result is read only in a part of a loop's iterations."""
    return any(
        load.buffer == reduction.buffer and any(loop in variables(c) for c in condition)
        for load, condition in loads(output.value)
    )


@by_identity(1024)
def stage_loads(stage: Stage) -> tuple[Load, ...]:
    """All loads of a stage, those of its init first."""
    values = [stage.value] if stage.init is None else [stage.init, stage.value]
    return tuple(load for value in values for load, _ in loads(value))


def _suits(program: Program, load: Load, loop: str, lanes: int) -> bool:
    """Whether a load vectorises along a loop: lanes are neighbours, or read the same element.

    Or several lanes each read the same one, and a vector holds all that they read.
    """
    buffer = program.buffer(load.buffer)
    if buffer.scope == "constant":
        return True
    *outer, last = load.index or (Index(),)
    if not all(is_uniform(i, loop, lanes) for i in outer):
        return False
    if last.coefficient(loop) == 1 or is_uniform(last, loop, lanes):
        return True
    return repeated_lanes(last, loop, lanes) is not None


@lru_cache(maxsize=KEPT)
def is_uniform(index: Index, loop: str, lanes: int) -> bool:
    """Whether an index is the same in all lanes of each vector, which lies inside a group."""
    for atom, _ in index.terms:
        match atom:
            case FloorDiv(value, divisor) if value == var(loop) and divisor >= lanes:
                continue
        if loop in variables(Index(((atom, 1),))):
            return False
    return True


@lru_cache(maxsize=KEPT)
def repeated_lanes(index: Index, loop: str, lanes: int) -> Repeat | None:
    """How neighbouring lanes share the places of an index, where one vector holds all of them.

    None where it is something else: all lanes alike, neighbours, or too far apart for one vector.
    """
    found = [(a, c) for a, c in index.terms if loop in variables(Index(((a, 1),)))]
    match found:
        case [(FloorDiv(value, divisor), step)] if value == var(loop) and divisor < lanes:
            start = 0 if lanes % divisor == 0 else divisor - 1
            reach = (start + lanes - 1) // divisor * step + 1
            return Repeat(divisor, step) if 0 < reach <= lanes else None
    return None


def reduction_axis(output: Stage, reduction: Stage, axis: str) -> str | None:
    """The reduction's axis that an axis of the output becomes; None where it is broadcast."""
    name = output.loop(axis)
    for load in stage_loads(output):
        if load.buffer != reduction.buffer:
            continue
        for place, index in enumerate(load.index):
            if name in variables(index):
                ours = variables(reduction.index[place])
                names = (a.name for a in reduction.axes if reduction.loop(a.name) in ours)
                return next(names, None)
    return None


def guarded_axes(stage: Stage) -> list[str]:
    """Axes on which a select in the stage's value depends, innermost first."""
    names = {n for part in select_conditions(stage.value) for c in part for n in variables(c)}
    return [a.name for a in reversed(stage.axes) if stage.loop(a.name) in names]
