"""`split`: one loop becomes two, with a named strategy for the tail."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, get_args

from ago.ir.index import Index, as_index, maximum, minimum, var
from ago.ir.nest import For, If, Leaf, Reduce, Store, leaf_loads, leaves, walk
from ago.ir.program import Program
from ago.ir.reindexing import substitute_body
from ago.schedule.refusals import refuse, require_factor
from ago.schedule.tree import (
    carried,
    constant_extent,
    find_path,
    rename_in_reductions,
    replace_last,
)

Tail = Literal["exact", "guard", "masked", "shift", "balance"]


def split(program: Program, loop: str, factor: int, tail: Tail = "exact") -> Program:
    """Split a loop into `loop.0` over tiles and `loop.1` inside a tile.

    Rewrite::

        for v in [0, n): S(v)   →   for v.0 in [0, tiles): for v.1 in [0, size): S(at(v.0, v.1))

    ========  ======================  ======================================================
    tail      at(v.0, v.1)            what happens when `factor` does not divide `n`
    ========  ======================  ======================================================
    exact     factor * v.0 + v.1      refused
    guard     factor * v.0 + v.1      the last tile is shorter
    masked    factor * v.0 + v.1      tiles are full, an `If` masks the statements beyond `n`
    shift     min(size*v.0, n-size)   tiles of one equalised size, the last overlaps its neighbour
    balance   size*v.0 + min(v.0, r)  two tile sizes that differ by one, `r` tiles of the larger
    ========  ======================  ======================================================

    Requires:
        1. `loop` exists and is serial (`unknown-loop`, `not-serial`). Its bounds are constants,
           except for an exact split of an extent all of whose terms are multiples of `factor`
           (`extent-not-constant`).
        2. `factor` is an integer of at least 1, `tail` a known strategy (`bad-factor`,
           `unknown-tail`).
        3. exact: `factor` divides the extent (`split-not-exact`).
        4. shift: no reduction accumulates across the loop, none that is decomposed starts in it,
           no statement reads the buffer it writes, no window slides along the loop
           (`shift-reduces`, `shift-in-place`, `carried`).

    Args:
        program: The program.
        loop: Name of the loop, retired by the split.
        factor: Iterations of the inner loop (for shift and balance: at most that many).
        tail: Strategy for a remainder.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> from ago.schedule.tree import loop_names
        >>> loop_names(split(matmul(4, 6, 5), "C.j", 3))
        ('C.i', 'C.j.0', 'C.j.1', 'C.k')
    """
    path = find_path(program, loop)
    old = path[-1]
    assert isinstance(old, For)
    _check(program, old, factor, tail)
    outer, inner = var(f"{loop}.0"), var(f"{loop}.1")
    if tail == "exact" and _is_multiple(old.extent, factor):
        tiling = old.extent // factor, as_index(factor), factor * outer + inner
        return _nested(program, path, tiling, None)
    extent = constant_extent(program, old)
    if tail == "exact":
        hint = f"use a divisor of {extent}, or another tail: {', '.join(get_args(Tail)[1:])}"
        message = f"split of {loop} with extent {extent} by {factor}"
        raise refuse("split-not-exact", program, message, loop=loop, hint=hint)
    if tail == "shift":
        _check_shift(program, old)
    masked = extent if tail == "masked" and extent % factor else None
    return _nested(program, path, _tiling(extent, factor, tail, outer, inner), masked)


def _is_multiple(extent: Index, factor: int) -> bool:
    return not any(part % factor for part in (extent.const, *(c for _, c in extent.terms)))


def _nested(
    program: Program,
    path: Sequence[For | If],
    tiling: tuple[Index, Index, Index],
    masked: int | None,
) -> Program:
    """The program with a loop replaced by two: tiles, size of one, and the old variable.

    Args:
        program: The program.
        path: The loop, last, and what is around it.
        tiling: What its variable becomes.
        masked: Iterations beyond which nothing is to be done; None if there are none.
    """
    old, (tiles, size, at) = path[-1], tiling
    assert isinstance(old, For)
    outer, inner = f"{old.name}.0", f"{old.name}.1"
    body = substitute_body(old.body, {old.name: at + old.lo})
    body = rename_in_reductions(body, {old.name: (outer, inner)})
    if masked is not None:
        body = (If((masked - 1 - at,), body),)
    nest = For(inner, Index(), size, "serial", body)
    return replace_last(program, path, (For(outer, Index(), tiles, "serial", (nest,)),))


def _check(program: Program, loop: For, factor: int, tail: str) -> None:
    if loop.kind != "serial":
        message = f"split of {loop.name}, which is {loop.kind}"
        raise refuse("not-serial", program, message, loop=loop.name)
    require_factor(program, factor, f"split of {loop.name} by {factor!r}", loop=loop.name)
    if tail not in get_args(Tail):
        message = f"split of {loop.name} with tail {tail!r}"
        raise refuse("unknown-tail", program, message, loop=loop.name)


def _check_shift(program: Program, loop: For) -> None:
    if loop.name in carried(loop.body):
        message = f"split of {loop.name}, along which a window slides"
        raise refuse("carried", program, message, loop=loop.name, hint="use guard or balance")
    reducing = {stage.name for stage in program.stages if stage.reduce is not None}
    for leaf in leaves(loop.body):
        if not _runs_whole(leaf, loop, reducing):
            message = f"split of {loop.name} would accumulate into {leaf.buffer} twice"
            hint = "use guard or balance, or split before reordering reduce loops outside"
            raise refuse("shift-reduces", program, message, loop=loop.name, hint=hint)
        if any(load.buffer == leaf.buffer for load, _ in leaf_loads(leaf)):
            message = f"split of {loop.name}: the statement reads and writes {leaf.buffer}"
            raise refuse("shift-in-place", program, message, loop=loop.name, hint="use guard")


def _runs_whole(leaf: Leaf, loop: For, reducing: Collection[str]) -> bool:
    """Whether running the iteration again gives the same: a reduction must start anew inside it.

    What a decomposed reduction starts with is stored once for its terms to be counted.
    """
    if not isinstance(leaf, Reduce):
        return isinstance(leaf, Store) and leaf.stage not in reducing
    inside = {stmt.name for stmt in walk(loop.body) if isinstance(stmt, For)}
    return set(leaf.loops) <= inside


def _tiling(
    extent: int, factor: int, tail: Tail, outer: Index, inner: Index
) -> tuple[Index, Index, Index]:
    """Number of tiles, extent of the inner loop, and the old variable in terms of the new."""
    tiles = -(-extent // factor)
    if tail == "shift":
        size = -(-extent // max(tiles, 1))
        start = size * outer
        if size * tiles != extent:
            start = minimum(start, extent - size)
        return as_index(tiles), as_index(size), start + inner
    if tail == "balance" and tiles and extent % tiles:
        size, larger = divmod(extent, tiles)
        extra = minimum(1, maximum(larger - outer, 0))
        before = minimum(outer, larger) if larger < tiles - 1 else outer
        return as_index(tiles), size + extra, size * outer + before + inner
    if tail == "balance":
        factor = extent // max(tiles, 1)
    size_now = as_index(factor)
    if tail == "guard" and extent % factor:
        size_now = minimum(factor, extent - factor * outer)
    return as_index(tiles), size_now, factor * outer + inner
