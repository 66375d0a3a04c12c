"""`collapse`: two neighbouring axes of naive stages, and the buffers' dimensions, become one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from ago.errors import ScheduleError
from ago.ir.identity import by_identity
from ago.ir.index import Index, var, variables
from ago.ir.nest import Buffer, Stage, leaf_loads
from ago.ir.program import Program
from ago.ir.value import Load, Value, map_value, positions
from ago.schedule.compute_at import find_stage
from ago.schedule.naive import rebuild, require_naive
from ago.schedule.peel import guards_below
from ago.schedule.refusals import refuse


def collapse(program: Program, stage: str, outer: str, inner: str) -> Program:
    """Merge two axes of a stage, and the same dimensions everywhere they reach, into one.

    Rewrite::

        for y in [0, h): for x in [0, w): C[y, x] = f(P[y, x])
        →  for yx in [0, h*w): C[yx] = f(P[yx])

    The buffers are viewed with the two dimensions merged; their bytes stay as they are. The rewrite
    follows the buffers to every stage that uses them, whether it keeps both axes or reduces over
    both, which it does in the same order. Where it cannot, all of it is refused:
    `fuse_axes` on a loop would leave // and % in the indices, of which no region is a box.

    Requires:
        1. No loop is scheduled yet (`stage-scheduled`); the stage exists (`unknown-stage`).
        2. The two axes are neighbours in the stage, of one kind, and in each access stand alone in
           neighbouring dimensions of just their extents, or do not occur (`cannot-collapse`). They
           occur in no guard, no buffer is packed, and no other axis has the new name
           (`cannot-collapse`).

    Args:
        program: The program.
        stage: Name of a stage.
        outer: Name of its outer axis.
        inner: Name of the axis just inside.

    Returns:
        The rewritten program; the merged axis is called by both names joined, `yx`.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import chain
        >>> from ago.schedule.tree import loop_names
        >>> loop_names(collapse(chain(4, 6), "R", "i", "j"))
        ('S.ij', 'R.ij')
    """
    require_naive(program, "collapse")
    find_stage(program, stage)
    axes, places = _reach(program, stage, outer, inner)
    stages = tuple(
        _merge_stage(s, *axes[s.name], places) if s.name in axes else s for s in program.stages
    )
    buffers = tuple(
        _merge_dims(b, places[b.name]) if b.name in places else b for b in program.buffers
    )
    return rebuild(program, stages, buffers)


def _reach(
    program: Program, stage: str, outer: str, inner: str
) -> tuple[dict[str, tuple[str, str]], dict[str, int]]:
    """All stages whose axes merge, and all buffers with the first dimension that merges."""
    axes: dict[str, tuple[str, str]] = {}
    places: dict[str, int] = {}
    todo = [(stage, (outer, inner))]
    while todo:
        name, pair = todo.pop()
        current = program.stage(name)
        if axes.setdefault(name, pair) != pair:
            raise _refusal(program, current, "would merge two pairs of axes")
        _check_neighbours(program, current, *pair)
        for buffer, index in _accesses(current):
            place = _place(program, current, buffer, index, pair)
            if place is None:
                continue
            if program.buffer(buffer).packing is not None:
                raise _refusal(program, current, f"reads {buffer}, which is packed")
            if places.setdefault(buffer, place) != place:
                raise _refusal(program, current, f"uses {buffer} in two ways")
            for other in program.stages:
                reached = _axes_at(program, other, buffer, place)
                todo.extend((other.name, p) for p in reached if axes.get(other.name) != p)
    return axes, places


def _check_neighbours(program: Program, stage: Stage, outer: str, inner: str) -> None:
    names = [a.name for a in stage.axes]
    if (outer, inner) not in pairwise(names):
        raise _refusal(program, stage, f"has no neighbouring axes {outer}, {inner}")
    if stage.axis(outer).kind != stage.axis(inner).kind:
        raise _refusal(program, stage, f"reduces over one of {outer} and {inner} only")
    loops = {stage.loop(outer), stage.loop(inner)}
    if outer + inner in names:
        raise _refusal(program, stage, f"has an axis {outer + inner} already")
    if any(loops & variables(condition) for condition, _ in guards_below((stage.nest(),))):
        raise _refusal(program, stage, f"has a guard that depends on {outer} or {inner}")
    values = (stage.value,) if stage.init is None else (stage.init, stage.value)
    if any(loops & variables(index) for value in values for index in positions(value)):
        raise _refusal(program, stage, f"computes with the position along {outer} or {inner}")


@by_identity(1024)
def _accesses(stage: Stage) -> tuple[tuple[str, tuple[Index, ...]], ...]:
    """The stage's store and loads: buffer and index."""
    return (
        (stage.buffer, stage.index),
        *((load.buffer, load.index) for load, _ in leaf_loads(stage.leaf())),
    )


def _place(
    program: Program, stage: Stage, buffer: str, index: tuple[Index, ...], pair: tuple[str, str]
) -> int | None:
    """The dimension from which `index` is the pair of axes; None where neither axis occurs."""
    first, second = (stage.loop(a) for a in pair)
    if not any({first, second} & variables(i) for i in index):
        return None
    extents = tuple(stage.axis(a).extent for a in pair)
    shape = program.buffer(buffer).shape
    for place in range(len(index) - 1):
        here = index[place : place + 2] == (var(first), var(second))
        rest = index[:place] + index[place + 2 :]
        alone = not any({first, second} & variables(i) for i in rest)
        if here and alone and shape[place : place + 2] == extents:
            return place
    raise _refusal(program, stage, f"uses {buffer} at [{', '.join(map(str, index))}]")


def _axes_at(program: Program, stage: Stage, buffer: str, place: int) -> list[tuple[str, str]]:
    """The pairs of axes with which `stage` accesses the two dimensions of `buffer` at `place`."""
    found = [index for name, index in _accesses(stage) if name == buffer]
    if not found:
        return []
    pairs = []
    own = {var(stage.loop(a.name)): a.name for a in stage.axes}
    for index in found:
        first, second = own.get(index[place]), own.get(index[place + 1])
        if first is None or second is None:
            raise _refusal(program, stage, f"uses {buffer} at [{', '.join(map(str, index))}]")
        pairs.append((first, second))
    return pairs


def _merge_stage(stage: Stage, outer: str, inner: str, places: Mapping[str, int]) -> Stage:
    merged = var(stage.loop(outer + inner))
    gone = {stage.loop(outer), stage.loop(inner)}

    def at(buffer: str, index: tuple[Index, ...]) -> tuple[Index, ...]:
        if not any(gone & variables(i) for i in index):
            return index
        place = places[buffer]
        return (*index[:place], merged, *index[place + 2 :])

    def load(value: Value) -> Value | None:
        return (
            Load(value.buffer, at(value.buffer, value.index)) if isinstance(value, Load) else None
        )

    extent = stage.axis(outer).extent * stage.axis(inner).extent
    axes = tuple(
        replace(a, name=outer + inner, extent=extent) if a.name == outer else a
        for a in stage.axes
        if a.name != inner
    )
    init = None if stage.init is None else map_value(stage.init, load)
    index, value = at(stage.buffer, stage.index), map_value(stage.value, load)
    return replace(stage, axes=axes, index=index, value=value, init=init)


def _merge_dims(buffer: Buffer, place: int) -> Buffer:
    shape = buffer.shape
    merged = (*shape[:place], shape[place] * shape[place + 1], *shape[place + 2 :])
    return replace(buffer, shape=merged)


def _refusal(program: Program, stage: Stage, what: str) -> ScheduleError:
    return refuse("cannot-collapse", program, f"stage {stage.name} {what}")
