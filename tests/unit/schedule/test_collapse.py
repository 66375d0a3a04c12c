"""`collapse`: two axes and the dimensions of all buffers that they reach."""

import pytest

from ago.errors import ScheduleError
from ago.ir.examples import chain
from ago.ir.index import var
from ago.ir.program import Program
from ago.ir.value import Call, Load
from ago.schedule.collapse import collapse
from ago.schedule.round_axis import round_axis
from ago.schedule.split import split
from ago.schedule.tree import loop_names
from tests.support.schedules import assert_keeps
from tests.support.subgraphs import ZERO, buffers, pointwise, stage


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


def pooled(reduce: tuple[str, ...]) -> Program:
    """A map whose negative elements are cut off, and its sums over some of its axes."""
    clip = {"y": 3, "x": 5, "c": 2}
    kept = tuple(n for a, n in clip.items() if a not in reduce)
    shapes = buffers(X=("input", (3, 5, 2)), R=("workspace", (3, 5, 2)), S=("output", kept))
    loads = [Load(b, tuple(var(f"{s}.{a}") for a in clip)) for b, s in (("X", "R"), ("R", "S"))]
    return Program.naive(
        "pooled",
        shapes,
        (
            stage("R", clip, "R", Call("max", (ZERO, loads[0]))),
            stage("S", clip, "S", loads[1], function="add", init=ZERO, reduce=reduce),
        ),
    )


def test_both_axes_of_a_sum() -> None:
    program = pooled(("y", "x"))
    after = collapse(program, "R", "y", "x")
    assert loop_names(after) == ("R.yx", "R.c", "S.yx", "S.c")
    assert after.stage("S").axis("yx").kind == "reduce"
    assert_keeps(program, after)


def test_one_axis_of_a_sum_is_refused() -> None:
    with pytest.raises(ScheduleError, match="one of y and x only"):
        collapse(pooled(("x",)), "R", "y", "x")
