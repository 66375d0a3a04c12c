"""`decompose_reduction`: a reduction's initialisation becomes a nest of its own."""

from __future__ import annotations

from collections.abc import Sequence

from ago.ir.apart import writes_apart
from ago.ir.decompose import as_update, init_nest
from ago.ir.nest import For, If, Reduce, Stmt, leaf_loads, leaves, rewrite, walk
from ago.ir.program import Program
from ago.ir.reindexing import rename_loops
from ago.ir.value import loads
from ago.schedule.compute_at import find_stage
from ago.schedule.flow import uses
from ago.schedule.parallel import keep_parallel
from ago.schedule.refusals import refuse
from ago.schedule.tree import find_path, fresh_loops, replace_last


def decompose_reduction(program: Program, stage: str, loop: str) -> Program:
    """Start a reduction in front of a loop, and leave only its updates inside.

    Rewrite::

        for i: for k: C[i] = init, then C[i] += p(i, k)
        →  for i.init: C[i] = init
           for i: for k: C[i] += p(i, k)                   (loop = i)

    A whole reduction starts in front of its outermost reduce loop anyway; here it may start
    further out, and afterwards the partial sums can be staged by `stage_mem`. The initialisation
    repeats the spatial loops inside `loop`, under names that end in `.init`.

    Requires:
        1. `stage` and `loop` exist (`unknown-stage`, `unknown-loop`).
        2. The stage is one whole reduction inside the loop (`no-reduction`), none of whose reduce
           loops is outside (`starts-outside`).
        3. The iterations of the spatial loops that it now starts in front of are proved to write
           different elements (`starts-twice`).
        4. What it starts with is not computed inside the loop, nor is its buffer used in another
           way in front of it there (`init-order`).
        5. The loop is not vectorised (`inside-vector`); parallel loops stay free of races
           (`race`, `private-flow`).

    Args:
        program: The program.
        stage: Name of the reduction.
        loop: Name of the loop in front of which it starts.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> from ago.schedule.tree import loop_names
        >>> loop_names(decompose_reduction(matmul(4, 6, 5), "C", "C.j"))
        ('C.i', 'C.j.init', 'C.j', 'C.k')
    """
    find_stage(program, stage)
    path = find_path(program, loop)
    old = path[-1]
    assert isinstance(old, For)
    if old.kind == "vector":
        raise refuse("inside-vector", program, f"{stage} started at {loop}", loop=loop)
    found = [x for x in leaves((old,)) if x.stage == stage]
    if len(found) != 1 or not isinstance(found[0], Reduce):
        message = f"{stage} is no whole reduction inside {loop}"
        raise refuse("no-reduction", program, message, loop=loop)
    leaf = found[0]
    outside = [s.name for s in path[:-1] if isinstance(s, For) and s.name in leaf.loops]
    if outside:
        message = f"{stage} reduces over {outside[0]}, outside {loop}"
        raise refuse("starts-outside", program, message, loop=loop, hint="choose an outer loop")
    _check_start(program, leaf, path[:-1], old)
    names = [s.name for s in walk((old,)) if isinstance(s, For)]
    init = rename_loops(init_nest((old,), leaf), fresh_loops(program, names, "init"))

    def change(stmt: Stmt) -> tuple[Stmt, ...] | None:
        return (as_update(leaf),) if stmt is leaf else None

    after = replace_last(program, path, (*init, *rewrite((old,), change)))
    return keep_parallel(program, after)


def _check_start(program: Program, leaf: Reduce, path: Sequence[For | If], loop: For) -> None:
    """Check that `leaf` may start in front of `loop`, for all its iterations at once."""
    outer = [stmt for stmt in path if isinstance(stmt, For)]
    (write,) = (u for u in uses((loop,), leaf.buffer) if u.leaf is leaf and u.writes)
    reducing = [place for place, x in enumerate(write.loops) if x.name in leaf.loops]
    passed = write.loops[: reducing[0]] if reducing else write.loops
    if not writes_apart(leaf.index, passed, [*outer, *write.loops]):
        names = ", ".join(x.name for x in passed)
        message = f"iterations of {names} may start the same element of {leaf.buffer} twice"
        hint = "choose the outermost reduce loop, or one just around it"
        raise refuse("starts-twice", program, message, loop=loop.name, hint=hint)
    written = {x.buffer for x in leaves((loop,))}
    late = sorted(written & {load.buffer for load, _ in loads(leaf.init)})
    if late:
        message = f"{leaf.stage} starts with {late[0]}, which is computed inside {loop.name}"
        raise refuse("init-order", program, message, loop=loop.name)
    writers = sum(x.buffer == leaf.buffer for x in leaves(program.body))
    if writers > 1 or next(uses((loop,), leaf.buffer)).leaf is not leaf or _reads_itself(leaf):
        message = f"{leaf.buffer} is used in another way in front of {leaf.stage}"
        raise refuse("init-order", program, message, loop=loop.name)


def _reads_itself(leaf: Reduce) -> bool:
    return any(load.buffer == leaf.buffer for load, _ in leaf_loads(leaf))
