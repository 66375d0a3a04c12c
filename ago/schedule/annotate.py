"""`unroll` and `vectorize`: how a loop's iterations are executed."""

from __future__ import annotations

from collections.abc import Sequence

from ago.ir.apart import writes_apart
from ago.ir.nest import For, If, LoopKind, Prefetch, Reduce, Update, leaf_loads, leaves, walk
from ago.ir.program import Program
from ago.schedule.refusals import refuse
from ago.schedule.tree import find_path, replace_last


def unroll(program: Program, loop: str) -> Program:
    """Expand a loop's iterations into straight-line code when it is emitted.

    Rewrite::

        for v in [0, n): S(v)   →   S(0); S(1); ...

    Requires:
        1. `loop` exists and is serial (`unknown-loop`, `not-serial`).

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
        >>> find_loop(unroll(matmul(4, 6, 5), "C.i"), "C.i").kind
        'unrolled'
    """
    return _set_kind(program, find_path(program, loop), "unrolled")


def vectorize(program: Program, loop: str) -> Program:
    """Run a loop's iterations as lanes of vector operations: all loads, then all stores.

    Rewrite::

        for v in [0, n): S(v)   →   S([0, n))

    Requires:
        1. `loop` exists and is serial (`unknown-loop`, `not-serial`).
        2. No loop and no prefetch is inside it (`not-innermost`).
        3. No reduction accumulates over it (`vector-reduces`).
        4. No statement inside reads what another lane may write: a buffer that is written inside,
           but for the very element that the statement itself writes (`vector-flow`).

    Args:
        program: The program.
        loop: Name of the loop.

    Returns:
        The rewritten program; the loop keeps its name.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> from ago.schedule.reorder import reorder
        >>> from ago.schedule.tree import find_loop
        >>> find_loop(vectorize(reorder(matmul(4, 6, 5), ["C.k", "C.j"]), "C.j"), "C.j").kind
        'vector'
    """
    path = find_path(program, loop)
    old = path[-1]
    assert isinstance(old, For)
    inside = list(walk(old.body))
    if any(isinstance(stmt, For) for stmt in inside):
        message = f"{loop} has loops inside"
        raise refuse("not-innermost", program, message, loop=loop, hint="reorder it inside first")
    if any(isinstance(stmt, Prefetch) for stmt in inside):
        hint = "prefetch in a loop around it"
        message = f"{loop} holds a prefetch"
        raise refuse("not-innermost", program, message, loop=loop, hint=hint)
    around = [stmt for stmt in path if isinstance(stmt, For)]
    for leaf in leaves(old.body):
        whole = isinstance(leaf, Reduce) and loop in leaf.loops
        step = isinstance(leaf, Update) and not writes_apart(leaf.index, (old,), around)
        if whole or step:
            message = f"{loop} is a reduce loop of {leaf.stage}"
            hint = "vectorise a spatial loop"
            raise refuse("vector-reduces", program, message, loop=loop, hint=hint)
    _check_flow(program, old)
    return _set_kind(program, path, "vector")


def _check_flow(program: Program, loop: For) -> None:
    inside = list(leaves(loop.body))
    written = {leaf.buffer for leaf in inside}
    for leaf in inside:
        for load, _ in leaf_loads(leaf):
            own = (load.buffer, load.index) == (leaf.buffer, leaf.index)
            if load.buffer in written and not own:
                message = f"{leaf.stage} reads {load.buffer}, which {loop.name} writes"
                raise refuse("vector-flow", program, message, loop=loop.name)


def _set_kind(program: Program, path: Sequence[For | If], kind: LoopKind) -> Program:
    old = path[-1]
    assert isinstance(old, For)
    if old.kind != "serial":
        message = f"{old.name} is already {old.kind}"
        raise refuse("not-serial", program, message, loop=old.name)
    return replace_last(program, path, (For(old.name, old.lo, old.hi, kind, old.body),))
