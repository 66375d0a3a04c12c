"""`divide_axis`: blocks of a stage's own axis, further out than the axis was."""

import pytest

from ago.ir.examples import chain, pad
from ago.schedule.compute_at import compute_at
from ago.schedule.divide_axis import divide_axis
from ago.schedule.slide import slide
from ago.schedule.split import split
from ago.schedule.store_at import store_at
from ago.schedule.tree import loop_names
from tests.support.schedules import assert_keeps
from tests.support.subgraphs import convolution, pointwise


@pytest.mark.parametrize("factor", [1, 2, 3, 6])
@pytest.mark.parametrize("place", [0, 1])
def test_blocks_stand_at_their_place(factor: int, place: int) -> None:
    program = chain(4, 6)
    after = divide_axis(program, "R", "j", factor, place)
    order = ["R.j_o", "R.i", "R.j_i"] if place == 0 else ["R.i", "R.j_o", "R.j_i"]
    assert list(loop_names(after))[2:] == order
    assert_keeps(program, after)


def test_guards_follow() -> None:
    assert_keeps(pad(4, 1), divide_axis(pad(4, 1), "P", "x", 3))


def test_a_producer_is_computed_for_each_block() -> None:
    program = pointwise(4, 3, 6)
    after = compute_at(divide_axis(program, "R", "o", 3), "K", "R.o_o")
    after = store_at(after, "K", "R.o_o", "workspace")
    assert after.buffer("K").shape == (4, 4, 3)
    assert_keeps(program, after)
    assert_keeps(program, split(after, "R.o_i", 2, "guard"))


def test_windows_slide_from_block_to_block() -> None:
    program = convolution(6, 1, 2, 3, 1, 1, 1, 1, pad_stage=True)
    after = compute_at(divide_axis(program, "R", "y", 2), "K", "R.y_o")
    after = slide(compute_at(after, "P", "R.y_o"), "P", "y", "R.y_o")
    assert_keeps(program, after)
