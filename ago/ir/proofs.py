"""Proofs that an index is never negative, where intervals are too coarse.

Read `never_negative` first. It is sound and not complete: True is a proof, False is none.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ago.ir.bounds import (
    Bounds,
    Ranges,
    bounds_of,
    extremes_within,
    interval,
    lower_forms,
    ranges_within,
)
from ago.ir.index import FloorDiv, Index, Lookup, Max, Min, Mod, Var, evaluate, variables
from ago.ir.interned import KEPT
from ago.ir.nest import For
from ago.ir.value import Condition

_MOST_CASES = 512
"""How many assignments of variables are enumerated at most."""

_Line = tuple[int, int]
"""Slope and offset of an affine function of one variable."""


def never_negative(index: Index, loops: Sequence[For], known: Condition = ()) -> bool:
    """Whether `index >= 0` is proved wherever `loops` run and `known` holds.

    Where intervals fail, loops are eliminated from the inside by their own bounds, so that a bound
    cancels against the index; what is left is minimised exactly over each group of variables that
    occur together, as far as that takes few cases. Else each branch of a min or max is proved
    by itself, and a division is multiplied out, of the index or of what was eliminated from it.

    Args:
        index: The expression; all its variables belong to `loops`.
        loops: Enclosing loops, outermost first.
        known: Indices that are at least 0 here.

    Returns:
        True if proved; False if not, which is no proof of the contrary.
    """
    if not index.terms:
        return index.const >= 0
    names = variables(index).union(*map(variables, known))
    return never_negative_within(index, bounds_of(loops, names), known)


@lru_cache(maxsize=KEPT)
def never_negative_within(index: Index, bounds: Bounds, known: Condition = ()) -> bool:
    """`never_negative` by the bounds of loops."""
    ranges = ranges_within(bounds)
    forms = list(lower_forms(index, known))
    if any(interval(form, ranges)[0] >= 0 for form in forms):
        return True
    if any(
        _lowest(eliminated, ranges) >= 0
        for form in forms
        for eliminated in _eliminations(form, bounds)
    ):
        return True
    return any(
        all(never_negative_within(branch, bounds, known) for branch in branches)
        for eliminated in _eliminations(index, bounds)
        if (branches := _branches(eliminated))
    )


def first_outside(
    index: tuple[Index, ...], shape: tuple[int, ...], loops: Sequence[For], known: Condition = ()
) -> int | None:
    """The first dimension in which an element is not proved to exist; None where it always does.

    Args:
        index: One index for each dimension; all variables belong to `loops`.
        shape: The buffer's extents.
        loops: Enclosing loops, outermost first.
        known: Indices that are at least 0 here.
    """
    names = frozenset().union(*map(variables, index), *map(variables, known))
    return _first_outside(index, shape, bounds_of(loops, names), known)


@lru_cache(maxsize=KEPT)
def _first_outside(
    index: tuple[Index, ...], shape: tuple[int, ...], bounds: Bounds, known: Condition
) -> int | None:
    for dimension, (part, extent) in enumerate(zip(index, shape, strict=True)):
        for gap in (part, extent - 1 - part):
            if not never_negative_within(gap, bounds, known):
                return dimension
    return None


def _branches(index: Index) -> tuple[Index, ...]:
    """Indices that are all at least 0 just where `index` is, with one atom less; or none."""
    for atom, factor in index.terms:
        if isinstance(atom, FloorDiv) and abs(factor) == 1:
            rest = (index - Index(((atom, factor),))) * atom.divisor
            return (rest + atom.value if factor > 0 else rest + atom.divisor - 1 - atom.value,)
        if isinstance(atom, Min | Max) and isinstance(atom, Min) == (factor > 0):
            rest = index - Index(((atom, factor),))
            return rest + atom.a * factor, rest + atom.b * factor
    return ()


def _eliminations(index: Index, bounds: Bounds) -> Iterator[Index]:
    """Lower bounds of `index` with none, then more and more of its loops eliminated."""
    yield index
    for bound in reversed(bounds):
        if bound[0] in variables(index):
            index, _ = extremes_within(index, (bound,))
            yield index


def _lowest(index: Index, ranges: Ranges) -> int:
    """A lower bound of `index`, its variables ranging independently; exact where that is cheap."""
    return index.const + sum(_lowest_of_group(group, ranges) for group in _groups(index))


def _groups(index: Index) -> list[Index]:
    """The terms of `index` as sums that have no variable in common."""
    groups: list[Index] = []
    for term in index.terms:
        group = Index((term,))
        apart: list[Index] = []
        for other in groups:
            if variables(other) & variables(group):
                group = group + other
            else:
                apart.append(other)
        groups = [*apart, group]
    return groups


def _lowest_of_group(group: Index, ranges: Ranges) -> int:
    if all(isinstance(atom, Var) for atom, _ in group.terms):
        return interval(group, ranges)[0]
    names = sorted(variables(group))
    if len(names) == 1 and not _has_division(group):
        low, high = ranges[names[0]]
        _, breaks = _pieces(group)
        domains: list[Sequence[int]] = [[low, high, *(b for b in breaks if low < b < high)]]
    else:
        domains = [range(ranges[name][0], ranges[name][1] + 1) for name in names]
    if math.prod(map(len, domains)) > _MOST_CASES:
        return interval(group, ranges)[0]
    cases = itertools.product(*domains)
    values = (evaluate(group, dict(zip(names, case, strict=True))) for case in cases)
    return min(values, default=interval(group, ranges)[0])


def _has_division(index: Index) -> bool:
    for atom, _ in index.terms:
        match atom:
            case FloorDiv() | Mod() | Lookup():
                return True
            case Var():
                continue
            case _ if _has_division(atom.a) or _has_division(atom.b):
                return True
    return False


def _pieces(index: Index) -> tuple[set[_Line], set[int]]:
    """What a piecewise affine function of one variable is made of.

    Returns:
        The lines it may follow, and the integers beside the points where it may turn: between two
        neighbouring ones it is affine, so that its smallest value is at one of them.
    """
    lines: set[_Line] = {(0, index.const)}
    breaks: set[int] = set()
    for atom, coefficient in index.terms:
        own: set[_Line] = {(1, 0)}
        if not isinstance(atom, Var | FloorDiv | Mod | Lookup):
            (first, left), (second, right) = _pieces(atom.a), _pieces(atom.b)
            breaks |= left | right
            for (slope, offset), (other, at) in itertools.product(first, second):
                if slope != other:
                    crossing = (at - offset) // (slope - other)
                    breaks |= {crossing, crossing + 1}
            own = first | second
        lines = {
            (slope + coefficient * other, offset + coefficient * at)
            for slope, offset in lines
            for other, at in own
        }
    return lines, breaks
