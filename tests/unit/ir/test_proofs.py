"""Proofs on the index forms that schedules produce."""

import pytest

from ago.ir.bounds import interval, loop_ranges
from ago.ir.index import maximum, minimum, var
from ago.ir.proofs import never_negative
from tests.support.programs import loop

X, Y = var("x"), var("y")


def test_a_bound_cancels_against_the_index():
    """A tile that is shifted to stay inside: intervals see `y - x` as any difference."""
    first = minimum(X * 4, 5)
    loops = (loop("x", 3), loop("y", first + 4, lo=first))
    ranges = loop_ranges(loops)
    assert interval(Y - first, ranges)[0] < 0
    assert never_negative(Y - first, loops)
    assert never_negative(first + 3 - Y, loops)
    assert not never_negative(first + 2 - Y, loops)


def test_divisions_are_enumerated_in_few_cases_only():
    few, many = (loop("x", 8),), (loop("x", 10_000),)
    same = X % 4 + (X // 4) * 4 - X
    assert never_negative(same, few)
    assert not never_negative(same, many)


@pytest.mark.parametrize("extent", [10, 100, 12_769])
def test_tails_of_splits_are_proved_to_stay_inside(extent):
    """Tiles of 7: the last one shorter, or tiles of two sizes that differ by one."""
    tiles = -(-extent // 7)
    size, longer = divmod(extent, tiles)
    for start, length in (
        (X * 7, minimum(7, extent - X * 7)),
        (X * size + minimum(X, longer), minimum(1, maximum(longer - X, 0)) + size),
    ):
        loops = (loop("x", tiles), loop("y", length))
        assert never_negative(extent - 1 - start - Y, loops)
        assert not never_negative(extent - 2 - start - Y, loops)


def test_groups_of_variables_are_minimised_apart():
    rows, columns = minimum(X, 3) + minimum(1, 3 - X), minimum(Y, 5) + minimum(2, 6 - Y)
    loops = (loop("x", 1000), loop("y", 1000))
    lowest = (3 - 996) + (5 - 993)
    assert never_negative(rows + columns - lowest, loops)
    assert not never_negative(rows + columns - lowest - 1, loops)


def test_a_guard_reaches_into_a_division():
    """`y < n` bounds `y // 4` and `-(y // 4)`, whatever `y` itself ranges over."""
    loops = (loop("x", 1000), loop("y", 1000))
    inside = (99 - 3 * X - Y,)
    assert never_negative(24 - Y // 4, loops, inside)
    assert not never_negative(23 - Y // 4, loops, inside)
    assert never_negative(Y // 4 - 25, loops, (Y - 100,))
    assert not never_negative(Y // 4 - 25, loops, (Y - 99,))


def test_each_branch_of_a_bound_is_proved_by_its_own_guard():
    """Where a window was clipped to a map, what a guarded load reads of it is inside."""
    loops = (loop("y", 1000), loop("x", 3))
    row = var("y") + var("x") - 1
    first, last = maximum(var("y") - 1, 0), minimum(var("y") + 1, 999)
    known = (row, 999 - row)
    assert never_negative(row - first, loops, known)
    assert never_negative(last - row, loops, known)
    assert not never_negative(last - row - 1, loops, known)


def test_branches_of_what_is_left_of_a_loop_are_proved_by_guards():
    """The rows between two places, of which a guard bounds one and a range the other."""
    low, high = minimum(X, Y), maximum(X, Y)
    loops = (loop("x", 4), loop("y", 3), loop("z", high - low + 1))
    assert never_negative(2 - low - var("z"), loops, (2 - X,))
    assert not never_negative(2 - low - var("z"), loops)
    assert not never_negative(1 - low - var("z"), loops, (2 - X,))
