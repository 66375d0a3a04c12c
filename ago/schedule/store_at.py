"""`store_at`: an intermediate buffer keeps only what one iteration of a loop uses of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ago.ir.index import variables
from ago.ir.nest import For, If, Scope, leaves, walk, with_body
from ago.ir.program import Program
from ago.ir.reindexing import reindex
from ago.schedule.parallel import keep_parallel
from ago.schedule.refusals import refuse
from ago.schedule.region import touched, upper_bound
from ago.schedule.tree import find_path, hoisted, ranges_of, reads, replace_last, starts_with

_SCOPES = ("register", "stack", "workspace")


def store_at(program: Program, buffer: str, loop: str, scope: Scope = "register") -> Program:
    """Shrink a buffer to the box that one iteration of `loop` touches, and move it to `scope`.

    Rewrite::

        P: [h, w, c]                      P: [1, 4, 16] in registers
        for t: ... P[y, 4*t + x, k] ... → for t: ... P[0, x, k] ...

    Requires:
        1. `buffer` and `loop` exist (`unknown-buffer`, `unknown-loop`).
        2. The buffer is an intermediate one (`not-intermediate`).
        3. Every access is inside the loop, also those with which a reduction starts
           (`used-outside`).
        4. The scope is one of the three (`bad-scope`).
        5. No window of the buffer slides along the loop or one around it (`carried`).
        6. Parallel loops stay free of races: they share the workspace, and have registers and
           stack of their own (`race`, `private-flow`).

    Args:
        program: The program.
        buffer: Name of the buffer.
        loop: Name of the loop whose iterations each have their own copy.
        scope: `register`, `stack` or `workspace`.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> from ago.schedule.compute_at import compute_at
        >>> program = compute_at(matmul(4, 6, 5, relu=True), "C", "R.i")
        >>> store_at(program, "C", "R.i", "stack").buffer("C").shape
        (1, 6)
    """
    old = next((b for b in program.buffers if b.name == buffer), None)
    if old is None:
        hint = f"buffers are {', '.join(b.name for b in program.buffers)}"
        raise refuse("unknown-buffer", program, f"no buffer is called {buffer!r}", hint=hint)
    if old.scope in {"input", "output", "constant"}:
        message = f"{buffer} is an {old.scope}"
        raise refuse("not-intermediate", program, message)
    if scope not in _SCOPES:
        raise refuse("bad-scope", program, f"{buffer} in scope {scope!r}")
    path = find_path(program, loop)
    home = path[-1]
    assert isinstance(home, For)
    elsewhere = replace_last(program, path, ()).body
    written = any(leaf.buffer == buffer for leaf in leaves(elsewhere))
    if written or reads(elsewhere, buffer) or any(starts_with(r, buffer) for r in hoisted(path)):
        message = f"{buffer} is used outside {loop}"
        hint = "compute_at its producer here first, or choose an outer loop"
        raise refuse("used-outside", program, message, loop=loop, hint=hint)
    _check_windows(program, path, buffer)
    ranges = ranges_of(path)
    box = touched(home.body, buffer, ranges, stores=True)
    if box is None:
        raise refuse("used-outside", program, f"{buffer} is not used in {loop}", loop=loop)
    shape = tuple(
        upper_bound(high - low + 1, ranges) for low, high in zip(box.low, box.high, strict=True)
    )
    body = reindex(
        home.body,
        buffer,
        lambda index: tuple(i - first for i, first in zip(index, box.low, strict=True)),
    )
    moved = replace_last(program, path, (with_body(home, body),))
    after = moved.with_buffer(replace(old, shape=shape, scope=scope))
    return keep_parallel(program, after)


def _check_windows(program: Program, path: Sequence[For | If], buffer: str) -> None:
    around = {stmt.name for stmt in path if isinstance(stmt, For)}
    for stmt in walk(path[-1].body):
        slides = isinstance(stmt, For) and variables(stmt.lo) & around
        if slides and any(leaf.buffer == buffer for leaf in leaves((stmt,))):
            loop = sorted(slides)[0]
            message = f"a window of {buffer} slides along {loop}"
            hint = "store it outside that loop and fold it"
            raise refuse("carried", program, message, loop=loop, hint=hint)
