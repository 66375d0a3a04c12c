"""Values of which there is one object each."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from dataclasses import dataclass

import pytest

from ago.ir.index import Index, lookup, maximum, minimum, var
from ago.ir.interned import Interned

X, Y = var("x"), var("y")
EXPRESSIONS = [X, 3 * X - Y + 1, minimum(X, Y), maximum(X // 3, Y % 4), lookup((4, 2, 4), X)]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Point(metaclass=Interned):
    x: int
    y: int = 0


def test_equal_values_are_one_object_and_others_are_not():
    assert Point(1) is Point(1, 0)
    assert Point(1) != Point(1, 2)
    assert len({Point(1), Point(1, 0), Point(2)}) == 2


def test_a_value_is_forgotten_with_its_last_user():
    kept = Point(12345)
    assert (12345, 0) in Point._known
    del kept
    gc.collect()
    assert (12345, 0) not in Point._known


@pytest.mark.parametrize("index", EXPRESSIONS, ids=str)
def test_copies_and_pickles_are_the_same_object(index: Index):
    assert copy.copy(index) is index
    assert copy.deepcopy(index) is index
    assert pickle.loads(pickle.dumps(index)) is index


def test_expressions_made_in_several_ways_are_one_object():
    assert 2 * (X + Y) - Y is X + X + Y
    assert minimum(X, Y) is minimum(Y, X)
    assert (8 * X + 8) // 8 is X + 1


@pytest.mark.parametrize("number", [1.0, True])
def test_only_whole_numbers_become_part_of_an_index(number: float):
    """`1 == 1.0 == True`: the first to come would stand for all of them."""
    with pytest.raises(TypeError, match="whole numbers"):
        Index(((X.terms[0][0], 7919), (Y.terms[0][0], number)), 7919)


def test_threads_make_one_object():
    made: list[Index] = []
    barrier = threading.Barrier(4)

    def make() -> None:
        barrier.wait()
        made.extend(var(f"thread{n}") * 3 + n for n in range(500))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 500
