"""Where the form of an index changes as one loop runs.

Read `kinks` and `crossings` first. Both solve for the loop variable instead of trying its values;
they return positions `p` such that something differs between iterations `p - 1` and `p`.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ago.ir.bounds import Interval, Ranges, interval
from ago.ir.index import FloorDiv, Index, Lookup, Max, Min, Mod, Var, variables

_MOST = 64
"""Breakpoints of one index and loop that are worth solving for."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What is known where an index stands.

    Attributes:
        loop: The serial loop that may be cut.
        ranges: Ranges of all variables, that loop's included.
        expanded: Unrolled and vector loops: each of their iterations is decided by itself.
        outer: Serial loops around `loop` that run more than once; indices that mix them with `loop`
            have no constant breakpoints.
    """

    loop: str
    ranges: Ranges
    expanded: AbstractSet[str]
    outer: AbstractSet[str]


def kinks(index: Index, scope: Scope) -> set[int]:
    """Breakpoints of the min, max, // and % in `index`, innermost first.

    An atom whose operands have breakpoints themselves is left for the time after those are cut.
    """
    found: set[int] = set()
    for atom, _ in index.terms:
        match atom:
            case Var():
                continue
            case Min(a, b) | Max(a, b):
                found |= kinks(a, scope) | kinks(b, scope) or crossings(_ties(atom), scope)
            case FloorDiv(value, divisor) | Mod(value, divisor):
                found |= kinks(value, scope) or _multiples(value, divisor, scope)
            case Lookup(_, place):
                found |= kinks(place, scope)
    return found


def steps(index: Index, scope: Scope) -> set[int]:
    """Breakpoints of an affine `index` that must not change: every iteration, if there are few."""
    coefficient, _ = _solve_for(index, scope)
    low, high = scope.ranges[scope.loop]
    if coefficient == 0 or high - low > _MOST:
        return set()
    return set(range(low + 1, high + 1))


def _ties(atom: Min | Max) -> Index:
    """An index whose sign tells the operands apart, ties on the side that does not vary."""
    difference = atom.a - atom.b
    first_is_fixed = not variables(atom.a)
    return difference - 1 if first_is_fixed == isinstance(atom, Min) else difference


def crossings(index: Index, scope: Scope) -> set[int]:
    """Breakpoints of `index >= 0`.

    Where other serial loops take part, only the ends of the stretches that are decided for all of
    their iterations; a cut of those loops decides the rest.
    """
    coefficient, rest = _solve_for(index, scope)
    if coefficient == 0:
        return set()
    low, high = scope.ranges[scope.loop]
    points = {_first_change(coefficient, value) for value in _attainable(rest, scope)}
    return {point for point in points if low < point <= high}


def _solve_for(index: Index, scope: Scope) -> tuple[int, Index]:
    """`(c, rest)` with `index == c * loop + rest`; `c` is 0 where that cannot be solved."""
    coefficient = index.coefficient(scope.loop)
    rest = index - Index(((Var(scope.loop), coefficient),)) if coefficient else index
    names = variables(rest)
    if scope.loop in names or names & scope.outer:
        return 0, rest
    return coefficient, rest


def _first_change(coefficient: int, rest: int) -> int:
    """The `p` where the truth of `coefficient * p + rest >= 0` changes."""
    if coefficient > 0:
        return -(rest // coefficient)
    return rest // -coefficient + 1


def _attainable(rest: Index, scope: Scope) -> set[int]:
    """Values of `rest` to decide one by one: all over expanded loops, else the two extremes."""
    names = variables(rest)
    extremes = set(interval(rest, scope.ranges))
    if not names <= scope.expanded or any(not isinstance(a, Var) for a, _ in rest.terms):
        return extremes
    values = {rest.const}
    for atom, coefficient in rest.terms:
        assert isinstance(atom, Var)
        low, high = scope.ranges[atom.name]
        values = {v + coefficient * k for v in values for k in range(low, high + 1)}
        if len(values) > _MOST:
            return extremes
    return values


def _multiples(value: Index, divisor: int, scope: Scope) -> set[int]:
    """Iterations at which `value // divisor` steps."""
    coefficient, rest = _solve_for(value, scope)
    if coefficient == 0 or not rest.is_constant:
        return set()
    low, high = scope.ranges[scope.loop]
    ends: Interval = interval(value, scope.ranges)
    steps = range(ends[0] // divisor + 1, ends[1] // divisor + 1)
    if len(steps) > _MOST:
        return set()
    points = {_first_change(coefficient, rest.const - step * divisor) for step in steps}
    return {point for point in points if low < point <= high}
