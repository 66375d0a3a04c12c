"""`fold_storage`: a buffer keeps only a window of one dimension, as a ring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ago.ir.bounds import Interval, interval
from ago.ir.index import Index, Var, as_index, variables
from ago.ir.nest import For, If, Stmt, leaves, walk, with_body
from ago.ir.program import Program
from ago.ir.reindexing import reindex
from ago.schedule.parallel import keep_parallel
from ago.schedule.refusals import refuse
from ago.schedule.region import bounds_above, bounds_below, moving_bound, touched
from ago.schedule.tree import carried, find_path, ranges_of, reads, replace_last


def fold_storage(program: Program, buffer: str, dimension: int, loop: str) -> Program:
    """Replace a dimension of a buffer by a ring of just the rows that one iteration touches.

    Rewrite::

        P: [h, n]                                    P: [w, n]
        for y: ... P[k*y + r, i] ...  (r in [0, w))  →  for y: ... P[(k*y + r) % w, i] ...

    A row is overwritten by the one `w` further on, which no iteration writes before the window has
    left the row: everything touched in an iteration lies in `[k*y + c, k*y + c + w)`, and `k` is
    not negative.

    Requires:
        1. `buffer` and `loop` exist (`unknown-buffer`, `unknown-loop`); the buffer is an
           intermediate one (`not-intermediate`); the loop is serial (`not-serial`).
        2. Every access is inside the loop (`used-outside`).
        3. Along the dimension an iteration touches a window of constant extent that moves by a
           constant step of at least 0 (`no-window`). It may be clipped at the ends, and loops
           outside may move it, too, as long as its rows slide along none of them.
        4. Parallel loops stay free of races (`race`, `private-flow`).

    Args:
        program: The program.
        buffer: Name of the buffer.
        dimension: Which dimension becomes a ring.
        loop: Name of the loop that moves the window.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import smooth
        >>> from ago.schedule.compute_at import compute_at
        >>> from ago.schedule.slide import slide
        >>> program = slide(compute_at(smooth(8, 4), "P", "S.y"), "P", "y", "S.y")
        >>> fold_storage(program, "P", 0, "S.y").buffer("P").shape
        (3, 4)
    """
    old = next((b for b in program.buffers if b.name == buffer), None)
    if old is None or dimension not in range(len(old.shape)):
        raise refuse("unknown-buffer", program, f"no dimension {dimension} of a buffer {buffer!r}")
    if old.scope in {"input", "output", "constant"}:
        raise refuse("not-intermediate", program, f"{buffer} is an {old.scope}")
    path = find_path(program, loop)
    home = path[-1]
    assert isinstance(home, For)
    if home.kind != "serial":
        raise refuse("not-serial", program, f"{loop} is {home.kind}", loop=loop)
    elsewhere = replace_last(program, path, ()).body
    if any(leaf.buffer == buffer for leaf in leaves(elsewhere)) or reads(elsewhere, buffer):
        raise refuse("used-outside", program, f"{buffer} is used outside {loop}", loop=loop)
    extent = _window(program, old.name, dimension, home, path)
    body = reindex(
        home.body,
        buffer,
        lambda index: tuple(i % extent if d == dimension else i for d, i in enumerate(index)),
    )
    shape = tuple(extent if d == dimension else s for d, s in enumerate(old.shape))
    moved = replace_last(program, path, (with_body(home, body),))
    return keep_parallel(program, moved.with_buffer(replace(old, shape=shape)))


def _slides(home: For, buffer: str) -> set[str]:
    """The loops along which rows of a buffer slide below `home`."""
    return {
        name
        for stmt in walk(home.body)
        if isinstance(stmt, For) and any(leaf.buffer == buffer for leaf in leaves(stmt.body))
        for name in carried((stmt,))
    }


def _window(
    program: Program, buffer: str, dimension: int, home: For, path: tuple[For | If, ...]
) -> int:
    """The constant extent of what an iteration touches along the dimension."""
    ranges = ranges_of(path)
    box = touched(home.body, buffer, ranges, stores=True)
    if box is None:
        raise refuse("used-outside", program, f"{buffer} is not used in {home.name}")
    whole = touched(_from_constants(home.body, ranges), buffer, ranges, stores=True)
    assert whole is not None
    low, high = box.low[dimension], box.high[dimension]
    firsts = [
        first
        for bound in dict.fromkeys((low, whole.low[dimension]))
        for first in (
            bound,
            *bounds_below(bound),
            moving_bound(bound, ranges, below=True),
            as_index(interval(bound, ranges)[0]),
        )
    ]
    lasts = (
        high,
        *bounds_above(high),
        moving_bound(high, ranges, below=False),
        as_index(interval(high, ranges)[1]),
    )
    extents = [
        (last - first + 1).const
        for first in firsts
        for last in lasts
        if (last - first).is_constant and _moves_on(first, home.name)
    ]
    around = {stmt.name for stmt in path[:-1] if isinstance(stmt, For)}
    if not extents or _slides(home, buffer) & around:
        message = f"{home.name} touches [{low}, {high}] of dimension {dimension} of {buffer}"
        raise refuse("no-window", program, message, loop=home.name)
    return min(extents)


def _from_constants(body: tuple[Stmt, ...], ranges: Mapping[str, Interval]) -> tuple[Stmt, ...]:
    """The statements with every loop from the least that its beginning ever is.

    What `slide` leaves to an iteration is a part of its window, but begins where only the whole
    window's first row is a plain bound.
    """
    found: list[Stmt] = []
    for stmt in body:
        match stmt:
            case For():
                least = interval(stmt.lo, ranges)[0]
                inside = {**ranges, stmt.name: (least, interval(stmt.hi, ranges)[1] - 1)}
                inner = _from_constants(stmt.body, inside)
                found.append(replace(stmt, lo=as_index(least), body=inner))
            case If():
                found.append(replace(stmt, body=_from_constants(stmt.body, ranges)))
            case _:
                found.append(stmt)
    return tuple(found)


def _moves_on(first: Index, loop: str) -> bool:
    """Whether a window that begins at `first` moves by a constant step of at least 0."""
    moving = ((a, c) for a, c in first.terms if loop in variables(Index(((a, c),))))
    return all(isinstance(a, Var) and c >= 0 for a, c in moving)
