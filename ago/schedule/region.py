"""Which part of a buffer a loop touches, as a box of symbolic bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ago.ir.bounds import Interval, extremes, interval, loop_ranges, simplify
from ago.ir.index import Atom, Index, Max, Min, Var, maximum, minimum
from ago.ir.nest import For, If, Prefetch, Reduce, Stmt
from ago.ir.proofs import never_negative
from ago.ir.value import loads


@dataclass(frozen=True, slots=True)
class Box:
    """Inclusive bounds along each dimension of a buffer, in the variables of outer loops."""

    low: tuple[Index, ...]
    high: tuple[Index, ...]


def touched(
    body: tuple[Stmt, ...], buffer: str, ranges: Mapping[str, Interval], *, stores: bool
) -> Box | None:
    """The smallest box that holds every access below `body` to `buffer`.

    Args:
        body: Statements inside the loop in question.
        buffer: The buffer.
        ranges: Ranges of the loops around `body`, to simplify with.
        stores: Whether stores count as well as loads.

    Returns:
        Bounds in the variables of the loops around `body`; None without an access.
    """
    low: tuple[Index, ...] | None = None
    high: tuple[Index, ...] = ()
    for index, loops in _accesses(body, buffer, (), stores=stores):
        bounds = [extremes(i, loops) for i in index]
        first, last = tuple(b[0] for b in bounds), tuple(b[1] for b in bounds)
        if low is None:
            low, high = first, last
        else:
            low = tuple(minimum(a, b) for a, b in zip(low, first, strict=True))
            high = tuple(maximum(a, b) for a, b in zip(high, last, strict=True))
    if low is None:
        return None
    return Box(tuple(simplify(i, ranges) for i in low), tuple(simplify(i, ranges) for i in high))


def _accesses(
    body: tuple[Stmt, ...], buffer: str, loops: tuple[For, ...], *, stores: bool
) -> Iterator[tuple[tuple[Index, ...], Sequence[For]]]:
    """Each index with which `buffer` is accessed, and the loops between `body` and the access."""
    for stmt in body:
        match stmt:
            case For():
                yield from _accesses(stmt.body, buffer, (*loops, stmt), stores=stores)
            case If():
                yield from _accesses(stmt.body, buffer, loops, stores=stores)
            case Prefetch():
                continue
            case _:
                if stores and stmt.buffer == buffer:
                    yield stmt.index, loops
                values = (stmt.init, stmt.value) if isinstance(stmt, Reduce) else (stmt.value,)
                for value in values:
                    for load, _ in loads(value):
                        if load.buffer == buffer:
                            yield load.index, loops


def clip(low: Index, high: Index, extent: int, path: Sequence[For | If]) -> tuple[Index, Index]:
    """Inclusive bounds cut to `[0, extent)` where they are not proved to be inside.

    Args:
        low: Smallest position.
        high: Largest position.
        extent: Number of positions there are.
        path: Loops and guards around the place, outermost first.
    """
    loops = [stmt for stmt in path if isinstance(stmt, For)]
    known = tuple(part for stmt in path if isinstance(stmt, If) for part in stmt.condition)
    ranges = loop_ranges(loops)
    if not never_negative(low, loops, known):
        low = maximum(low, 0)
    if not never_negative(extent - 1 - high, loops, known):
        high = minimum(high, extent - 1)
    return simplify(low, ranges), simplify(high, ranges)


def upper_bound(index: Index, ranges: Mapping[str, Interval]) -> int:
    """A value that `index` never exceeds; terms cancel against those in a min or max."""
    for atom, factor in index.terms:
        if isinstance(atom, Min | Max):
            rest = index - Index(((atom, factor),))
            bounds = [upper_bound(rest + part * factor, ranges) for part in (atom.a, atom.b)]
            return max(bounds) if isinstance(atom, Max) == (factor > 0) else min(bounds)
    return interval(index, ranges)[1]


def bounds_below(index: Index) -> list[Index]:
    """Indices without min and max that `index` is never below."""
    return _plain_bounds(index, Max)


def bounds_above(index: Index) -> list[Index]:
    """Indices without min and max that `index` never exceeds."""
    return _plain_bounds(index, Min)


def _plain_bounds(index: Index, either: type[Min] | type[Max]) -> list[Index]:
    """Bounds of an index, each operand of `either` being one; of the other kind, the outer one.

    From below each operand of a maximum bounds it, and the smaller operand of a minimum does.
    """
    for atom, factor in index.terms:
        if not isinstance(atom, Min | Max):
            continue
        rest = index - Index(((atom, factor),))
        first, second = (_plain_bounds(rest + part * factor, either) for part in (atom.a, atom.b))
        if isinstance(atom, either) == (factor > 0):
            return [*first, *second]
        sign = 1 if either is Max else -1
        gaps = ((a, b, a - b) for a in first for b in second)
        return [a if gap.const * sign <= 0 else b for a, b, gap in gaps if gap.is_constant]
    return [index]


def moving_bound(index: Index, ranges: Mapping[str, Interval], *, below: bool) -> Index:
    """A bound of an index in plain variables: what stands in other atoms is as low as it may be.

    Args:
        index: An expression over the variables of `ranges`.
        ranges: Ranges of the loops around the place.
        below: Whether the index is never below the result, or never above.
    """
    result = Index((), index.const)
    for atom, factor in index.terms:
        result = result + _moving_atom(atom, ranges, below=below == (factor > 0)) * factor
    return result


def _moving_atom(atom: Atom, ranges: Mapping[str, Interval], *, below: bool) -> Index:
    own = Index(((atom, 1),))
    if isinstance(atom, Var):
        return own
    if isinstance(atom, Min | Max):
        a, b = (moving_bound(part, ranges, below=below) for part in (atom.a, atom.b))
        if (a - b).is_constant:
            return minimum(a, b) if isinstance(atom, Min) else maximum(a, b)
    return Index((), interval(own, ranges)[0 if below else 1])
