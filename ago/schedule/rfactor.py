"""`rfactor`: a reduction becomes partial sums in a new dimension, and a reduction of those."""

from __future__ import annotations

from dataclasses import replace

from ago.ir.functions import neutral
from ago.ir.index import substitute, var
from ago.ir.nest import Axis, Buffer, Stage
from ago.ir.program import Program
from ago.ir.value import Const, Load, Select, substitute_value
from ago.schedule.compute_at import find_stage, naive_nest
from ago.schedule.naive import require_sole_writer
from ago.schedule.refusals import refuse, require_factor
from ago.schedule.tree import unused

_REGROUPED = ("add", "mul", "max", "min")
"""Functions whose operands may be accumulated in groups."""


def rfactor(program: Program, stage: str, axis: str, parts: int) -> Program:
    """Reduce every `parts`-th element by itself, then reduce the partial results.

    Rewrite::

                                             for q, v in [0, p): R[q, v] = Σ_o x(q, p*o + v)
        for q: C[q] = init + Σ_k x(q, k)  →  for q: C[q] = init + Σ_v R[q, v]

    The partial sums are a stage and a buffer of their own, `<stage>_rf`, with a spatial axis
    `<axis>_part` behind the others. It can be vectorised where the reduction itself has no spatial
    axis to vectorise, and parallel; the stage itself keeps its name, and its axis has the extent
    `parts`. Sums are regrouped. Where `parts` does not divide the extent, what is missing is
    neutral.

    Requires:
        1. The stage exists (`unknown-stage`) and is still naive (`stage-scheduled`); it is the only
           writer of its buffer (`many-writers`), which it does not read (`in-place`).
        2. It is a reduction by add, mul, max or min (`no-reduction`) over that axis
           (`unknown-axis`).
        3. `parts` is an integer of at least 1 (`bad-factor`).

    Args:
        program: The program.
        stage: Name of the reduction.
        axis: Name of the reduce axis that is split.
        parts: Number of partial results for each element.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> from ago.schedule.tree import loop_names
        >>> loop_names(rfactor(matmul(4, 6, 8), "C", "k", 4))
        ('C_rf.i', 'C_rf.j', 'C_rf.k_part', 'C_rf.k', 'C.i', 'C.j', 'C.k')
    """
    reduction = find_stage(program, stage)
    nest = naive_nest(program, reduction)
    require_sole_writer(program, reduction)
    if reduction.reduce not in _REGROUPED:
        message = f"{stage} is no reduction by {', '.join(_REGROUPED)}"
        raise refuse("no-reduction", program, message)
    if axis not in [a.name for a in reduction.axes if a.kind == "reduce"]:
        message = f"{stage} has no reduce axis {axis!r}"
        raise refuse("unknown-axis", program, message)
    require_factor(program, parts, f"{stage}.{axis} in {parts!r} parts")
    taken = [b.name for b in program.buffers] + [s.name for s in program.stages]
    name = unused(f"{stage}_rf", taken)
    part = unused(f"{axis}_part", [a.name for a in reduction.axes])
    dtype = program.buffer(reduction.buffer).dtype
    start = Const(neutral(reduction.reduce, dtype), dtype)
    partial = _partial(reduction, name, axis, (part, parts), start)
    final = _final(reduction, partial, axis, parts)
    shape = tuple(a.extent for a in partial.axes if a.kind == "spatial")
    stages = tuple(
        new for old in program.stages for new in ((partial, final) if old is reduction else (old,))
    )
    body = tuple(
        new
        for old in program.body
        for new in ((partial.nest(), final.nest()) if old is nest else (old,))
    )
    after = replace(program, stages=stages, body=body)
    return after.with_buffer(Buffer(name, shape, "workspace", dtype))


def _partial(
    reduction: Stage, name: str, axis: str, factored: tuple[str, int], start: Const
) -> Stage:
    """The stage of partial results; its axis `factored` comes before the reduce axes."""
    part, parts = factored
    extent = reduction.axis(axis).extent
    spatial = [a for a in reduction.axes if a.kind == "spatial"]
    reducing = [
        replace(a, extent=-(-extent // parts)) if a.name == axis else a
        for a in reduction.axes
        if a.kind == "reduce"
    ]
    at = {reduction.loop(a.name): var(f"{name}.{a.name}") for a in reduction.axes}
    whole = at[reduction.loop(axis)] * parts + var(f"{name}.{part}")
    at[reduction.loop(axis)] = whole
    value = substitute_value(reduction.value, at)
    if extent % parts:
        value = Select((extent - 1 - whole,), value, start)
    return replace(
        reduction,
        name=name,
        axes=(*spatial, Axis(part, parts), *reducing),
        buffer=name,
        index=tuple(var(f"{name}.{a.name}") for a in (*spatial, Axis(part, parts))),
        value=value,
        init=start,
        guard=tuple(substitute(c, at) for c in reduction.guard),
    )


def _final(reduction: Stage, partial: Stage, axis: str, parts: int) -> Stage:
    """The stage that reduces the partial results."""
    spatial = tuple(a for a in reduction.axes if a.kind == "spatial")
    index = (*(var(reduction.loop(a.name)) for a in spatial), var(reduction.loop(axis)))
    return replace(
        reduction,
        axes=(*spatial, Axis(axis, parts, "reduce")),
        value=Load(partial.buffer, index),
    )
