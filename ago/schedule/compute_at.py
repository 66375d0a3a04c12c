"""`compute_at`: a producer is computed inside a loop of its consumer, just what that loop reads."""

from __future__ import annotations

from collections.abc import Sequence

from ago.ir.bounds import simplify
from ago.ir.index import Index, Var, as_index
from ago.ir.nest import For, If, Stage, Stmt, with_body
from ago.ir.program import Program
from ago.ir.value import loads
from ago.schedule.naive import require_sole_writer
from ago.schedule.parallel import keep_parallel
from ago.schedule.refusals import refuse
from ago.schedule.region import Box, clip, touched
from ago.schedule.stage_nest import Span, stage_nest
from ago.schedule.tree import find_path, hoisted, ranges_of, reads, replace_last


def compute_at(program: Program, stage: str, loop: str) -> Program:
    """Move a producer's naive nest to the start of each iteration of a loop of its consumer.

    Rewrite::

        for all q: P[q] = p(q)            for c: for q in region(c): P[q] = p(q)
        for c: for i: C = f(P[g(c, i)]) →        for i: C = f(P[g(c, i)])

    The region is the box that the loop's body reads of the producer's buffer, clipped to the
    producer's domain. The producer keeps the names of its loops; each starts at 0 and is relative
    to the region. Elements in several regions are computed again, which costs time only.

    Requires:
        1. `stage` and `loop` exist (`unknown-stage`, `unknown-loop`).
        2. The producer is still its naive nest at the top of the program (`stage-scheduled`) and
           does not write an output (`stage-is-output`). It is the only writer of its buffer
           (`many-writers`) and does not read it (`in-place`).
        3. It stands before the loop (`order`), all its readers inside, also those with which a
           reduction starts (`not-consumer-loop`).
        4. The region is a box in the producer's axes (`no-region`).
        5. The loop is not vectorised, nor is one around it (`inside-vector`); parallel loops stay
           free of races (`race`, `private-flow`).

    Args:
        program: The program.
        stage: Name of the producer.
        loop: Name of a loop of the consumer.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> from ago.schedule.tree import loop_names
        >>> loop_names(compute_at(matmul(4, 6, 5, relu=True), "C", "R.i"))
        ('R.i', 'C.i', 'C.j', 'C.k', 'R.j')
    """
    producer = find_stage(program, stage)
    nest = naive_nest(program, producer)
    path = find_path(program, loop)
    consumer = path[-1]
    assert isinstance(consumer, For)
    require_sole_writer(program, producer)
    _check_place(program, producer, nest, path)
    ranges = ranges_of(path)
    box = touched(consumer.body, producer.buffer, ranges, stores=False)
    assert box is not None
    axes = _axis_ranges(program, producer, box, path)
    moved = stage_nest(producer, axes)
    placed = replace_last(program, path, (with_body(consumer, (moved, *consumer.body)),))
    after = placed.with_body(tuple(s for s in placed.body if s is not nest))
    return keep_parallel(program, after)


def find_stage(program: Program, stage: str) -> Stage:
    """The stage called `stage`.

    Raises:
        ScheduleError: `unknown-stage`.
    """
    for candidate in program.stages:
        if candidate.name == stage:
            return candidate
    hint = f"stages are {', '.join(s.name for s in program.stages)}"
    raise refuse("unknown-stage", program, f"no stage is called {stage!r}", hint=hint)


def naive_nest(program: Program, stage: Stage) -> Stmt:
    """The statement at the top of the program that is the stage's naive nest.

    Raises:
        ScheduleError: `stage-scheduled`.
    """
    naive = stage.nest()
    for stmt in program.body:
        if stmt == naive:
            return stmt
    message = f"{stage.name} is no longer a naive nest at the top"
    hint = "schedule from consumer to producer: compute_at first, then split its loops"
    raise refuse("stage-scheduled", program, message, hint=hint)


def _check_place(program: Program, producer: Stage, nest: Stmt, path: tuple[For | If, ...]) -> None:
    consumer = path[-1]
    assert isinstance(consumer, For)
    if program.buffer(producer.buffer).scope == "output":
        message = f"{producer.name} writes the output {producer.buffer}"
        raise refuse("stage-is-output", program, message)
    position = {id(stmt): i for i, stmt in enumerate(program.body)}
    if position[id(nest)] >= position[id(path[0])]:
        message = f"{producer.name} does not come before {consumer.name}"
        raise refuse("order", program, message, loop=consumer.name)
    elsewhere = replace_last(program, path, ()).body
    inside = reads(consumer.body, producer.buffer)
    early = any(load.buffer == producer.buffer for r in hoisted(path) for load, _ in loads(r.init))
    if not inside or early or reads(elsewhere, producer.buffer):
        message = f"{producer.buffer} is not read by {consumer.name} alone"
        hint = "choose a loop around every reader"
        raise refuse("not-consumer-loop", program, message, loop=consumer.name, hint=hint)
    for stmt in path:
        if isinstance(stmt, For) and stmt.kind == "vector":
            message = f"{producer.name} computed at {consumer.name}"
            raise refuse("inside-vector", program, message, loop=stmt.name, hint="vectorize last")


def _axis_ranges(
    program: Program, producer: Stage, box: Box, path: Sequence[For | If]
) -> dict[str, Span]:
    """The range of each spatial axis that covers `box`, within the axis's domain."""
    ranges = ranges_of(path)
    domain = {producer.loop(a.name): a.extent for a in producer.axes}
    found: dict[str, Span] = {}
    for index, low, high in zip(producer.index, box.low, box.high, strict=True):
        low, high = low - index.const, high - index.const
        terms = sorted(index.terms, key=lambda term: -term[1])
        for atom, stride in terms:
            if not isinstance(atom, Var) or atom.name in found or stride < 1:
                message = f"{producer.buffer} is written at {index}"
                raise refuse("no-region", program, message)
            first, last = clip(low // stride, high // stride, domain[atom.name], path)
            found[atom.name] = Span(first, simplify(last - first + 1, ranges))
            low, high = _within(low, high, first, last, stride)
    return found


def _within(low: Index, high: Index, first: Index, last: Index, stride: int) -> tuple[Index, Index]:
    """What is left of `[low, high]` inside the steps `first` to `last` of a stride."""
    if first != last:
        return Index(), as_index(stride - 1)
    if low // stride == high // stride == first:
        return low % stride, high % stride
    return low - first * stride, high - first * stride
