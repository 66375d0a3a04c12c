"""Indices fold what is constant and refuse what is not affine."""

import pytest

from ago.ir.index import (
    FloorDiv,
    Index,
    Max,
    Min,
    Mod,
    Var,
    as_index,
    evaluate,
    maximum,
    minimum,
    substitute,
    var,
    variables,
)

x, y = var("x"), var("y")


def test_sums_collect_terms():
    assert x + y + x - 3 == Index(((Var("x"), 2), (Var("y"), 1)), -3)
    assert (x - x).is_constant
    assert 2 * x - x * 2 == Index()
    assert 5 - x == Index(((Var("x"), -1),), 5)
    assert 1 + x == x + 1


def test_division_and_remainder_take_multiples_out():
    assert (x * 8 + y + 17) // 8 == x + Index(((FloorDiv(y + 1, 8), 1),), 2)
    assert (x * 8 + y + 17) % 8 == Index(((Mod(y + 1, 8), 1),))
    assert (x * 8 + 17) // 8 == x + 2
    assert as_index(-1) // 4 == as_index(-1)
    assert as_index(-1) % 4 == as_index(3)
    assert x // 1 == x
    assert x % 1 == Index()


@pytest.mark.parametrize("divisor", [0, -1])
def test_divisors_are_positive(divisor):
    with pytest.raises(ValueError, match="positive constant"):
        x // divisor
    with pytest.raises(ValueError, match="positive constant"):
        x % divisor


def test_minimum_and_maximum_fold_where_the_difference_is_known():
    assert minimum(x, x + 1) == x
    assert maximum(x, x + 1) == x + 1
    assert minimum(3, 5) == as_index(3)
    assert minimum(y, x) == Index(((Min(x, y), 1),))
    assert maximum(y, x) == Index(((Max(x, y), 1),))


def test_substitution_folds_and_reaches_inside_atoms():
    index = minimum(x, 5) + y % 4
    assert substitute(index, {"x": as_index(7)}) == y % 4 + 5
    assert substitute(index, {"y": y * 4}) == minimum(x, 5)
    assert substitute(x + y, {"x": y, "y": x}) == x + y
    assert substitute(x - y, {"x": y, "y": x}) == y - x
    assert substitute(index, {"z": x}) is index


def test_variables_and_coefficients():
    index = x * 3 + minimum(y, 4) + var("z") // 2
    assert variables(index) == {"x", "y", "z"}
    assert index.coefficient("x") == 3
    assert index.coefficient("y") == 0
    assert evaluate(index, {"x": 1, "y": 9, "z": 5}) == 9
    with pytest.raises(KeyError):
        evaluate(index, {"x": 1})
