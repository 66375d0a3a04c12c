"""`peel` and `partition_loop`: a loop's interior is separated from its border."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ago.ir.bounds import extremes
from ago.ir.index import Index, Var, as_index
from ago.ir.nest import For, If, Prefetch, Reduce, Stmt, leaves, walk
from ago.ir.program import Program
from ago.ir.reindexing import rename_loops
from ago.ir.simplify import simplify_body
from ago.ir.value import select_conditions
from ago.schedule.refusals import refuse
from ago.schedule.tree import (
    constant_extent,
    find_path,
    fresh_loops,
    ranges_of,
    replace_last,
)


def partition_loop(program: Program, loop: str, lo: int, hi: int) -> Program:
    """Cut a loop's range into three parts that run one after the other.

    Rewrite::

        for v in [a, b): S(v)   →   for v.before in [a, lo): S; for v in [lo, hi): S;
                                    for v.after in [hi, b): S

    Guards that a part's range decides are dropped from it. The interior keeps its loops' names; the
    loops of the border parts end in `.before` and `.after`, numbered where such a name is taken.
    Empty parts vanish.

    Requires:
        1. `loop` exists, is serial, and has constant bounds (`unknown-loop`, `not-serial`,
           `extent-not-constant`).
        2. The interior is not empty and lies inside the loop (`bad-range`).
        3. No reduction accumulates over the loop, unless the interior is all of it (`cut-reduces`).

    Args:
        program: The program.
        loop: Name of the loop.
        lo: First value of the interior.
        hi: One past the last value of the interior.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> from ago.schedule.tree import loop_names
        >>> loop_names(partition_loop(matmul(4, 6, 5), "C.j", 1, 6))
        ('C.i', 'C.j.before', 'C.k.before', 'C.j', 'C.k')
    """
    path = find_path(program, loop)
    old = path[-1]
    assert isinstance(old, For)
    if old.kind != "serial":
        raise refuse("not-serial", program, f"{loop} is {old.kind}", loop=loop)
    constant_extent(program, old)
    first, last = old.lo.const, old.hi.const
    whole = type(lo) is int and type(hi) is int
    if not (whole and old.lo.is_constant and first <= lo < hi <= last):
        message = f"interior [{lo}, {hi}) of {loop}, which runs over [{old.lo}, {old.hi})"
        raise refuse("bad-range", program, message, loop=loop)
    if (lo, hi) != (first, last):
        _check_reductions(program, old)
    parts = [
        _border(program, _bounded(old, first, lo), "before"),
        (_bounded(old, lo, hi),),
        _border(program, _bounded(old, hi, last), "after"),
    ]
    outer = ranges_of(path[:-1])
    known = tuple(c for stmt in path if isinstance(stmt, If) for c in stmt.condition)
    pieces = tuple(s for part in parts for s in simplify_body(part, outer, known))
    return replace_last(program, path, pieces)


def peel(program: Program, loop: str) -> Program:
    """Separate the border of a loop, where its guards may fail, from the interior, where they hold.

    Rewrite::

        for x in [0, n+2): P[x] = 1 <= x < n+1 ? f(x-1) : 0
        →  for x.before in [0, 1): P[x] = 0; for x in [1, n+1): P[x] = f(x-1); for x.after ...

    The interior is where every guard that depends on the loop and on no loop outside it holds, for
    all iterations of the loops inside.

    Requires:
        1. As for `partition_loop`.
        2. There is such a guard (`no-guard`).

    Args:
        program: The program.
        loop: Name of the loop.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above; `bad-range` where no iteration is interior.

    Example:
        >>> from ago.ir.examples import pad
        >>> from ago.schedule.tree import loop_names
        >>> loop_names(peel(pad(4, 1), "P.x"))
        ('P.y', 'P.x.before', 'P.x', 'P.x.after')
    """
    old = find_path(program, loop)[-1]
    assert isinstance(old, For)
    extent = constant_extent(program, old)
    lo, hi = old.lo.const, old.lo.const + extent
    found = False
    for condition, loops in guards_below(old.body, ()):
        worst = extremes(condition, loops)[0]
        match worst.terms:
            case ((Var(name), factor),) if name == loop and factor > 0:
                lo, found = max(lo, -(worst.const // factor)), True
            case ((Var(name), factor),) if name == loop:
                hi, found = min(hi, worst.const // -factor + 1), True
    if not found:
        raise refuse("no-guard", program, f"{loop} has no guard to peel", loop=loop)
    return partition_loop(program, loop, lo, hi)


def _border(program: Program, loop: For, suffix: str) -> tuple[Stmt, ...]:
    """`loop` with its own and all inner names suffixed; a number keeps them unique."""
    names = [s.name for s in walk((loop,)) if isinstance(s, For)]
    return rename_loops((loop,), fresh_loops(program, names, suffix))


def _check_reductions(program: Program, loop: For) -> None:
    for leaf in leaves(loop.body):
        if isinstance(leaf, Reduce) and loop.name in leaf.loops:
            message = f"{loop.name} is a reduce loop of {leaf.stage}"
            hint = "cut a spatial loop, or specialize the reduce loop"
            raise refuse("cut-reduces", program, message, loop=loop.name, hint=hint)


def _bounded(loop: For, lo: int, hi: int) -> For:
    return replace(loop, lo=as_index(lo), hi=as_index(hi))


def guards_below(
    body: tuple[Stmt, ...], loops: tuple[For, ...] = ()
) -> Iterator[tuple[Index, tuple[For, ...]]]:
    """Each guard below `body`, of statements and selects, with the loops between."""
    for stmt in body:
        match stmt:
            case For():
                yield from guards_below(stmt.body, (*loops, stmt))
            case If(condition, inner):
                yield from ((c, loops) for c in condition)
                yield from guards_below(inner, loops)
            case Prefetch():
                continue
            case _:
                values = (stmt.init, stmt.value) if isinstance(stmt, Reduce) else (stmt.value,)
                for value in values:
                    yield from ((c, loops) for part in select_conditions(value) for c in part)
