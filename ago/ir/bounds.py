"""Interval analysis of indices: constant bounds, symbolic extremes, range-based simplification.

Read `interval` first. `Ranges` maps each loop variable to its inclusive range. `extremes`
eliminates inner loops from an index, which is how the region that a loop reads of a buffer is
found. All results are sound: an interval may be wider than the set of values, never narrower.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from ago.ir.index import (
    Atom,
    FloorDiv,
    Index,
    Lookup,
    Max,
    Min,
    Mod,
    Var,
    as_index,
    map_atoms,
    maximum,
    minimum,
    rebuild_atom,
    variables,
)
from ago.ir.interned import KEPT
from ago.ir.nest import For
from ago.ir.value import Condition

Interval = tuple[int, int]
"""An inclusive range of integers."""

Ranges = Mapping[str, Interval]
"""Inclusive range of each loop variable, by loop name."""

Bounds = tuple[tuple[str, Index, Index], ...]
"""Name, first value and end of each of some nested loops, outermost first."""


def interval(index: Index, ranges: Ranges) -> Interval:
    """The smallest and largest value `index` can take, variables ranging independently.

    Raises:
        KeyError: A variable of `index` has no range.
    """
    low = high = index.const
    for atom, coefficient in index.terms:
        a, b = _atom_interval(atom, ranges)
        if coefficient >= 0:
            low, high = low + coefficient * a, high + coefficient * b
        else:
            low, high = low + coefficient * b, high + coefficient * a
    return low, high


def _atom_interval(atom: Atom, ranges: Ranges) -> Interval:
    match atom:
        case Var(name):
            return ranges[name]
        case Min(a, b):
            (a_low, a_high), (b_low, b_high) = interval(a, ranges), interval(b, ranges)
            return min(a_low, b_low), min(a_high, b_high)
        case Max(a, b):
            (a_low, a_high), (b_low, b_high) = interval(a, ranges), interval(b, ranges)
            return max(a_low, b_low), max(a_high, b_high)
        case FloorDiv(value, divisor):
            low, high = interval(value, ranges)
            return low // divisor, high // divisor
        case Mod(value, divisor):
            low, high = interval(value, ranges)
            if low // divisor == high // divisor:
                return low % divisor, high % divisor
            return 0, divisor - 1
        case Lookup(table, place):
            return table.interval(*interval(place, ranges))


def loop_interval(loop: For, ranges: Ranges) -> Interval:
    """The inclusive range of a loop's variable; `(lo, lo - 1)` or less when it never runs."""
    return interval(loop.lo, ranges)[0], interval(loop.hi, ranges)[1] - 1


def simplify(index: Index, ranges: Ranges) -> Index:
    """`index` with each min, max, // and % dropped that the ranges decide.

    Variables without a range are left alone, and so is every atom that contains one.
    """
    known = tuple([(name, ranges[name]) for name in variables(index) if name in ranges])
    return _simplify(index, known)


@lru_cache(maxsize=KEPT)
def _simplify(index: Index, known: tuple[tuple[str, Interval], ...]) -> Index:
    ranges = dict(known)
    fixed = {name: as_index(low) for name, (low, high) in known if low == high}
    if any(not isinstance(atom, Var) for atom, _ in index.terms):
        index = map_atoms(index, lambda atom: _simplify_atom(atom, ranges))
    if not fixed:
        return index
    return map_atoms(
        index,
        lambda atom: (isinstance(atom, Var) and fixed.get(atom.name)) or Index(((atom, 1),)),
    )


def _simplify_atom(atom: Atom, ranges: Ranges) -> Index:
    if isinstance(atom, Var):
        return Index(((atom, 1),))
    rebuilt = rebuild_atom(atom, lambda operand: simplify(operand, ranges))
    if len(rebuilt.terms) != 1 or not variables(rebuilt) <= ranges.keys():
        return rebuilt
    inner, coefficient = rebuilt.terms[0]
    decided = _decide(inner, ranges)
    return rebuilt if decided is None else decided * coefficient + rebuilt.const


