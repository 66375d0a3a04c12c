"""`round_axis`: a stage's axis is rounded up, so that vectors along it are always full."""

from __future__ import annotations

from dataclasses import replace

from ago.ir.bounds import Ranges, interval
from ago.ir.index import Index, var, variables
from ago.ir.nest import Buffer, Stage, leaf_loads
from ago.ir.program import Program
from ago.ir.value import Load, Select, Value, map_value, zero
from ago.schedule.compute_at import find_stage
from ago.schedule.naive import rebuild, require_naive, require_sole_writer
from ago.schedule.refusals import refuse, require_factor

_FIXED = ("input", "constant", "output")
"""Scopes whose buffers keep their shape."""

_State = tuple[dict[str, Stage], dict[str, Buffer]]


def round_axis(program: Program, stage: str, axis: str, multiple: int) -> Program:
    """Round an axis up to a multiple, in this stage and in all producers that share it.

    Rewrite::

        for c in [0, 17): C[c] = f(P[c], w[c])
        →  for c in [0, 24): C[c] = f(P[c], c < 17 ? w[c] : 0)

    Intermediate buffers grow. Inputs and outputs keep their shapes: where they are too small, loads
    of an input give 0 and stores to an output are guarded, which become lane masks. Loads of a
    constant beyond its end give 0; `pack` stores those zeros.

    Requires:
        1. No loop is scheduled yet (`stage-scheduled`); stage and axis exist (`unknown-stage`,
           `unknown-axis`).
        2. `multiple` is an integer of at least 1 (`bad-factor`); the axis is spatial and stands
           alone in every index it occurs in, here and in the producers, but for loads of inputs
           and constants that stay inside the buffer (`cannot-round`).
        3. Each of these stages is the only writer of its buffer (`many-writers`) and does not read
           it (`in-place`).

    Args:
        program: The program.
        stage: Name of the stage.
        axis: Name of the axis.
        multiple: What its extent becomes a multiple of.

    Returns:
        The rewritten program; the same one if the extent is a multiple already.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> round_axis(matmul(4, 6, 5, relu=True), "R", "j", 8).buffer("C").shape
        (4, 8)
    """
    require_naive(program, "round_axis")
    found = find_stage(program, stage)
    require_factor(program, multiple, f"{stage}.{axis} rounded to {multiple!r}")
    if all(a.name != axis for a in found.axes):
        hint = f"axes are {', '.join(a.name for a in found.axes)}"
        raise refuse("unknown-axis", program, f"{stage} has no axis {axis!r}", hint=hint)
    extent = found.axis(axis).extent
    rounded = -(-extent // multiple) * multiple
    if rounded == extent:
        return program
    stages: dict[str, Stage] = {s.name: s for s in program.stages}
    buffers: dict[str, Buffer] = {b.name: b for b in program.buffers}
    _round(program, (stages, buffers), found, axis, rounded)
    return rebuild(program, tuple(stages.values()), tuple(buffers.values()))


def _round(program: Program, state: _State, stage: Stage, axis: str, rounded: int) -> None:
    """Round one stage's axis in `state`, then the producers it reads along that axis."""
    stages, buffers = state
    name = stage.loop(axis)
    old = stage.axis(axis)
    if old.kind != "spatial":
        raise refuse("cannot-round", program, f"{name} is a reduce axis", loop=name)
    if old.extent >= rounded:
        return
    require_sole_writer(program, stage)
    bound = old.extent - 1 - var(name)
    axes = tuple(replace(a, extent=rounded) if a is old else a for a in stage.axes)
    ranges = {stage.loop(a.name): (0, a.extent - 1) for a in axes}
    guard = stage.guard
    place = _dimension(program, stage.index, name)
    target = buffers[stage.buffer]
    if target.scope == "output" and target.shape[place] < rounded:
        guard = (*guard, bound)
    elif target.shape[place] < rounded:
        buffers[target.name] = _grown(target, place, rounded)

    def load(value: Value) -> Value | None:
        if not isinstance(value, Load) or not _mentions(value, name):
            return None
        source = buffers[value.buffer]
        if source.scope not in _FIXED or _stays_inside(value, source, name, ranges):
            return None
        _dimension(program, value.index, name)
        return Select((bound,), value, zero(source.dtype))

    init = None if stage.init is None else map_value(stage.init, load)
    stages[stage.name] = replace(
        stage, axes=axes, guard=guard, init=init, value=map_value(stage.value, load)
    )
    for producer, place in _producers(program, stage, name):
        below = stages[producer]
        inner = below.index[place]
        own = next((a.name for a in below.axes if inner == var(below.loop(a.name))), None)
        if own is None:
            message = f"{producer} writes {below.buffer} at {inner}"
            raise refuse("cannot-round", program, message, loop=name)
        _round(program, state, below, own, rounded)


def _stays_inside(load: Load, source: Buffer, name: str, ranges: Ranges) -> bool:
    """Whether the indices that depend on a loop reach no further than the buffer."""
    return all(
        interval(index, ranges)[1] < extent
        for index, extent in zip(load.index, source.shape, strict=True)
        if name in variables(index)
    )


def _mentions(load: Load, name: str) -> bool:
    return any(name in variables(index) for index in load.index)


def _producers(program: Program, stage: Stage, name: str) -> list[tuple[str, int]]:
    """The stages that `stage` reads along the loop `name`, each with the dimension it is."""
    found: list[tuple[str, int]] = []
    for load, _ in leaf_loads(stage.leaf()):
        producer = program.writer(load.buffer)
        if producer is not None and _mentions(load, name):
            found.append((producer.name, _dimension(program, load.index, name)))
    return found


def _dimension(program: Program, index: tuple[Index, ...], name: str) -> int:
    """The one dimension whose index is the variable `name`.

    Raises:
        ScheduleError: `cannot-round` where the variable does not stand alone.
    """
    places = [d for d, i in enumerate(index) if i == var(name)]
    others = [i for i in index if i != var(name) and name in variables(i)]
    if len(places) != 1 or others:
        message = f"{name} does not stand alone in [{', '.join(map(str, index))}]"
        hint = "use tail masked or guard in split"
        raise refuse("cannot-round", program, message, loop=name, hint=hint)
    return places[0]


def _grown(buffer: Buffer, place: int, extent: int) -> Buffer:
    shape = tuple(extent if d == place else s for d, s in enumerate(buffer.shape))
    return replace(buffer, shape=shape)
