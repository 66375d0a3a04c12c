"""`cache_read`: a stage reads a copy of a buffer, which can be computed at any of its loops."""

from __future__ import annotations

import math
from dataclasses import replace

from ago.ir.apart import writes_apart
from ago.ir.index import Index, as_index, var
from ago.ir.nest import Axis, Buffer, For, Leaf, Stage, Stmt, leaf_loads, leaves, rewrite
from ago.ir.program import Program
from ago.ir.value import Load, Value
from ago.schedule.compute_at import find_stage
from ago.schedule.parallel import keep_parallel
from ago.schedule.refusals import refuse
from ago.schedule.tree import find_buffer, map_leaf, map_stage, unused


def cache_read(program: Program, buffer: str, stage: str) -> Program:
    """Let a stage read a copy of a buffer, made by a stage of its own.

    Rewrite::

                                       for q: A_cache[q] = A[q]
        for i: C[i] = f(A[g(i)])   →   for i: C[i] = f(A_cache[g(i)])

    The copy, stage `<buffer>_cache` with axes `d0`, `d1`, ..., stands in front of the nest that
    reads it. `compute_at` moves it to a loop, where it copies just what that loop reads, and
    `store_at` shrinks it.

    Requires:
        1. The buffer and the stage exist (`unknown-buffer`, `unknown-stage`).
        2. The stage reads the buffer (`not-used`) and does not write it (`in-place`).
        3. The buffer is complete before the nest of the stage begins (`order`).
        4. All of it has a value: it is an input, a constant, or one stage fills it (`not-filled`).

    Args:
        program: The program.
        buffer: Name of the buffer.
        stage: Name of the stage that reads the copy.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> from ago.schedule.compute_at import compute_at
        >>> from ago.schedule.tree import loop_names
        >>> loop_names(compute_at(cache_read(matmul(4, 6, 5), "A", "C"), "A_cache", "C.i"))
        ('C.i', 'A_cache.d0', 'A_cache.d1', 'C.j', 'C.k')
    """
    source = find_buffer(program, buffer)
    reader = find_stage(program, stage)
    if any(leaf.stage == stage and leaf.buffer == buffer for leaf in leaves(program.body)):
        raise refuse("in-place", program, f"{stage} reads and writes {buffer}")
    position = _first_reader(program, buffer, stage)
    if position is None:
        raise refuse("not-used", program, f"{stage} does not read {buffer}")
    require_complete(program, source, position, stage)
    taken = [b.name for b in program.buffers] + [s.name for s in program.stages]
    name = unused(f"{buffer}_cache", taken)
    cache = Buffer(name, source.shape, "workspace", source.dtype)
    copy = _copy(source, cache)

    def load(value: Value) -> Value | None:
        if isinstance(value, Load) and value.buffer == buffer:
            return Load(name, value.index)
        return None

    def change(stmt: Stmt) -> tuple[Stmt, ...] | None:
        if not isinstance(stmt, Leaf) or stmt.stage != stage:
            return None
        return (map_leaf(stmt, load),)

    body = rewrite(program.body, change)
    stages = [map_stage(s, load) if s is reader else s for s in program.stages]
    stages.insert(program.stages.index(reader), copy)
    body = (*body[:position], copy.nest(), *body[position:])
    after = replace(program, stages=tuple(stages), body=body).with_buffer(cache)
    return keep_parallel(program, after)


def _first_reader(program: Program, buffer: str, stage: str) -> int | None:
    """The position of the first statement at the top in which `stage` reads `buffer`."""
    for position, stmt in enumerate(program.body):
        for leaf in leaves((stmt,)):
            if leaf.stage == stage and any(x.buffer == buffer for x, _ in leaf_loads(leaf)):
                return position
    return None


def require_complete(program: Program, buffer: Buffer, position: int, reader: str) -> None:
    """Check that all of `buffer` has its value before the statement at `position` of the top.

    As many different elements must be written as there are.

    Args:
        program: The program.
        buffer: What is about to be copied.
        position: Where, in `program.body`.
        reader: What reads the copy, for the message.

    Raises:
        ScheduleError: `order`, `not-filled`.
    """
    if buffer.scope in ("input", "constant"):
        return
    if any(leaf.buffer == buffer.name for leaf in leaves(program.body[position:])):
        message = f"{buffer.name} is still written where {reader} reads it"
        raise refuse("order", program, message)
    writers = [s for s in program.stages if s.buffer == buffer.name]
    if len(writers) == 1 and not writers[0].guard:
        (writer,) = writers
        loops = tuple(
            For(writer.loop(a.name), Index(), as_index(a.extent), "serial", ())
            for a in writer.axes
            if a.kind == "spatial"
        )
        count = math.prod(loop.hi.const for loop in loops)
        if count == math.prod(buffer.shape) and writes_apart(writer.index, loops, loops):
            return
    names = ", ".join(s.name for s in writers) or "no stage"
    message = f"{buffer.name} is written by {names}, which is not proved to fill it"
    raise refuse("not-filled", program, message)


def _copy(source: Buffer, cache: Buffer) -> Stage:
    axes = tuple(Axis(f"d{place}", extent) for place, extent in enumerate(source.shape))
    index = tuple(var(f"{cache.name}.{axis.name}") for axis in axes)
    return Stage(cache.name, axes, cache.name, index, Load(source.name, index))
