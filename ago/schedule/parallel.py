"""`parallel`: the iterations of a loop may run at the same time, on several threads."""

from __future__ import annotations

from dataclasses import replace

from ago.errors import ScheduleError
from ago.ir.nest import For, walk
from ago.ir.program import Program
from ago.ir.races import accesses, find_race
from ago.schedule.flow import starts_anew
from ago.schedule.refusals import refuse
from ago.schedule.tree import find_path, replace_last

_PRIVATE = ("stack", "register")


def parallel(program: Program, loop: str) -> Program:
    """Let the iterations of a loop run in any order, and at the same time.

    Rewrite::

        for v in [0, n): S(v)   →   parallel for v in [0, n): S(v)

    A stack or register buffer that only this loop uses is private: each iteration has its own.

    Requires:
        1. `loop` exists and is serial (`unknown-loop`, `not-serial`), and no parallel loop is
           around it or inside it (`nested-parallel`).
        2. No two iterations touch the same element of a shared buffer that they write, and no
           reduction runs over the loop (`race`).
        3. Each iteration writes what it reads of a private buffer (`private-flow`).

    Args:
        program: The program.
        loop: Name of the loop.

    Returns:
        The rewritten program; the loop keeps its name.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> from ago.schedule.tree import find_loop
        >>> find_loop(parallel(matmul(4, 6, 5), "C.i"), "C.i").kind
        'parallel'
    """
    path = find_path(program, loop)
    old = path[-1]
    assert isinstance(old, For)
    if old.kind != "serial":
        raise refuse("not-serial", program, f"{loop} is already {old.kind}", loop=loop)
    others = [*path[:-1], *walk(old.body)]
    nested = [s for s in others if isinstance(s, For) and s.kind == "parallel"]
    if nested:
        message = f"{nested[0].name} is parallel already"
        hint = "fuse the two loops first"
        raise refuse("nested-parallel", program, message, loop=loop, hint=hint)
    after = replace_last(program, path, (replace(old, kind="parallel"),))
    error = _broken(program, after, loop)
    if error is not None:
        raise error
    return after


def keep_parallel(before: Program, after: Program) -> Program:
    """`after`, checked to be free of races in every parallel loop that it has.

    Args:
        before: The program that a refusal shows.
        after: The same program, rewritten.

    Raises:
        ScheduleError: `race`, `private-flow`.
    """
    for stmt in walk(after.body):
        if isinstance(stmt, For) and stmt.kind == "parallel":
            error = _broken(before, after, stmt.name)
            if error is not None:
                raise error
    return after


def _broken(before: Program, after: Program, loop: str) -> ScheduleError | None:
    """Why the parallel loop `loop` of `after` may not run in any order."""
    path = find_path(after, loop)
    old = path[-1]
    assert isinstance(old, For)
    buffers = {b.name: b for b in after.buffers}
    everywhere = list(accesses(after.body))
    outer = tuple(stmt for stmt in path[:-1] if isinstance(stmt, For))
    race = find_race(old, outer, buffers, everywhere)
    if race is not None:
        hint = "choose a spatial loop, or store what its iterations share at the loop, on the stack"
        return refuse("race", before, f"{loop}: {race}", loop=loop, hint=hint)
    inside = list(accesses((old,), outer))
    for name in sorted({a.buffer for a in inside if buffers[a.buffer].scope in _PRIVATE}):
        local = sum(a.buffer == name for a in everywhere) == sum(a.buffer == name for a in inside)
        if local and not starts_anew(old.body, name, path):
            message = f"an iteration of {loop} may read what another one left in {name}"
            return refuse("private-flow", before, message, loop=loop)
    return None
