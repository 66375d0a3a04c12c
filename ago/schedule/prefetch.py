"""`prefetch`: memory that a later iteration reads is asked for in time."""

from __future__ import annotations

from ago.ir.bounds import simplify
from ago.ir.index import minimum, substitute, variables
from ago.ir.nest import For, Prefetch, with_body
from ago.ir.program import Program
from ago.schedule.refusals import refuse, require_factor
from ago.schedule.region import clip, touched
from ago.schedule.tree import find_buffer, find_path, ranges_of, replace_last


def prefetch(program: Program, buffer: str, loop: str, distance: int) -> Program:
    """Ask for what a loop will read of an input or constant some iterations later.

    Rewrite::

        for v in [0, n): S(v)   →   for v in [0, n): prefetch w[first(min(v + d, n - 1))]; S(v)

    `first` is the lowest corner of the box that an iteration reads. One line of the cache is asked
    for, so choose a loop whose step is about a line, 64 bytes. It changes no result; in the
    interpreter it does nothing.

    Requires:
        1. Loop and buffer exist (`unknown-loop`, `unknown-buffer`); the buffer is an input or a
           constant, which no primitive moves (`not-parameter`).
        2. The loop is serial or parallel (`not-serial`).
        3. What it reads of the buffer begins at another element in each iteration
           (`not-streamed`).
        4. `distance` is an integer of at least 1 (`bad-factor`).

    Args:
        program: The program.
        buffer: Name of the input or constant.
        loop: Name of the loop.
        distance: How many iterations ahead.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> print(prefetch(matmul(4, 6, 5), "B", "C.k", 2))  # doctest: +ELLIPSIS
        # program matmul
        ...
                for k in range(5):
                    ir_prefetch(B[min(4, k + 2), j])
                    C[i, j] += A[i, k] * B[k, j]
        <BLANKLINE>
    """
    source = find_buffer(program, buffer)
    if source.scope not in ("input", "constant"):
        message = f"{buffer} lives in the {source.scope}"
        raise refuse("not-parameter", program, message)
    require_factor(program, distance, f"prefetch of {buffer}, {distance!r} ahead")
    path = find_path(program, loop)
    old = path[-1]
    assert isinstance(old, For)
    if old.kind not in ("serial", "parallel"):
        raise refuse("not-serial", program, f"{loop} is {old.kind}", loop=loop)
    ranges = ranges_of(path)
    box = touched(old.body, buffer, ranges, stores=False)
    if box is None or not any(loop in variables(low) for low in box.low):
        message = f"{loop} does not move along {buffer}"
        raise refuse("not-streamed", program, message, loop=loop)
    ahead = {loop: minimum(old.index + distance, old.hi - 1)}
    corner = []
    for position, extent in zip(box.low, source.shape, strict=True):
        first, last = clip(position, position, extent, path)
        inside = first if last == position else minimum(first, extent - 1)
        corner.append(simplify(substitute(inside, ahead), ranges))
    hint = Prefetch(buffer, tuple(corner))
    return replace_last(program, path, (with_body(old, (hint, *old.body)),))
