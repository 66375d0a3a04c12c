"""`stage_mem`: a loop works on a copy of the part of a buffer that it uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from ago.errors import ScheduleError
from ago.ir.bounds import simplify
from ago.ir.index import Index, var
from ago.ir.nest import Buffer, For, If, Reduce, Scope, Stmt, Store, leaves
from ago.ir.program import Program
from ago.ir.reindexing import reindex
from ago.ir.value import Load, loads
from ago.schedule.cache_read import require_complete
from ago.schedule.flow import Use, exact_box, proved_within, starts_anew, uses
from ago.schedule.parallel import keep_parallel
from ago.schedule.refusals import refuse
from ago.schedule.region import Box, clip, touched, upper_bound
from ago.schedule.set_scope import SCOPES
from ago.schedule.tree import find_buffer, find_path, ranges_of, replace_last, unused


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is copied: the box, and whether it is copied in and out."""

    box: Box
    copy_in: bool
    copy_out: bool


def stage_mem(program: Program, buffer: str, loop: str, scope: Scope = "stack") -> Program:
    """Copy the box that a loop uses of a buffer into a tile, work there, and copy it back.

    Rewrite::

                                        for q: T[q] = C[box + q]
        for i: C[f(i)] += p(i)    →     for i: T[f(i) - box] += p(i)         (loop = i)
                                        for q: C[box + q] = T[q]

    The tile is `<buffer>_tile`; the copies' loops are `<buffer>_tile.in.d0` and so on, and
    `<buffer>_tile.out.d0`. Nothing is copied in where the loop writes each element before it reads
    it, and nothing is copied out where it only reads. So partial sums of an outer reduce loop are
    kept in registers during each step of it, after `decompose_reduction`.

    Requires:
        1. The buffer and the loop exist (`unknown-buffer`, `unknown-loop`); the loop uses the
           buffer (`not-used`); the scope is one of three (`bad-scope`).
        2. No loop around is vectorised, nor the loop itself (`inside-vector`).
        3. No reduction that uses the buffer starts outside the loop (`starts-outside`).
        4. A loop that only reads: the buffer is complete before the nest (`order`) and has a value
           everywhere (`not-filled`).
        5. A loop that writes: each write covers one and the same full box, and reads stay in it;
           where it is copied in, some statement reads all of it (`no-region`), and another one in
           front of the loop writes it (`not-filled`).
        6. Parallel loops stay free of races (`race`, `private-flow`).

    Args:
        program: The program.
        buffer: Name of the buffer.
        loop: Name of the loop around which the copies stand.
        scope: Where the tile lives: `register`, `stack` or `workspace`.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> from ago.schedule.tree import loop_names
        >>> staged = stage_mem(matmul(4, 6, 5), "C", "C.j")
        >>> staged.buffer("C_tile").shape
        (1, 6)
        >>> loop_names(staged)
        ('C.i', 'C.j', 'C.k', 'C_tile.out.d0', 'C_tile.out.d1')
    """
    source = find_buffer(program, buffer)
    path = find_path(program, loop)
    old = path[-1]
    assert isinstance(old, For)
    if scope not in SCOPES:
        raise refuse("bad-scope", program, f"the tile of {buffer} in scope {scope!r}")
    found = list(uses((old,), buffer, *_surroundings(path[:-1])))
    if not found:
        raise refuse("not-used", program, f"{loop} does not use {buffer}", loop=loop)
    _check_place(program, source, found, path)
    plan = _plan(program, source, found, path)
    ranges = ranges_of(path[:-1])
    extents = tuple(
        simplify(high - low + 1, ranges)
        for low, high in zip(plan.box.low, plan.box.high, strict=True)
    )
    name = unused(f"{buffer}_tile", [b.name for b in program.buffers])
    tile = Buffer(name, tuple(upper_bound(e, ranges) for e in extents), scope, source.dtype)
    stage = found[0].leaf.stage
    copies = {way: _copy(stage, source, tile, way, plan.box, extents) for way in ("in", "out")}
    before = copies["in"] if plan.copy_in else ()
    after = copies["out"] if plan.copy_out else ()
    work = reindex((old,), buffer, lambda at: _in_tile(at, plan.box), to=name)
    return keep_parallel(
        program, replace_last(program, path, (*before, *work, *after)).with_buffer(tile)
    )


def _surroundings(path: Sequence[For | If]) -> tuple[tuple[For, ...], tuple[Index, ...]]:
    """The loops and the guards on a path."""
    loops = tuple(stmt for stmt in path if isinstance(stmt, For))
    known = tuple(part for stmt in path if isinstance(stmt, If) for part in stmt.condition)
    return loops, known


