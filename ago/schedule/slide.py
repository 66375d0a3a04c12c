"""`slide`: a producer computes only what the previous iteration's window did not hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ago.errors import ScheduleError
from ago.ir.bounds import Interval, interval, simplify
from ago.ir.index import Index, Max, Min, Var, maximum, minimum, substitute, variables
from ago.ir.nest import For, leaves
from ago.ir.program import Program
from ago.schedule.compute_at import find_stage
from ago.schedule.parallel import keep_parallel
from ago.schedule.refusals import refuse
from ago.schedule.region import upper_bound
from ago.schedule.tree import find_path, ranges_of, replace_last


def slide(program: Program, stage: str, axis: str, loop: str) -> Program:
    """Skip the rows of a producer's region that the iteration before has computed already.

    Rewrite::

        for y: for r in [0, w): P[k*y + r] = p(k*y + r); ... P[k*y .. k*y + w) ...
        →  for y: for r in [min((w-k)*y, w-k), w): P[k*y + r] = p(k*y + r); ...

    The first iteration computes the whole window, every other one its last `k` rows: each row is
    computed once. The bound is exact, affine, and needs no counter. A window that is clipped at the
    ends of the domain, `[low(y), end(y))`, starts at `end(y - 1)` instead.

    Requires:
        1. `stage`, `axis` and `loop` exist (`unknown-stage`, `unknown-axis`, `unknown-loop`); the
           stage's nest is inside the loop, which is serial and starts at a constant
           (`not-inside`, `not-serial`).
        2. The loop over `axis` is serial and has the constant extent `w` of a window that moves by
           a constant step `k` with `0 < k < w`, or runs over a window that overlaps the one before
           and whose ends never move back (`no-window`).
        3. No other index of the producer's result moves with the loop (`moves-aside`).
        4. Parallel loops stay free of races, each iteration writing what it reads of a buffer of
           its own (`race`, `private-flow`).

    Args:
        program: The program, the stage placed by `compute_at`.
        stage: Name of the producer.
        axis: Its axis along which the window slides.
        loop: Name of the loop that moves the window.

    Returns:
        The rewritten program. From now on the iterations of the loop keep their order, and the
        buffer stays outside it; `fold_storage` shrinks it to the window.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import smooth
        >>> from ago.schedule.compute_at import compute_at
        >>> from ago.schedule.tree import find_loop
        >>> program = compute_at(smooth(8, 4), "P", "S.y")
        >>> str(find_loop(slide(program, "P", "y", "S.y"), "P.y").lo)
        'min(2, 2 * S.y)'
    """
    producer = find_stage(program, stage)
    if all(a.name != axis for a in producer.axes):
        hint = f"axes are {', '.join(a.name for a in producer.axes)}"
        raise refuse("unknown-axis", program, f"{stage} has no axis {axis!r}", hint=hint)
    rows = producer.loop(axis)
    path = find_path(program, rows)
    outer = next((s for s in path[:-1] if isinstance(s, For) and s.name == loop), None)
    if outer is None:
        find_path(program, loop)
        message = f"the nest of {stage} is not inside {loop}"
        raise refuse("not-inside", program, message, loop=loop, hint="compute_at it there first")
    if outer.kind != "serial" or not outer.lo.is_constant:
        raise refuse("not-serial", program, f"{loop} is {outer.kind} from {outer.lo}", loop=loop)
    inner = path[-1]
    assert isinstance(inner, For)
    if inner.extent.is_constant:
        step = _step(program, inner, outer, producer.buffer)
        window = inner.extent.const
        start = minimum((outer.index - outer.lo) * (window - step), window - step)
    else:
        start = _clipped_start(program, inner, outer, producer.buffer, ranges_of(path[:-1]))
    return keep_parallel(program, replace_last(program, path, (replace(inner, lo=start),)))


def _step(program: Program, rows: For, outer: For, buffer: str) -> int:
    """By how many rows the window moves in one iteration of `outer`."""
    whole = rows.kind == "serial" and rows.lo == Index() and rows.hi.is_constant
    steps: set[int | None] = {
        None if not whole else _move(i, rows, outer, program, buffer) for i in _stores(rows, buffer)
    }
    if len(steps) == 1:
        step = steps.pop()
        if step is not None and 0 < step < rows.hi.const:
            return step
    message = f"{rows.name} over [{rows.lo}, {rows.hi}) is no window that {outer.name} moves"
    hint = "the loop must read overlapping rows; split it with tail exact or shift only inside"
    raise refuse("no-window", program, message, loop=rows.name, hint=hint)


def _clipped_start(
    program: Program, rows: For, outer: For, buffer: str, ranges: Mapping[str, Interval]
) -> Index:
    """Where `rows` begins after what the iteration before has computed, of a clipped window."""
    found = {_first(i, rows, outer, program, buffer) for i in _stores(rows, buffer)}
    low = found.pop() if len(found) == 1 and rows.kind == "serial" and rows.lo == Index() else None
    if low is not None:
        end = simplify(low + rows.hi, ranges)
        before = substitute(end, {outer.name: outer.index - 1})
        done = simplify(before - low, ranges)
        overlaps = interval(done, ranges)[1] > 0
        if overlaps and _rises(low, outer.name) and _rises(end, outer.name):
            longest = upper_bound(rows.hi, ranges)
            first = minimum((outer.index - outer.lo) * longest, done)
            return simplify(maximum(first, 0), ranges)
    message = f"{rows.name} over [{rows.lo}, {rows.hi}) is no window that {outer.name} moves on"
    raise refuse("no-window", program, message, loop=rows.name)


def _first(
    index: tuple[Index, ...], rows: For, outer: For, program: Program, buffer: str
) -> Index | None:
    """The row that is written where `rows` is 0; None where rows are not written one by one."""
    low: Index | None = None
    for place in index:
        if rows.name in variables(place):
            rest = place - rows.index
            if rows.name in variables(rest) or low is not None:
                return None
            low = rest
        elif outer.name in variables(place):
            raise _moves_aside(program, outer, buffer, place)
    return low


def _rises(index: Index, loop: str) -> bool:
    """Whether an index never falls while `loop` runs on."""
    for atom, factor in index.terms:
        if loop not in variables(Index(((atom, 1),))):
            continue
        match atom:
            case Var():
                rises = True
            case Min(a, b) | Max(a, b):
                rises = _rises(a, loop) and _rises(b, loop)
            case _:
                rises = False
        if factor < 0 or not rises:
            return False
    return True


def _stores(rows: For, buffer: str) -> list[tuple[Index, ...]]:
    return [leaf.index for leaf in leaves(rows.body) if leaf.buffer == buffer]


def _move(
    index: tuple[Index, ...], rows: For, outer: For, program: Program, buffer: str
) -> int | None:
    """Coefficient of `outer` where the index follows `rows`; None where that is not affine."""
    step: int | None = None
    for place in index:
        if rows.name in variables(place):
            rest = place - rows.index
            others = Index(tuple(term for term in rest.terms if not isinstance(term[0], Var)))
            if rows.name in variables(rest) or outer.name in variables(others):
                return None
            step = rest.coefficient(outer.name)
        elif outer.name in variables(place):
            raise _moves_aside(program, outer, buffer, place)
    return step


def _moves_aside(program: Program, outer: For, buffer: str, place: Index) -> ScheduleError:
    message = f"{buffer} is written at {place}, which moves with {outer.name} too"
    return refuse("moves-aside", program, message, loop=outer.name)
