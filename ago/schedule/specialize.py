"""`specialize`: a guard is tested once at a loop instead of at every element inside it."""

from __future__ import annotations

from collections.abc import Iterator

from ago.ir.index import Index, variables
from ago.ir.nest import For, If, Stmt, walk, with_body
from ago.ir.program import Program
from ago.ir.proofs import never_negative
from ago.ir.reindexing import rename_loops
from ago.ir.simplify import simplify_body
from ago.schedule.peel import guards_below
from ago.schedule.refusals import refuse
from ago.schedule.tree import find_path, fresh_loops, ranges_of, replace_last


def specialize(program: Program, loop: str) -> Program:
    """Hoist the guards that do not change inside a loop's body to the start of its iteration.

    Rewrite::

        for y: for x: P[y, x] = (y >= 1 ? f(y, x) : 0)
        →  for y: if y >= 1: for x: P[y, x] = f(y, x)
                  if y < 1:  for x: P[y, x] = 0

    Loops of the second copy end in `.else`, numbered where that name is taken. A guard that the
    ranges of the loops around it decide needs no test and no second copy.

    Requires:
        1. `loop` exists (`unknown-loop`).
        2. A guard below it depends on no loop inside it, and is not tested at the start of the
           iteration already (`no-guard`).

    Args:
        program: The program.
        loop: Name of the loop.

    Returns:
        The rewritten program. Of several guards the first is taken; repeat for the others.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import pad
        >>> from ago.schedule.tree import loop_names
        >>> loop_names(specialize(pad(4, 1), "P.y"))
        ('P.y', 'P.x', 'P.x.else')
    """
    path = find_path(program, loop)
    old = path[-1]
    assert isinstance(old, For)
    inner = [s.name for s in walk(old.body) if isinstance(s, For)]
    tested = set(_tested(old.body))
    guards = [
        c
        for c, _ in guards_below(old.body)
        if variables(c) and variables(c).isdisjoint(inner) and c not in tested
    ]
    if not guards:
        hint = "peel separates guards along the loop itself"
        raise refuse("no-guard", program, f"{loop} has no such guard", loop=loop, hint=hint)
    holds, fails = guards[0], -guards[0] - 1
    ranges = ranges_of(path)
    loops = [stmt for stmt in path if isinstance(stmt, For)]
    known = tuple(c for stmt in path if isinstance(stmt, If) for c in stmt.condition)
    for condition in (holds, fails):
        if never_negative(condition, loops, known):
            body = simplify_body(old.body, ranges, (*known, condition))
            return replace_last(program, path, (with_body(old, body),))
    renamed = rename_loops(old.body, fresh_loops(program, inner, "else"))
    branches: list[Stmt] = []
    for condition, body in ((holds, old.body), (fails, renamed)):
        simple = simplify_body(body, ranges, (*known, condition))
        if simple:
            branches.append(If((condition,), simple))
    return replace_last(program, path, (with_body(old, tuple(branches)),))


def _tested(body: tuple[Stmt, ...]) -> Iterator[Index]:
    """The conditions of guards that stand at the start of an iteration, or directly in such ones.

    The negation of a tested condition counts as tested.
    """
    for stmt in body:
        if isinstance(stmt, If):
            for condition in stmt.condition:
                yield condition
                yield -condition - 1
            yield from _tested(stmt.body)
