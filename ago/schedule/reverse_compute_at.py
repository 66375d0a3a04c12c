"""`reverse_compute_at`: an element-wise consumer moves into its producer's loop, as an epilogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ago.ir.bounds import simplify
from ago.ir.nest import For, If, Reduce, Stage, Stmt, Update, leaf_loads, leaves, with_body
from ago.ir.program import Program
from ago.ir.value import Call, Load, Value
from ago.schedule.compute_at import find_stage, naive_nest
from ago.schedule.flow import Use, exact_box, uses
from ago.schedule.naive import require_sole_writer
from ago.schedule.parallel import keep_parallel
from ago.schedule.refusals import refuse
from ago.schedule.region import Box, clip
from ago.schedule.stage_nest import Span, stage_nest
from ago.schedule.tree import find_path, plain_variable, ranges_of, replace_last


@dataclass(frozen=True, slots=True)
class _Source:
    """What the consumer reads point by point: a buffer, and its axis in each dimension or None."""

    buffer: str
    axes: tuple[str | None, ...]


def reverse_compute_at(program: Program, stage: str, loop: str) -> Program:
    """Move an element-wise consumer's naive nest to the end of each iteration of a loop.

    Rewrite::

        for c: for q in box(c): P[q] = p(q)        for c: for q in box(c): P[q] = p(q)
        for all q: C[h(q)] = f(P[q], ...)      →          for q in box(c): C[h(q)] = f(P[q], ...)

    The box is what one iteration of the loop writes of the buffer that the consumer reads, clipped
    to the consumer's domain. The consumer keeps the names of its loops; each starts at 0 and is
    relative to the box. It is the mirror of `compute_at`: there the consumer decides the tile, here
    the producer does.

    Requires:
        1. `stage` and `loop` exist (`unknown-stage`, `unknown-loop`).
        2. The consumer is still its naive nest at the top (`stage-scheduled`), behind the loop
           (`order`), the only writer of its buffer (`many-writers`), which it does not read
           (`in-place`).
        3. It is a plain store, and reads a buffer that the loop writes at just the variables of
           its axes, each in one dimension, at every point (`not-elementwise`).
        4. That buffer is written in the loop only, by one statement (`not-producer-loop`), and is
           complete at the end of each iteration (`incomplete`).
        5. What one iteration writes is a full box (`no-region`).
        6. Everything else that the consumer reads is complete before the loop's nest (`order`).
        7. The loop is not vectorised, nor is one around it (`inside-vector`); parallel loops stay
           free of races (`race`, `private-flow`).

    Args:
        program: The program.
        stage: Name of the consumer.
        loop: Name of a loop of the producer.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> from ago.schedule.tree import loop_names
        >>> loop_names(reverse_compute_at(matmul(4, 6, 5, relu=True), "R", "C.i"))
        ('C.i', 'C.j', 'C.k', 'R.i', 'R.j')
    """
    consumer = find_stage(program, stage)
    nest = naive_nest(program, consumer)
    path = find_path(program, loop)
    producer = path[-1]
    assert isinstance(producer, For)
    require_sole_writer(program, consumer)
    _check_place(program, consumer, nest, path)
    source = _source(program, consumer, producer)
    write = _only_write(program, source.buffer, path)
    _check_operands(program, consumer, source, path)
    box = exact_box(write, sum(isinstance(stmt, For) for stmt in path))
    if box is None or len(write.known) > sum(len(s.condition) for s in path if isinstance(s, If)):
        message = f"what {loop} writes of {source.buffer} is not proved to be a box"
        hint = "choose a loop around the whole tile, without guards inside"
        raise refuse("no-region", program, message, loop=loop, hint=hint)
    moved = stage_nest(consumer, _spans(consumer, source, box, path))
    body = (*producer.body, moved)
    placed = replace_last(program, path, (with_body(producer, body),))
    after = placed.with_body(tuple(s for s in placed.body if s is not nest))
    return keep_parallel(program, after)


def _check_place(program: Program, consumer: Stage, nest: Stmt, path: Sequence[For | If]) -> None:
    loop = path[-1]
    assert isinstance(loop, For)
    position = {id(stmt): i for i, stmt in enumerate(program.body)}
    if position[id(nest)] <= position[id(path[0])]:
        message = f"{consumer.name} does not come behind {loop.name}"
        raise refuse("order", program, message, loop=loop.name)
    for stmt in path:
        if isinstance(stmt, For) and stmt.kind == "vector":
            message = f"{consumer.name} computed at {loop.name}"
            raise refuse("inside-vector", program, message, loop=stmt.name, hint="vectorize last")


def _source(program: Program, consumer: Stage, loop: For) -> _Source:
    """The buffer, written inside `loop`, that the consumer reads point by point."""
    written = {leaf.buffer for leaf in leaves(loop.body)}
    found = {
        _Source(load.buffer, tuple(map(plain_variable, load.index)))
        for load, _ in leaf_loads(consumer.leaf())
        if load.buffer in written
    }
    always = {load.buffer for load in _always_read(consumer.value)}
    axes = sorted(consumer.loop(a.name) for a in consumer.axes)
    if len(found) == 1 and consumer.reduce is None and not consumer.guard:
        (source,) = found
        whole = None not in source.axes and source.buffer in always
        if whole and sorted(filter(None, source.axes)) == axes:
            return source
    message = f"{consumer.name} does not read what {loop.name} writes point by point"
    hint = "compute_at moves the producer instead"
    raise refuse("not-elementwise", program, message, loop=loop.name, hint=hint)


def _always_read(value: Value) -> Iterator[Load]:
    """Loads in no branch of a select."""
    match value:
        case Load():
            yield value
        case Call(_, args):
            for arg in args:
                yield from _always_read(arg)


def _only_write(program: Program, buffer: str, path: Sequence[For | If]) -> Use:
    """The one statement that writes `buffer`, which must be inside the loop that ends `path`."""
    loop = path[-1]
    assert isinstance(loop, For)
    everywhere = sum(leaf.buffer == buffer for leaf in leaves(program.body))
    loops = tuple(stmt for stmt in path if isinstance(stmt, For))
    known = tuple(part for stmt in path if isinstance(stmt, If) for part in stmt.condition)
    inside = [use for use in uses(loop.body, buffer, loops, known) if use.writes]
    if len(inside) != 1 or everywhere != 1:
        message = f"{buffer} is written by {everywhere} statements, {len(inside)} in {loop.name}"
        raise refuse("not-producer-loop", program, message, loop=loop.name)
    (write,) = inside
    open_ = {x.name for x in loops}
    unfinished = isinstance(write.leaf, Reduce) and open_ & set(write.leaf.loops)
    if unfinished or isinstance(write.leaf, Update):
        message = f"{loop.name} adds to {buffer}, which is complete later"
        hint = "choose a loop around the whole reduction"
        raise refuse("incomplete", program, message, loop=loop.name, hint=hint)
    return write


def _check_operands(
    program: Program, consumer: Stage, source: _Source, path: Sequence[For | If]
) -> None:
    start = next(i for i, stmt in enumerate(program.body) if stmt is path[0])
    late = {leaf.buffer for leaf in leaves(program.body[start:])} - {source.buffer}
    for load, _ in leaf_loads(consumer.leaf()):
        if load.buffer in late:
            message = f"{consumer.name} reads {load.buffer}, which is computed later"
            loop = path[-1]
            assert isinstance(loop, For)
            raise refuse("order", program, message, loop=loop.name)


def _spans(consumer: Stage, source: _Source, box: Box, path: Sequence[For | If]) -> dict[str, Span]:
    ranges = ranges_of(path)
    extents = {consumer.loop(a.name): a.extent for a in consumer.axes}
    spans: dict[str, Span] = {}
    for name, low, high in zip(source.axes, box.low, box.high, strict=True):
        if name:
            first, last = clip(simplify(low, ranges), simplify(high, ranges), extents[name], path)
            spans[name] = Span(first, simplify(last - first + 1, ranges))
    return spans
