"""`fuse_axes`: two perfectly nested loops become one."""

from __future__ import annotations

from ago.ir.index import Index, as_index, substitute, var, variables
from ago.ir.nest import For, Reduce, leaf_loads, leaves
from ago.ir.program import Program
from ago.ir.reindexing import substitute_body
from ago.schedule.refusals import refuse
from ago.schedule.tree import (
    constant_extent,
    find_loop,
    find_path,
    loop_names,
    rename_in_reductions,
    replace_last,
    unused,
)


def fuse_axes(program: Program, outer: str, inner: str) -> Program:
    """Merge a loop and the one directly inside it; the order of the iterations stays.

    Rewrite::

        for a in [0, n): for b in [0, m): S(a, b)
        →  for a.b in [0, n*m): S(a.b // m, a.b % m)

    The fused loop has the outer one's name and the last part of the inner one's: `C.i` and `C.j`
    give `C.i.j`. Where two axes are neighbours in every buffer, `collapse` merges them without //
    and %.

    Requires:
        1. Both loops exist and are serial, with constant bounds (`unknown-loop`, `not-serial`,
           `extent-not-constant`).
        2. The inner loop is all that the outer one holds (`not-nested`).
        3. Each reduction inside runs over both or over none of them (`fuse-reduces`).
        4. No producer of what is read along these loops is still to be placed: it would be
           computed at a region over // and %, which is no box. So `compute_at` it first, or
           schedule it where it is (`fused-region`).

    Args:
        program: The program.
        outer: Name of the outer loop, retired.
        inner: Name of the loop directly inside, retired.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> from ago.schedule.tree import loop_names
        >>> loop_names(fuse_axes(matmul(4, 6, 5), "C.i", "C.j"))
        ('C.i.j', 'C.k')
    """
    path = find_path(program, outer)
    first, second = path[-1], find_loop(program, inner)
    assert isinstance(first, For)
    extents = []
    for loop in (first, second):
        if loop.kind != "serial":
            raise refuse("not-serial", program, f"{loop.name} is {loop.kind}", loop=loop.name)
        extents.append(constant_extent(program, loop))
    if first.body != (second,):
        message = f"{inner} is not all that {outer} holds"
        raise refuse("not-nested", program, message, loop=inner)
    _check_leaves(program, first, second)
    name = unused(f"{outer}.{inner.rpartition('.')[2]}", loop_names(program))
    width = max(extents[1], 1)
    at_outer = first.lo + var(name) // width
    start = substitute(second.lo, {outer: at_outer})
    body = substitute_body(second.body, {outer: at_outer, inner: start + var(name) % width})
    body = rename_in_reductions(body, {outer: (name,), inner: ()})
    total = as_index(extents[0] * extents[1])
    return replace_last(program, path, (For(name, Index(), total, "serial", body),))


def _check_leaves(program: Program, first: For, second: For) -> None:
    fused = {first.name, second.name}
    naive = {stage.buffer: stage.name for stage in program.stages if stage.nest() in program.body}
    for leaf in leaves(second.body):
        if isinstance(leaf, Reduce) and len(fused & set(leaf.loops)) == 1:
            message = f"{leaf.stage} reduces over one of {first.name} and {second.name}"
            raise refuse("fuse-reduces", program, message, loop=first.name)
        for load, _ in leaf_loads(leaf):
            moves = any(fused & variables(index) for index in load.index)
            if load.buffer in naive and load.buffer != leaf.buffer and moves:
                message = f"{leaf.stage} reads {load.buffer}, which {naive[load.buffer]} computes"
                hint = f"compute_at {naive[load.buffer]} first, or collapse the axes"
                raise refuse("fused-region", program, message, loop=first.name, hint=hint)
