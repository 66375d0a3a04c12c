"""`store_at`: a buffer shrinks to what one iteration touches."""

import pytest

from ago.ir.examples import chain, matmul
from ago.schedule.compute_at import compute_at
from ago.schedule.reorder import reorder
from ago.schedule.specialize import specialize
from ago.schedule.split import Tail, split
from ago.schedule.store_at import store_at
from tests.support.schedules import assert_keeps
from tests.support.subgraphs import convolution, pool


@pytest.mark.parametrize(
    ("loop", "shape"),
    [("M.y", (3, 5, 2)), ("M.x", (3, 3, 2)), ("M.c", (3, 3, 1)), ("M.kx", (1, 1, 1))],
)
def test_shape_is_the_window(loop: str, shape: tuple[int, ...]) -> None:
    program = pool(5, 2, 3, 2)
    after = store_at(compute_at(program, "E", loop), "E", loop, "stack")
    assert (after.buffer("E").shape, after.buffer("E").scope) == (shape, "stack")
    assert_keeps(program, after)


def test_outer_loop_keeps_the_rows_of_all_its_iterations() -> None:
    program = pool(5, 2, 3, 2)
    after = store_at(compute_at(program, "E", "M.x"), "E", "M.y")
    assert after.buffer("E").shape == (3, 5, 2)
    assert_keeps(program, after)


def test_shrinks_again_at_an_inner_loop() -> None:
    program = pool(5, 2, 3, 2)
    after = compute_at(program, "E", "M.x")
    after = store_at(store_at(after, "E", "M.y"), "E", "M.x")
    assert after.buffer("E").shape == (3, 3, 2)
    assert_keeps(program, after)


@pytest.mark.parametrize("tail", ["guard", "masked", "shift", "balance"])
def test_tile_of_any_tail_has_the_size_of_the_largest(tail: Tail) -> None:
    program = matmul(7, 4, 3, relu=True)
    after = compute_at(split(program, "R.i", 3, tail), "C", "R.i.0")
    after = store_at(after, "C", "R.i.0")
    assert after.buffer("C").shape == (3, 4)
    assert_keeps(program, after)


def test_guarded_reads_beyond_the_producer_get_room() -> None:
    program = convolution(4, 2, 1, 3, 1, 1, 1, 1, pad_stage=True)
    after = compute_at(program, "K", "R.y")
    after = compute_at(after, "P", "K.x")
    after = specialize(store_at(after, "P", "K.x", "stack"), "P.x")
    assert after.buffer("P").shape == (3, 3, 2)
    assert_keeps(program, after)


def test_loops_around_the_home_may_change_places() -> None:
    program = chain(3, 4)
    after = store_at(compute_at(program, "S", "R.j"), "S", "R.i")
    assert_keeps(program, reorder(after, ["R.j", "R.i"]))