def _decide(atom: Atom, ranges: Ranges) -> Index | None:
    match atom:
        case Min(a, b) | Max(a, b):
            low, high = interval(a - b, ranges)
            if high <= 0:
                return a if isinstance(atom, Min) else b
            if low >= 0:
                return b if isinstance(atom, Min) else a
        case FloorDiv(value, divisor):
            low, high = interval(value, ranges)
            if low // divisor == high // divisor:
                return Index((), low // divisor)
            return _coarser(value, divisor, ranges)
        case Mod(value, divisor):
            low, high = interval(value, ranges)
            if low // divisor == high // divisor:
                return value - (low // divisor) * divisor
    return None


def _coarser(value: Index, divisor: int, ranges: Ranges) -> Index | None:
    """`value // divisor` without the terms too small to matter: `(8 * x + i) // 16` is `x // 2`."""
    for step in sorted({math.gcd(c, divisor) for _, c in value.terms} - {1}, reverse=True):
        coarse = tuple((atom, c // step) for atom, c in value.terms if c % step == 0)
        fine = tuple((atom, c) for atom, c in value.terms if c % step)
        low, high = interval(Index(fine, value.const % step), ranges)
        if low >= 0 and high < step:
            return Index(coarse, value.const // step) // (divisor // step)
    return None


def extremes(index: Index, loops: Sequence[For]) -> tuple[Index, Index]:
    """Symbolic smallest and largest value of `index` while `loops` run.

    Args:
        index: An expression over the variables of `loops` and of loops outside them.
        loops: Nested loops, outermost first, to eliminate; all must run at least once.

    Returns:
        Inclusive bounds in the variables that remain.
    """
    return extremes_within(index, bounds_of(loops, variables(index)))


@lru_cache(maxsize=KEPT)
def extremes_within(index: Index, bounds: Bounds) -> tuple[Index, Index]:
    """`extremes` by the bounds of loops."""
    low = high = index
    for name, first, end in reversed(bounds):
        if name in variables(low) or name in variables(high):
            low = _extreme(low, name, first, end - 1, want_high=False)
            high = _extreme(high, name, first, end - 1, want_high=True)
    return low, high


def bounds_of(loops: Sequence[For], names: Iterable[str]) -> Bounds:
    """The bounds of those of nested loops on which some variables depend, themselves included."""
    wanted = set(names)
    found: list[tuple[str, Index, Index]] = []
    for loop in reversed(loops):
        if loop.name in wanted:
            found.append((loop.name, loop.lo, loop.hi))
            wanted |= variables(loop.lo)
            wanted |= variables(loop.hi)
    return tuple(reversed(found))


def _extreme(index: Index, name: str, first: Index, last: Index, *, want_high: bool) -> Index:
    """Bound `index` over `name` in `[first, last]` from above or below."""
    moving = [term for term in index.terms if name in variables(Index((term,)))]
    for atom, coefficient in moving if len(moving) > 1 else ():
        if isinstance(atom, Min | Max):
            return _extreme_of_branches(
                index, (atom, coefficient), name, first, last, want_high=want_high
            )
    result = Index((), index.const)
    for atom, coefficient in index.terms:
        up = want_high == (coefficient > 0)
        result = result + _extreme_atom(atom, name, first, last, want_high=up) * coefficient
    return result


def _extreme_of_branches(
    index: Index,
    term: tuple[Min | Max, int],
    name: str,
    first: Index,
    last: Index,
    *,
    want_high: bool,
) -> Index:
    """Bound an index whose min or max moves together with other terms, branch by branch.

    `2 * k + min(2, 3 - 2 * k)` is the smaller of `2 * k + 2` and 3.
    """
    atom, coefficient = term
    rest = index - Index((term,))
    together = Index(tuple(t for t in rest.terms if name in variables(Index((t,)))))
    branches = (
        _extreme(part * coefficient + together, name, first, last, want_high=want_high)
        for part in (atom.a, atom.b)
    )
    smaller = isinstance(atom, Min) == (coefficient > 0)
    return rest - together + (minimum(*branches) if smaller else maximum(*branches))


def _extreme_atom(atom: Atom, name: str, first: Index, last: Index, *, want_high: bool) -> Index:
    def inner(operand: Index) -> Index:
        return _extreme(operand, name, first, last, want_high=want_high)

    match atom:
        case Var(other):
            if other != name:
                return Index(((atom, 1),))
            return last if want_high else first
        case Min(a, b):
            return minimum(inner(a), inner(b))
        case Max(a, b):
            return maximum(inner(a), inner(b))
        case FloorDiv(value, divisor):
            return inner(value) // divisor
        case Mod(_, divisor):
            ends = (0, divisor - 1)
        case Lookup(table, _):
            ends = (min(table.entries), max(table.entries))
    whole = Index(((atom, 1),))
    return Index((), ends[want_high]) if name in variables(whole) else whole


def prove(condition: Index, ranges: Ranges, known: Condition = ()) -> bool | None:
    """Whether `condition >= 0` always holds (True), never holds (False), or depends (None).

    Args:
        condition: The index that must be at least 0.
        ranges: Ranges of the variables.
        known: Indices already known to be at least 0, from enclosing guards.
    """
    low, high = guarded_interval(condition, ranges, known)
    if low >= 0:
        return True
    if high < 0:
        return False
    return None


def guarded_interval(index: Index, ranges: Ranges, known: Condition) -> Interval:
    """`interval`, tightened by guards that share variables with `index`."""
    low = max(interval(form, ranges)[0] for form in lower_forms(index, known))
    high = min(-interval(form, ranges)[0] for form in lower_forms(-index, known))
    return low, high


def lower_forms(index: Index, known: Condition) -> Iterator[Index]:
    """Expressions that `index` is never below, given that every index of `known` is at least 0.

    Subtracting a multiple of a fact makes an expression smaller; multiples that cancel a variable
    may make its interval tighter. The first form is `index` itself.
    """
    yield index
    for position, fact in enumerate(known):
        coefficients = dict(fact.terms)
        factors = {c // coefficients[a] for a, c in index.terms if _divides(coefficients.get(a), c)}
        for factor in sorted(factors):
            yield from lower_forms(index - fact * factor, known[position + 1 :])


def _divides(coefficient: int | None, other: int) -> bool:
    return coefficient is not None and coefficient * other > 0 and other % coefficient == 0


def loop_ranges(loops: Sequence[For]) -> dict[str, Interval]:
    """The inclusive range of each loop's variable, from the outermost loop inwards.

    Raises:
        KeyError: A bound uses a variable of no loop outside it.
    """
    return ranges_within((loop.name, loop.lo, loop.hi) for loop in loops)


def ranges_within(bounds: Iterable[tuple[str, Index, Index]]) -> dict[str, Interval]:
    """`loop_ranges` by the bounds of loops."""
    ranges: dict[str, Interval] = {}
    for name, first, end in bounds:
        ranges[name] = interval(first, ranges)[0], interval(end, ranges)[1] - 1
    return ranges
