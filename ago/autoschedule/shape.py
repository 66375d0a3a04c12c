"""What a sketch needs to know of a program: its output stage, its reduction, its axes' roles.

Read `Roles` first. Everything here looks at loops, accesses and sizes, never at an operator's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ago.ir.index import Index, Var, variables
from ago.ir.nest import Stage
from ago.ir.program import Program
from ago.ir.value import Condition, Load, Select, Value, loads


@dataclass(frozen=True, slots=True)
class Roles:
    """Stages and axes by what they do in the tiled nest.

    Attributes:
        output: The stage that writes the program's output; its loops are tiled.
        reduction: The stage computed at the output's tile; None in an element-wise program.
        lane_axis: Axis of `output` that is vectorised; None where no axis suits.
        row_axis: Axis of `output` tiled by rows; None where all other extents are 1 or absent.
    """

    output: Stage
    reduction: Stage | None
    lane_axis: str | None
    row_axis: str | None


def plain_stages(program: Program) -> list[str]:
    """Names of the stages that can be inlined: plain stores to intermediate buffers."""
    return [
        stage.name
        for stage in program.stages
        if stage.reduce is None
        and not stage.guard
        and program.buffer(stage.buffer).scope == "workspace"
        and all(_is_variable(i) or i == Index() for i in stage.index)
    ]


def roles(program: Program) -> Roles | None:
    """The roles in a program of one output stage and at most one reduction; None for others."""
    reductions = [s for s in program.stages if s.reduce is not None]
    outputs = [s for s in program.stages if s.reduce is None]
    if len(outputs) != 1 or len(reductions) > 1:
        return None
    output, reduction = outputs[0], (reductions[0] if reductions else None)
    lane = _lane_axis(program, output, reduction)
    tiled = lane or output.axes[-1].name
    others = [a for a in output.axes if a.name != tiled and a.extent > 1]
    return Roles(output, reduction, lane, others[-1].name if others else None)


def _is_variable(index: Index) -> bool:
    match index.terms:
        case ((Var(_), 1),):
            return index.const == 0
    return False


def _lane_axis(program: Program, output: Stage, reduction: Stage | None) -> str | None:
    """The innermost axis along which every load is contiguous, the same for all, or constant.

    An axis along which the store is contiguous too goes before others; with a reduction, a strided
    store for each vector of results costs less than scalar multiply-accumulates.
    """
    contiguous = [a for a in output.axes if output.index[-1].coefficient(output.loop(a.name)) == 1]
    others = [a for a in output.axes if a not in contiguous] if reduction is not None else []
    for axis in [*reversed(contiguous), *reversed(others)]:
        name = output.loop(axis.name)
        inner = [] if reduction is None else reduction_axes(output, reduction, axis.name)
        own = all(_suits(program, load, name) for load in stage_loads(output))
        theirs = reduction is None or (
            bool(inner)
            and all(
                _suits(program, load, reduction.loop(inner[-1])) for load in stage_loads(reduction)
            )
        )
        if own and theirs:
            return axis.name
    return None


def stage_loads(stage: Stage) -> list[Load]:
    """All loads of a stage, those of its init first."""
    values = [stage.value] if stage.init is None else [stage.init, stage.value]
    return [load for value in values for load, _ in loads(value)]


def _suits(program: Program, load: Load, loop: str) -> bool:
    """Whether a load vectorises along a loop."""
    buffer = program.buffer(load.buffer)
    if buffer.scope == "constant" or program.writer(load.buffer) is not None:
        return True
    *outer, last = load.index or (Index(),)
    if any(loop in variables(i) for i in outer):
        return False
    return loop not in variables(last) or last.coefficient(loop) == 1


def reduction_axes(output: Stage, reduction: Stage, axis: str) -> list[str]:
    """The reduction's axes that an axis of the output becomes: two for a grouped channel."""
    name = output.loop(axis)
    for load in stage_loads(output):
        if load.buffer != reduction.buffer:
            continue
        for place, index in enumerate(load.index):
            if name in variables(index):
                ours = variables(reduction.index[place])
                return [a.name for a in reduction.axes if reduction.loop(a.name) in ours]
    return []


def guarded_axes(stage: Stage) -> list[str]:
    """Axes on which a select in the stage's value depends, innermost first."""
    names = {n for c in _conditions(stage.value) for n in variables(c)}
    return [a.name for a in reversed(stage.axes) if stage.loop(a.name) in names]


def _conditions(value: Value) -> Condition:
    if isinstance(value, Select):
        return value.condition + _conditions(value.then) + _conditions(value.otherwise)
    args: Sequence[Value] = getattr(value, "args", ())
    return tuple(c for arg in args for c in _conditions(arg))
