"""`privatize`: each iteration of a loop gets a copy of a buffer of its own."""

from __future__ import annotations

from dataclasses import replace

from ago.ir.index import Index
from ago.ir.nest import For, leaves
from ago.ir.program import Program
from ago.ir.reindexing import reindex
from ago.ir.value import Load, Value
from ago.schedule.flow import starts_anew
from ago.schedule.parallel import keep_parallel
from ago.schedule.refusals import refuse
from ago.schedule.tree import (
    constant_extent,
    find_path,
    hoisted,
    intermediate_buffer,
    map_stage,
    reads,
    replace_last,
    starts_with,
)


def privatize(program: Program, buffer: str, loop: str) -> Program:
    """Give a buffer a first dimension over the iterations of a loop.

    Rewrite::

        P: [w, c]                            P: [n, w, c]
        for t in [0, n): ... P[y, k] ...  →  for t in [0, n): ... P[t, y, k] ...

    What iterations of the loop share no longer ties them together: they may run side by side, each
    in memory of its own, which is planned with the rest of the workspace.

    Requires:
        1. `buffer` and `loop` exist (`unknown-buffer`, `unknown-loop`); the buffer is an
           intermediate one (`not-intermediate`), the loop's bounds are constants
           (`extent-not-constant`).
        2. Every access is inside the loop, also those with which a reduction starts
           (`used-outside`).
        3. Each iteration is proved to write what it reads of the buffer, before that
           (`private-flow`): a window slides along no other loop than one inside it.
        4. Parallel loops stay free of races (`race`).

    Args:
        program: The program.
        buffer: Name of the buffer.
        loop: Name of the loop whose iterations each have their own copy.

    Returns:
        The rewritten program. Stages access the copy, too, so that their nests may still move
        inside the loop.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import smooth
        >>> from ago.schedule.compute_at import compute_at
        >>> from ago.schedule.split import split
        >>> program = compute_at(split(smooth(8, 4), "S.y", 3), "P", "S.y.1")
        >>> privatize(program, "P", "S.y.0").buffer("P").shape
        (2, 8, 4)
    """
    old = intermediate_buffer(program, buffer)
    path = find_path(program, loop)
    home = path[-1]
    assert isinstance(home, For)
    extent = constant_extent(program, home)
    elsewhere = replace_last(program, path, ()).body
    outside = any(leaf.buffer == buffer for leaf in leaves(elsewhere)) or reads(elsewhere, buffer)
    if outside or any(starts_with(leaf, buffer) for leaf in hoisted(path)):
        message = f"{buffer} is used outside {loop}"
        raise refuse("used-outside", program, message, loop=loop)
    if not starts_anew(home.body, buffer, path):
        message = f"an iteration of {loop} may read what another one left in {buffer}"
        raise refuse("private-flow", program, message, loop=loop, hint="privatize before slide")

    def own(index: tuple[Index, ...]) -> tuple[Index, ...]:
        return (home.index - home.lo, *index)

    def load(value: Value) -> Value | None:
        if isinstance(value, Load) and value.buffer == buffer:
            return Load(buffer, own(value.index))
        return None

    after = program.with_body(reindex(program.body, buffer, own))
    for stage in program.stages:
        moved = map_stage(stage, load)
        if stage.buffer == buffer:
            moved = replace(moved, index=own(stage.index))
        after = after.with_stage(moved)
    after = after.with_buffer(replace(old, shape=(extent, *old.shape)))
    return keep_parallel(program, after)
