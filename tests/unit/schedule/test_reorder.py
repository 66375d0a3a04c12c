"""`reorder`: any order of perfectly nested loops that accumulates each element once."""

from itertools import permutations

import pytest

from ago.errors import ScheduleError
from ago.ir.examples import matmul
from ago.schedule.annotate import vectorize
from ago.schedule.compute_at import compute_at
from ago.schedule.reorder import reorder
from ago.schedule.split import Tail, split
from ago.schedule.tree import find_loop, loop_names
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import pool, two_matmuls


@pytest.mark.parametrize("order", list(permutations(["C.i", "C.j", "C.k"])))
def test_any_order_of_a_matmul(order: tuple[str, ...]) -> None:
    program = matmul(3, 4, 5)
    after = reorder(program, order)
    assert loop_names(after) == order
    assert_keeps(program, after)


def test_unnamed_loops_keep_their_places() -> None:
    assert loop_names(reorder(matmul(3, 4, 5), ["C.k", "C.i"])) == ("C.k", "C.j", "C.i")


def test_no_loops_is_no_change() -> None:
    program = matmul(3, 4, 5)
    assert reorder(program, []) is program


def test_guards_move_inside() -> None:
    after = reorder(split(matmul(4, 6, 5), "C.j", 4, "masked"), ["C.j.1", "C.j.0", "C.k"])
    assert (
        text(after)
        == """\
for i, j_1, j_0 in grid(4, 4, 2):
    if 4 * j_0 + j_1 < 6:
        C[i, 4 * j_0 + j_1] = 0.0
    for k in range(5):
        if 4 * j_0 + j_1 < 6:
            C[i, 4 * j_0 + j_1] += A[i, k] * B[k, 4 * j_0 + j_1]"""
    )


@pytest.mark.parametrize("tail", ["guard", "masked", "balance"])
@pytest.mark.parametrize("extent", [7, 12544])
def test_reduce_loop_outside_tiles_that_do_not_overlap(tail: Tail, extent: int) -> None:
    order = ["C.k", "C.i.0", "C.i.1", "C.j"]
    after = reorder(split(matmul(extent, 2, 3), "C.i", 5, tail), order)
    assert loop_names(after) == ("C.k", "C.i.0", "C.i.1", "C.j")
    small = matmul(7, 2, 3)
    assert_keeps(small, reorder(split(small, "C.i", 5, tail), order))


def test_reduce_loop_outside_one_part_of_a_shifted_loop() -> None:
    program = matmul(7, 2, 3)
    tiled = split(program, "C.i", 5, "shift")
    for order in (["C.i.0", "C.k", "C.i.1"], ["C.i.1", "C.k", "C.i.0"]):
        assert_keeps(program, reorder(tiled, order))
    with pytest.raises(ScheduleError, match="reorder-accumulates"):
        reorder(tiled, ["C.k", "C.i.0", "C.i.1"])


def test_shifted_loop_already_inside_the_reduction_stays_refused_for_good_only() -> None:
    program = matmul(7, 2, 3)
    tiled = reorder(split(program, "C.i", 5, "shift"), ["C.i.0", "C.k", "C.i.1"])
    assert_keeps(program, reorder(tiled, ["C.k", "C.i.1", "C.j"]))


def test_producers_inside_run_in_any_order() -> None:
    program = pool(5, 2, 3, 1)
    after = reorder(compute_at(program, "E", "M.c"), ["M.c", "M.y", "M.x"])
    assert loop_names(after)[:3] == ("M.c", "M.y", "M.x")
    assert_keeps(program, after)


def test_producer_at_a_reduce_loop() -> None:
    program = two_matmuls(2, 3, 4, 5)
    after = compute_at(program, "R", "D.j")
    assert_keeps(program, reorder(after, ["D.j", "D.i", "D.q"]))


def test_vector_loop_may_stay_innermost() -> None:
    program = matmul(3, 4, 5)
    after = vectorize(reorder(program, ["C.k", "C.j"]), "C.j")
    moved = reorder(after, ["C.k", "C.i", "C.j"])
    assert find_loop(moved, "C.j").kind == "vector"
    assert_keeps(program, moved)
