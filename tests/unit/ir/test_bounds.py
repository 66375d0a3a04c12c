"""Bounds on the forms that schedules produce, with the exact figures."""

import pytest

from ago.ir.bounds import (
    extremes,
    guarded_interval,
    interval,
    loop_interval,
    loop_ranges,
    prove,
    simplify,
)
from ago.ir.index import as_index, maximum, minimum, var
from tests.support.programs import loop

X, Y = var("x"), var("y")
RANGES = {"x": (0, 7), "y": (-3, 4)}


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (X * 2 - Y + 1, (-3, 18)),
        (minimum(X, Y), (-3, 4)),
        (maximum(X, Y), (0, 7)),
        (minimum(X * 4, 20), (0, 20)),
        (X // 3, (0, 2)),
        (Y // 3, (-1, 1)),
        (X % 16, (0, 7)),
        (X % 5, (0, 4)),
        ((X + 16) % 8, (0, 7)),
    ],
)
def test_intervals(index, expected):
    assert interval(index, RANGES) == expected


def test_an_interval_needs_every_range():
    with pytest.raises(KeyError):
        interval(X + var("z"), RANGES)


def test_the_range_of_a_loop_follows_from_those_around_it():
    assert loop_interval(loop("z", X + 4, lo=X), RANGES) == (0, 10)
    assert loop_interval(loop("z", 0), RANGES) == (0, -1)
    loops = (loop("a", 3), loop("b", var("a") * 2 + 2, lo=var("a") * 2))
    assert loop_ranges(loops) == {"a": (0, 2), "b": (0, 5)}


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (minimum(X, 7), X),
        (minimum(X, 6), minimum(X, 6)),
        (maximum(Y, X + 4), X + 4),
        (X % 8, X),
        ((X + 8) % 8 + 1, X + 1),
        (X // 8, as_index(0)),
        ((X + Y * 8) // 8, Y),
        (minimum(maximum(X, 0), 9) * 2, X * 2),
        (minimum(X, var("z")), minimum(X, var("z"))),
    ],
)
def test_simplify_drops_what_the_ranges_decide(index, expected):
    assert simplify(index, RANGES) == expected


def test_simplify_replaces_variables_of_one_value():
    assert simplify(X + minimum(Y, var("z")), {"x": (5, 5), "z": (2, 2)}) == minimum(Y, 2) + 5


def test_extremes_leave_the_outer_loops():
    inner = (loop("y", X * 4 + 4, lo=X * 4), loop("k", 3))
    assert extremes(Y * 2 + var("k") - 1, inner) == (X * 8 - 1, X * 8 + 7)
    assert extremes(-Y, inner) == (X * -4 - 3, X * -4)
    assert extremes(Y % 3, inner) == (as_index(0), as_index(2))
    assert extremes(minimum(Y, 9), inner) == (minimum(X * 4, 9), minimum(X * 4 + 3, 9))
    assert extremes(X, inner) == (X, X)


@pytest.mark.parametrize(
    ("index", "known", "expected"),
    [
        (X - 1, (X - 3,), (2, 6)),
        (X, (5 - X,), (0, 5)),
        (X * 2 + 1, (5 - X, X - 2), (5, 11)),
        (X + Y, (3 - X - Y,), (-3, 3)),
        (X * 3 + Y, (2 - X,), (-3, 10)),
        (X, (5 - Y,), (0, 7)),
        (X + Y * 8, (5 - X, 2 - Y), (-24, 21)),
    ],
)
def test_guards_tighten_intervals(index, known, expected):
    assert guarded_interval(index, RANGES, known) == expected


def test_prove():
    assert prove(X, RANGES) is True
    assert prove(X - 8, RANGES) is False
    assert prove(X - 1, RANGES) is None
    assert prove(X - 1, RANGES, (X - 1,)) is True
    assert prove(X - 5, RANGES, (3 - X,)) is False
