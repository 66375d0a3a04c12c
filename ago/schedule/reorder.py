"""`reorder`: permutes perfectly nested loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ago.ir.index import Index, variables
from ago.ir.nest import For, If, Stmt
from ago.ir.program import Program
from ago.schedule.refusals import refuse
from ago.schedule.tree import find_loop, find_path, replace_stmt


def reorder(program: Program, loops: Sequence[str]) -> Program:
    """Put perfectly nested loops into the given order, outermost first.

    Rewrite::

        for a: for b: for c: S   →   for c: for a: for b: S        (loops = c, a, b)

    Guards between the loops move to the innermost place. Loops of the chain that are not named keep
    their places. The order of a reduction's own loops is the order of its summation.

    Requires:
        1. Every loop exists and is named once (`unknown-loop`, `repeated-loop`).
        2. They lie in one perfect nest (`not-nested`).
        3. No loop's bounds depend on a loop that would be inside it (`bounds-depend`).

    Args:
        program: The program.
        loops: Names, outermost first.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> from ago.schedule.tree import loop_names
        >>> loop_names(reorder(matmul(4, 6, 5), ["C.k", "C.i"]))
        ('C.k', 'C.j', 'C.i')
    """
    if len(set(loops)) != len(loops):
        raise refuse("repeated-loop", program, f"reorder of {', '.join(loops)}")
    top = min((find_path(program, name) for name in loops), key=len)[-1]
    assert isinstance(top, For)
    chain, guards, body = _perfect_nest(top, set(loops))
    missing = set(loops) - {loop.name for loop in chain}
    if missing:
        name = sorted(missing)[0]
        message = f"{name} is not perfectly nested with {top.name}"
        raise refuse("not-nested", program, message, loop=name)
    wanted = iter(loops)
    ordered = [find_loop(program, next(wanted)) if loop.name in loops else loop for loop in chain]
    _check_bounds(program, ordered)
    inner: tuple[Stmt, ...] = (If(tuple(guards), body),) if guards else body
    for loop in reversed(ordered):
        inner = (replace(loop, body=inner),)
    return replace_stmt(program, top, inner)


def _perfect_nest(top: For, names: set[str]) -> tuple[list[For], list[Index], tuple[Stmt, ...]]:
    """The chain from `top` down to the last of `names`, the guards in it, and what is inside."""
    chain: list[For] = [top]
    guards: list[Index] = []
    left = names - {top.name}
    body = top.body
    while left and len(body) == 1:
        stmt = body[0]
        if isinstance(stmt, If):
            guards.extend(stmt.condition)
        elif isinstance(stmt, For):
            chain.append(stmt)
            left.discard(stmt.name)
        else:
            break
        body = stmt.body
    return chain, guards, body


def _check_bounds(program: Program, ordered: Sequence[For]) -> None:
    for position, loop in enumerate(ordered):
        needed = variables(loop.lo) | variables(loop.hi)
        for inside in ordered[position + 1 :]:
            if inside.name in needed:
                message = f"the bounds of {loop.name} depend on {inside.name}"
                hint = "use tail shift or masked for the split, whose bounds are constant"
                raise refuse("bounds-depend", program, message, loop=loop.name, hint=hint)
