"""`compute_with`: a stage shares the loops of a nest that neither reads it nor is read by it."""

from __future__ import annotations

from collections.abc import Sequence

from ago.ir.bounds import simplify
from ago.ir.index import Index, as_index
from ago.ir.nest import For, If, Stage, Stmt, leaf_loads, leaves, with_body
from ago.ir.program import Program
from ago.schedule.compute_at import find_stage, naive_nest
from ago.schedule.naive import require_sole_writer
from ago.schedule.parallel import keep_parallel
from ago.schedule.refusals import refuse, require_names
from ago.schedule.stage_nest import Span, stage_nest
from ago.schedule.tree import find_path, ranges_of, replace_last


def compute_with(program: Program, stage: str, loop: str, axes: Sequence[str]) -> Program:
    """Compute a stage beside another nest, a block of its axes in each iteration of a loop.

    Rewrite::

        for all i: P[i] = p(i)        for c in [0, n): for i in [0, b): P[b*c + i] = p(b*c + i)
        for c in [0, n): S(c)     →                    S(c)

    The iterations of the loop, and those of the loops around it, divide the stage's axes into
    blocks: each element is computed once, and what both nests read is read while it is near. The
    stage keeps the names of its loops; those over the given axes start at 0 and are relative to the
    block.

    Requires:
        1. `stage` and `loop` exist (`unknown-stage`, `unknown-loop`).
        2. The stage is still its naive nest at the top of the program (`stage-scheduled`), the only
           writer of its buffer (`many-writers`), which it does not read (`in-place`).
        3. It stands before the loop (`order`). From there to the end of the loop's nest nothing
           touches what it writes, or writes what it reads (`not-independent`).
        4. `axes` are spatial axes of the stage (`unknown-axis`), each once, one for the loop and
           for each loop around it, outermost first. No guard is around them, and each loop has a
           constant number of iterations from 0, which divides the axis's extent (`not-alike`).
        5. None of these loops is vectorised (`inside-vector`); parallel loops stay free of races
           (`race`, `private-flow`).

    Args:
        program: The program.
        stage: Name of the stage to move.
        loop: Name of a loop of another nest.
        axes: Axes of the stage that the loops down to `loop` run over.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import fork
        >>> from ago.schedule.tree import loop_names
        >>> loop_names(compute_with(fork(4, 6), "L", "R.i", ["i"]))
        ('S.i', 'S.j', 'R.i', 'L.i', 'L.j', 'R.j')
    """
    moved = find_stage(program, stage)
    nest = naive_nest(program, moved)
    path = find_path(program, loop)
    home = path[-1]
    assert isinstance(home, For)
    require_sole_writer(program, moved)
    _check_place(program, moved, nest, path)
    block = stage_nest(moved, _spans(program, moved, path, axes))
    placed = replace_last(program, path, (with_body(home, (block, *home.body)),))
    after = placed.with_body(tuple(s for s in placed.body if s is not nest))
    return keep_parallel(program, after)


def _check_place(program: Program, moved: Stage, nest: Stmt, path: Sequence[For | If]) -> None:
    """Check that all between the stage and the end of the loop's nest may come after it."""
    home = path[-1]
    assert isinstance(home, For)
    position = {id(stmt): i for i, stmt in enumerate(program.body)}
    start, end = position[id(nest)], position[id(path[0])]
    if start >= end:
        message = f"{moved.name} does not come before {home.name}"
        raise refuse("order", program, message, loop=home.name)
    read = {load.buffer for load, _ in leaf_loads(moved.leaf())}
    for leaf in leaves(program.body[start + 1 : end + 1]):
        others = {load.buffer for load, _ in leaf_loads(leaf)}
        if leaf.buffer in read or moved.buffer in others | {leaf.buffer}:
            message = f"{leaf.stage} uses what {moved.name} writes, or writes what it reads"
            hint = "compute_at moves a producer into its reader's loop"
            raise refuse("not-independent", program, message, loop=home.name, hint=hint)
    for stmt in path:
        if isinstance(stmt, For) and stmt.kind == "vector":
            message = f"{moved.name} computed at {home.name}"
            raise refuse("inside-vector", program, message, loop=stmt.name, hint="vectorize last")


def _spans(
    program: Program, moved: Stage, path: Sequence[For | If], axes: Sequence[str]
) -> dict[str, Span]:
    """The block of each given axis that an iteration computes."""
    require_names(program, axes, "compute_with")
    extents = {a.name: a.extent for a in moved.axes if a.kind == "spatial"}
    for axis in axes:
        if axis not in extents:
            hint = f"axes are {', '.join(extents)}"
            raise refuse("unknown-axis", program, f"{moved.name} has no axis {axis!r}", hint=hint)
    if len(axes) != len(path) or len(set(axes)) != len(axes):
        message = f"axes {', '.join(axes)} for {len(path)} loops and guards"
        raise refuse("not-alike", program, message, hint="name one axis for each loop")
    ranges = ranges_of(path)
    spans: dict[str, Span] = {}
    for stmt, axis in zip(path, axes, strict=True):
        size = _block(stmt, extents[axis])
        if size == 0:
            what = (
                f"loop {stmt.name} over [{stmt.lo}, {stmt.hi})" if isinstance(stmt, For) else "if"
            )
            message = f"{what} does not divide the {extents[axis]} positions of {axis}"
            raise refuse("not-alike", program, message)
        index = stmt.index if isinstance(stmt, For) else Index()
        spans[moved.loop(axis)] = Span(simplify(index * size, ranges), as_index(size))
    return spans


def _block(stmt: For | If, extent: int) -> int:
    """Positions of each iteration's block of an axis; 0 where iterations do not divide it."""
    if not isinstance(stmt, For) or stmt.lo != Index() or not stmt.hi.is_constant:
        return 0
    count = stmt.hi.const
    return extent // count if count > 0 and extent % count == 0 else 0
