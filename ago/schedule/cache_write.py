"""`cache_write`: a reduction accumulates in a buffer of its own; a copy writes the output."""

from __future__ import annotations

from dataclasses import replace

from ago.ir.index import substitute, var
from ago.ir.nest import Buffer, Stage
from ago.ir.program import Program
from ago.ir.value import Load
from ago.schedule.compute_at import find_stage, naive_nest
from ago.schedule.refusals import refuse
from ago.schedule.tree import unused


def cache_write(program: Program, stage: str) -> Program:
    """Give a reduction an accumulator of its own, and a consumer that copies.

    Rewrite::

        for q: C[q] = Σ p(q, k)   →   for q: C_cache[q] = Σ p(q, k)
                                      for q: C[q] = C_cache[q]

    The copy, stage `<stage>_out`, is the one to tile; the reduction is then computed at its tile
    with its accumulators in registers. A reduction with an element-wise consumer needs no copy.

    Requires:
        1. The stage exists (`unknown-stage`) and is still naive (`stage-scheduled`).
        2. It is a reduction (`no-reduction`).

    Args:
        program: The program.
        stage: Name of the reduction.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> [s.name for s in cache_write(matmul(4, 6, 5), "C").stages]
        ['C', 'C_out']
    """
    producer = find_stage(program, stage)
    nest = naive_nest(program, producer)
    output = program.buffer(producer.buffer)
    if producer.reduce is None:
        message = f"{stage} is no reduction"
        raise refuse("no-reduction", program, message)
    spatial = tuple(a for a in producer.axes if a.kind == "spatial")
    shape = tuple(a.extent for a in spatial)
    cache = Buffer(
        unused(f"{producer.buffer}_cache", [b.name for b in program.buffers]),
        shape,
        "workspace",
        output.dtype,
    )
    own = tuple(var(producer.loop(a.name)) for a in spatial)
    reduction = replace(producer, buffer=cache.name, index=own)
    name = unused(f"{stage}_out", [s.name for s in program.stages])
    renamed = {producer.loop(a.name): var(f"{name}.{a.name}") for a in spatial}
    copy = Stage(
        name,
        spatial,
        output.name,
        tuple(substitute(i, renamed) for i in producer.index),
        Load(cache.name, tuple(renamed[producer.loop(a.name)] for a in spatial)),
        origin=producer.origin,
        guard=tuple(substitute(c, renamed) for c in producer.guard),
    )
    stages = tuple(
        new for old in program.stages for new in ((reduction, copy) if old is producer else (old,))
    )
    body = tuple(
        new
        for old in program.body
        for new in ((reduction.nest(), copy.nest()) if old is nest else (old,))
    )
    return replace(program, stages=stages, body=body).with_buffer(cache)
