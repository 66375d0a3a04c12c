"""`fold_storage`: a window lives in a ring."""

import pytest

from ago.ir.define import define
from ago.ir.examples import smooth
from ago.ir.program import Program
from ago.schedule.compute_at import compute_at
from ago.schedule.fold_storage import fold_storage
from ago.schedule.peel import partition_loop
from ago.schedule.slide import slide
from ago.schedule.split import Tail, split
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import convolution, pool


def folded(program: Program) -> Program:
    after = slide(compute_at(program, "P", "S.y"), "P", "y", "S.y")
    return fold_storage(after, "P", 0, "S.y")


def test_ring_of_the_window() -> None:
    program = smooth(9, 3)
    after = folded(program)
    assert after.buffer("P").shape == (3, 3)
    assert "P[(P_y + S_y) % 3, P_x] = 2.0 * X[P_y + S_y, P_x]" in text(after)
    assert_keeps(program, after)


@pytest.mark.parametrize(("window", "stride"), [(2, 1), (3, 2), (4, 1), (5, 3)])
def test_windows_and_steps(window: int, stride: int) -> None:
    program = pool(9, 1, window, stride)
    after = compute_at(program, "E", "M.y")
    assert_keeps(program, fold_storage(after, "E", 0, "M.y"))
    after = fold_storage(slide(after, "E", "y", "M.y"), "E", 0, "M.y")
    assert after.buffer("E").shape == (window, 9, 1)
    assert_keeps(program, after)


def test_several_rings_in_one_loop() -> None:
    program = convolution(6, 1, 2, 3, 1, 1, 1, 1, pad_stage=True)
    after = compute_at(compute_at(program, "K", "R.y"), "P", "R.y")
    after = fold_storage(after, "K", 0, "R.y")
    after = fold_storage(slide(after, "P", "y", "R.y"), "P", 0, "R.y")
    assert after.buffer("K").shape[0] == 1
    assert after.buffer("P").shape[0] == 3
    assert_keeps(program, after)


@pytest.mark.parametrize("tail", ["guard", "masked", "balance"])
def test_loop_may_be_split_in_order(tail: Tail) -> None:
    program = smooth(9, 3)
    assert_keeps(program, split(folded(program), "S.y", 3, tail))


def test_loop_may_be_cut() -> None:
    program = smooth(9, 3)
    assert_keeps(program, partition_loop(folded(program), "S.y", 2, 5))


def test_a_window_that_moves_back_keeps_the_whole_dimension() -> None:
    text = "S[i, k] = 2 * x[i, k]; R[i, j] = S[i, 5 - j] + S[i, 4 - j]"
    program = define(text, {"x": (3, 6)}, extents={"j": 5})
    after = fold_storage(compute_at(program, "S", "R.j"), "S", 1, "R.j")
    assert after.buffer("S").shape == (3, 6)
    assert_keeps(program, after)
