"""`inline`: an element-wise producer disappears into its consumers' expressions."""

from __future__ import annotations

from dataclasses import replace

from ago.ir.nest import Leaf, Stage, Stmt, rewrite
from ago.ir.program import Program
from ago.ir.value import Load, Value, substitute_value
from ago.schedule.compute_at import find_stage, naive_nest
from ago.schedule.naive import require_sole_writer
from ago.schedule.refusals import refuse
from ago.schedule.tree import map_leaf, map_stage, plain_variable


def inline(program: Program, stage: str) -> Program:
    """Replace every load of a stage's buffer by the stage's expression.

    Rewrite::

        for q: P[q] = f(q)
        for i: C[i] = g(P[h(i)])   →   for i: C[i] = g(f(h(i)))

    Requires:
        1. The stage exists (`unknown-stage`) and writes an intermediate buffer (`stage-is-output`).
        2. It is a plain store at the variables of its axes, without a guard (`not-elementwise`).
        3. It is still its naive nest at the top of the program (`stage-scheduled`), the only writer
           of its buffer (`many-writers`), and does not read it (`in-place`).

    Args:
        program: The program.
        stage: Name of the stage; it is gone afterwards, with its buffer.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import chain
        >>> [s.name for s in inline(chain(4, 6), "S").stages]
        ['R']
    """
    producer = find_stage(program, stage)
    if program.buffer(producer.buffer).scope == "output":
        raise refuse("stage-is-output", program, f"{stage} writes the output {producer.buffer}")
    require_sole_writer(program, producer)
    axes = _plain_axes(program, producer)
    nest = naive_nest(program, producer)

    def load(value: Value) -> Value | None:
        if not isinstance(value, Load) or value.buffer != producer.buffer:
            return None
        at = {name: i for name, i in zip(axes, value.index, strict=True) if name is not None}
        return substitute_value(producer.value, at)

    def change(stmt: Stmt) -> tuple[Stmt, ...] | None:
        if stmt is nest:
            return ()
        return (map_leaf(stmt, load),) if isinstance(stmt, Leaf) else None

    stages = tuple(map_stage(s, load) for s in program.stages if s is not producer)
    buffers = tuple(b for b in program.buffers if b.name != producer.buffer)
    return replace(program, stages=stages, buffers=buffers, body=rewrite(program.body, change))


def _plain_axes(program: Program, producer: Stage) -> list[str | None]:
    """The loop whose variable is the index of each dimension; None for a constant 0."""
    names = [plain_variable(index) for index in producer.index]
    used = [name for name in names if name]
    spatial = [producer.loop(a.name) for a in producer.axes]
    if producer.reduce or producer.guard or None in names or sorted(used) != sorted(spatial):
        message = f"{producer.name} is not one plain store for each point of its axes"
        hint = "use compute_at for a reduction"
        raise refuse("not-elementwise", program, message, hint=hint)
    return [name or None for name in names]
