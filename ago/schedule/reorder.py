"""`reorder`: permutes perfectly nested loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ago.ir.apart import writes_apart
from ago.ir.index import Index, variables
from ago.ir.nest import For, If, Leaf, Reduce, Stmt, with_body
from ago.ir.program import Program
from ago.schedule.parallel import keep_parallel
from ago.schedule.refusals import refuse, require_names
from ago.schedule.tree import carried, find_path, moves_data, replace_last


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
        4. A vectorised loop stays innermost (`not-innermost`).
        5. Where a loop of a reduction moves outside others, the iterations of those are proved to
           write different elements (`reorder-accumulates`); those of a `shift` split do not.
        6. No statement inside reads other elements of the buffer it writes (`in-place`).
        7. Loops along which a window slides stay where they are (`carried`).
        8. Parallel loops stay free of races (`race`, `private-flow`).

    Args:
        program: The program.
        loops: Names, outermost first.

    Returns:
        The rewritten program; the same one for no loops.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> from ago.schedule.tree import loop_names
        >>> loop_names(reorder(matmul(4, 6, 5), ["C.k", "C.i"]))
        ('C.k', 'C.j', 'C.i')
    """
    require_names(program, loops, "reorder")
    if len(set(loops)) != len(loops):
        raise refuse("repeated-loop", program, f"reorder of {', '.join(loops)}")
    if not loops:
        return program
    path = _path_to_outermost(program, loops)
    top = path[-1]
    assert isinstance(top, For)
    chain, guards, body = _perfect_nest(top, set(loops))
    missing = set(loops) - {loop.name for loop in chain}
    for name in sorted(missing):
        find_path(program, name)
        message = f"{name} is not perfectly nested with {top.name}"
        raise refuse("not-nested", program, message, loop=name)
    wanted = iter(loops)
    named = {loop.name: loop for loop in chain}
    ordered = [named[next(wanted)] if loop.name in loops else loop for loop in chain]
    _check_bounds(program, ordered)
    _check_vector(program, chain, ordered)
    _check_windows(program, chain, ordered)
    _check_statements(program, path[:-1], chain, ordered, body)
    inner: tuple[Stmt, ...] = (If(tuple(guards), body),) if guards else body
    for loop in reversed(ordered):
        inner = (with_body(loop, inner),)
    return keep_parallel(program, replace_last(program, path, inner))


def _path_to_outermost(program: Program, loops: Sequence[str]) -> tuple[For | If, ...]:
    """The path to the outermost of the loops around the first of them, or to that one itself.

    Raises:
        ScheduleError: `unknown-loop`.
    """
    path = find_path(program, loops[0])
    named = [isinstance(stmt, For) and stmt.name in loops for stmt in path]
    return path[: named.index(True) + 1]


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


def _check_vector(program: Program, chain: Sequence[For], ordered: Sequence[For]) -> None:
    for position, loop in enumerate(ordered[:-1]):
        if loop.kind == "vector" and ordered[position + 1 :] != chain[position + 1 :]:
            message = f"{loop.name}, a vector loop, would hold {ordered[position + 1].name}"
            raise refuse("not-innermost", program, message, loop=loop.name)


def _check_windows(program: Program, chain: Sequence[For], ordered: Sequence[For]) -> None:
    names, new = [loop.name for loop in chain], [loop.name for loop in ordered]
    for name in sorted(carried(chain[0].body) & set(names)):
        if set(names[: names.index(name)]) != set(new[: new.index(name)]):
            message = f"a window slides along {name}"
            raise refuse("carried", program, message, loop=name, hint="reorder, then slide")


def _check_statements(
    program: Program,
    outside: Sequence[For | If],
    chain: Sequence[For],
    ordered: Sequence[For],
    body: tuple[Stmt, ...],
) -> None:
    """Check that the statements of `body` may run in the new order of the loops around them."""
    above = [stmt for stmt in outside if isinstance(stmt, For)]
    for leaf, below in _leaves_with_loops(body):
        if moves_data(leaf):
            message = f"{leaf.stage} reads other elements of {leaf.buffer}, which it writes"
            raise refuse("in-place", program, message, loop=ordered[0].name)
        if not isinstance(leaf, Reduce) or {loop.name for loop in above} & set(leaf.loops):
            continue
        repeated = _repeated(leaf, [*ordered, *below])
        if {loop.name for loop in repeated} <= {x.name for x in _repeated(leaf, [*chain, *below])}:
            continue
        if not writes_apart(leaf.index, repeated, [*above, *ordered, *below]):
            names = ", ".join(loop.name for loop in repeated)
            message = f"{leaf.stage} would accumulate into elements of {leaf.buffer} twice"
            hint = f"keep the reduction inside {names}, or split them with another tail than shift"
            raise refuse("reorder-accumulates", program, message, loop=repeated[0].name, hint=hint)


def _leaves_with_loops(
    body: tuple[Stmt, ...], loops: tuple[For, ...] = ()
) -> Iterator[tuple[Leaf, tuple[For, ...]]]:
    for stmt in body:
        if isinstance(stmt, For):
            yield from _leaves_with_loops(stmt.body, (*loops, stmt))
        elif isinstance(stmt, If):
            yield from _leaves_with_loops(stmt.body, loops)
        elif isinstance(stmt, Leaf):
            yield stmt, loops


def _repeated(leaf: Reduce, loops: Sequence[For]) -> list[For]:
    """The loops inside the outermost loop of the reduction that do not reduce themselves."""
    reducing = [position for position, loop in enumerate(loops) if loop.name in leaf.loops]
    start = reducing[0] if reducing else len(loops)
    return [loop for loop in loops[start:] if loop.name not in leaf.loops]


def _check_bounds(program: Program, ordered: Sequence[For]) -> None:
    for position, loop in enumerate(ordered):
        needed = variables(loop.lo) | variables(loop.hi)
        for inside in ordered[position + 1 :]:
            if inside.name in needed:
                message = f"the bounds of {loop.name} depend on {inside.name}"
                hint = "use tail shift or masked for the split, whose bounds are constant"
                raise refuse("bounds-depend", program, message, loop=loop.name, hint=hint)
