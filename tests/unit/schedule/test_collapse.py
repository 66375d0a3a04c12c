"""`collapse`: two axes and the dimensions of all buffers that they reach."""

from ago.ir.examples import chain
from ago.schedule.collapse import collapse
from ago.schedule.round_axis import round_axis
from ago.schedule.split import split
from ago.schedule.tree import loop_names
from tests.support.schedules import assert_keeps
from tests.support.subgraphs import pointwise


def test_follows_the_buffers() -> None:
    program = chain(4, 6)
    after = collapse(program, "R", "i", "j")
    assert loop_names(after) == ("S.ij", "R.ij")
    assert {b.name: b.shape for b in after.buffers} == {"x": (24,), "R": (24,), "S": (24,)}
    assert_keeps(program, after)
    assert collapse(program, "S", "i", "j") == after


def test_pixels_of_a_pointwise_convolution() -> None:
    program = pointwise(3, 2, 5)
    after = collapse(program, "R", "y", "x")
    assert loop_names(after)[0] == "K.yx"
    assert after.buffer("X").shape == (9, 2)
    assert after.buffer("W") == program.buffer("W")
    assert_keeps(program, after)
    assert_keeps(program, split(after, "R.yx", 4, "shift"))


def test_rounds_afterwards() -> None:
    program = chain(3, 5)
    after = round_axis(collapse(program, "R", "i", "j"), "R", "ij", 8)
    assert after.buffer("S").shape == (16,)
    assert_keeps(program, after)
