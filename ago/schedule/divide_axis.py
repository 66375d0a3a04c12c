"""`divide_axis`: one axis of a naive stage becomes blocks and positions in a block."""

from __future__ import annotations

from dataclasses import replace

from ago.ir.index import Index, substitute, var
from ago.ir.nest import Axis
from ago.ir.program import Program
from ago.ir.value import map_indices
from ago.schedule.compute_at import find_stage, naive_nest
from ago.schedule.refusals import refuse
from ago.schedule.tree import moves_data


def divide_axis(program: Program, stage: str, axis: str, factor: int, place: int = 0) -> Program:
    """Split an axis of a stage itself, and let its blocks be a loop further out.

    Rewrite::

        for x: for y in [0, h): C[x, y] = f(x, y)
        →  for y_o in [0, h/n): for x: for y_i in [0, n): C[x, n*y_o + y_i] = f(x, n*y_o + y_i)

    Unlike the loops that `split` makes, the new axes are the stage's own: what is computed at the
    loop over blocks, and how the rest of the stage is tiled, are decided as for any naive stage.

    Requires:
        1. The stage and the axis exist (`unknown-stage`, `unknown-axis`); the stage is still its
           naive nest (`stage-scheduled`) and no reduction (`divides-reduction`). It does not read
           other elements of the buffer that it writes (`in-place`).
        2. The factor is at least 1 and divides the extent (`split-not-exact`); the place is not
           behind the axis, and no axis has a new one's name (`bad-place`).

    Args:
        program: The program.
        stage: Name of the stage.
        axis: The axis to split.
        factor: Positions in a block.
        place: Number of axes that stay outside the blocks.

    Returns:
        The rewritten program; the axis `y` became `y_o` and `y_i`.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import chain
        >>> from ago.schedule.tree import loop_names
        >>> loop_names(divide_axis(chain(4, 6), "R", "j", 3))
        ('S.i', 'S.j', 'R.j_o', 'R.i', 'R.j_i')
    """
    old = find_stage(program, stage)
    names = [a.name for a in old.axes]
    if axis not in names:
        hint = f"axes are {', '.join(names)}"
        raise refuse("unknown-axis", program, f"{stage} has no axis {axis!r}", hint=hint)
    nest = naive_nest(program, old)
    if old.reduce is not None:
        hint = "cache_write gives it a stage that copies its result"
        raise refuse("divides-reduction", program, f"{stage} is a reduction", hint=hint)
    if moves_data(old.leaf()):
        raise refuse("in-place", program, f"{stage} moves elements of {old.buffer}")
    extent = old.axis(axis).extent
    if factor < 1 or extent % factor:
        raise refuse("split-not-exact", program, f"{axis} of {extent} in blocks of {factor}")
    outer, inner = f"{axis}_o", f"{axis}_i"
    if not 0 <= place <= names.index(axis) or {outer, inner} & set(names):
        message = f"{outer} at place {place} among {', '.join(names)}"
        raise refuse("bad-place", program, message)
    moved = {old.loop(axis): var(old.loop(outer)) * factor + var(old.loop(inner))}

    def change(index: Index) -> Index:
        return substitute(index, moved)

    axes = [Axis(inner, factor) if a.name == axis else a for a in old.axes]
    axes.insert(place, Axis(outer, extent // factor))
    new = replace(
        old,
        axes=tuple(axes),
        index=tuple(change(i) for i in old.index),
        value=map_indices(old.value, change),
        guard=tuple(change(c) for c in old.guard),
    )
    body = tuple(new.nest() if s is nest else s for s in program.body)
    return program.with_stage(new).with_body(body)