def _check_place(
    program: Program, buffer: Buffer, found: Sequence[Use], path: Sequence[For | If]
) -> None:
    loops, _ = _surroundings(path)
    for loop in loops:
        if loop.kind == "vector":
            message = f"{buffer.name} staged at {loops[-1].name}"
            raise refuse("inside-vector", program, message, loop=loop.name, hint="vectorize last")
    outer = {loop.name for loop in loops[:-1]}
    for leaf in (use.leaf for use in found):
        if not isinstance(leaf, Reduce) or not outer & set(leaf.loops):
            continue
        if leaf.buffer == buffer.name or any(x.buffer == buffer.name for x, _ in loads(leaf.init)):
            message = f"{leaf.stage} uses {buffer.name} where it starts, outside {loops[-1].name}"
            hint = "decompose_reduction first"
            raise refuse("starts-outside", program, message, loop=loops[-1].name, hint=hint)


def _plan(
    program: Program, buffer: Buffer, found: Sequence[Use], path: Sequence[For | If]
) -> _Plan:
    old = path[-1]
    assert isinstance(old, For)
    writes = [use for use in found if use.writes]
    if not writes:
        position = next(i for i, stmt in enumerate(program.body) if stmt is path[0])
        require_complete(program, buffer, position, old.name)
        box = touched((old,), buffer.name, ranges_of(path[:-1]), stores=False)
        assert box is not None
        return _Plan(_clipped(box, buffer, path[:-1]), copy_in=True, copy_out=False)
    _, known = _surroundings(path[:-1])
    whole = {_whole(use, known, path[:-1]) for use in writes}
    box = whole.pop()
    if box is None or whole or not all(_within(use, box) for use in found):
        raise _no_box(program, buffer, old, "what is written is not proved to be one box")
    if starts_anew((old,), buffer.name, path[:-1]):
        return _Plan(box, copy_in=False, copy_out=True)
    if not any(_whole(use, known, path[:-1]) == box for use in found if not use.writes):
        raise _no_box(program, buffer, old, "its old values are not proved to be all there")
    _check_filled(program, buffer, old)
    return _Plan(box, copy_in=True, copy_out=True)


def _check_filled(program: Program, buffer: Buffer, old: For) -> None:
    """Check that a buffer which is copied in has been written before."""
    first = leaves((old,))[0]
    before = takewhile(lambda leaf: leaf is not first, leaves(program.body))
    if not any(leaf.buffer == buffer.name for leaf in before):
        message = f"{buffer.name} would be copied in at {old.name}, in front of which none of it is"
        hint = "choose a loop inside of which it is written, element by element, before it is read"
        raise refuse("not-filled", program, message, loop=old.name, hint=hint)


def _whole(use: Use, known: tuple[Index, ...], path: Sequence[For | If]) -> Box | None:
    """All that a statement touches, as a box, where nothing in it is left out."""
    if use.known != known:
        return None
    box = exact_box(use, sum(isinstance(stmt, For) for stmt in path))
    if box is None:
        return None
    ranges = ranges_of(path)
    return Box(
        tuple(simplify(i, ranges) for i in box.low), tuple(simplify(i, ranges) for i in box.high)
    )


def _within(use: Use, box: Box) -> bool:
    return all(
        proved_within(index - low, use) and proved_within(high - index, use)
        for index, low, high in zip(use.index, box.low, box.high, strict=True)
    )


def _no_box(program: Program, buffer: Buffer, loop: For, why: str) -> ScheduleError:
    message = f"{buffer.name} staged at {loop.name}: {why}"
    return refuse("no-region", program, message, loop=loop.name)


def _clipped(box: Box, buffer: Buffer, path: Sequence[For | If]) -> Box:
    bounds = [
        clip(low, high, extent, path)
        for low, high, extent in zip(box.low, box.high, buffer.shape, strict=True)
    ]
    return Box(tuple(low for low, _ in bounds), tuple(high for _, high in bounds))


def _in_tile(index: tuple[Index, ...], box: Box) -> tuple[Index, ...]:
    return tuple(i - low for i, low in zip(index, box.low, strict=True))


def _copy(
    stage: str, source: Buffer, tile: Buffer, way: str, box: Box, extents: Sequence[Index]
) -> tuple[Stmt, ...]:
    """The nest that copies the box into the tile, or out of it."""
    names = [f"{tile.name}.{way}.d{place}" for place in range(len(extents))]
    inside = tuple(map(var, names))
    outside = tuple(low + i for low, i in zip(box.low, inside, strict=True))
    if way == "in":
        body: Stmt = Store(stage, tile.name, inside, Load(source.name, outside))
    else:
        body = Store(stage, source.name, outside, Load(tile.name, inside))
    for name, extent in reversed(list(zip(names, extents, strict=True))):
        body = For(name, Index(), extent, "serial", (body,))
    return (body,)
