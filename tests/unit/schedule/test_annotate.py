"""`unroll` and `vectorize` mark a loop and change nothing else."""

import pytest

from ago.ir.examples import chain, depthwise, matmul
from ago.ir.program import Program
from ago.schedule.annotate import unroll, vectorize
from ago.schedule.reorder import reorder
from ago.schedule.split import Tail, split
from ago.schedule.tree import find_loop
from tests.support.schedules import assert_keeps, text


def test_unroll_marks_the_loop() -> None:
    after = unroll(matmul(2, 3, 4), "C.k")
    assert find_loop(after, "C.k").kind == "unrolled"
    assert "for k in range(4):  # unrolled" in text(after)
    assert_keeps(matmul(2, 3, 4), after)


@pytest.mark.parametrize("tail", ["guard", "masked", "shift", "balance"])
def test_lanes_of_an_elementwise_tail(tail: Tail) -> None:
    program = chain(3, 7)
    after = vectorize(split(program, "R.j", 4, tail), "R.j.1")
    assert find_loop(after, "R.j.1").kind == "vector"
    assert_keeps(program, after)


@pytest.mark.parametrize("program", [matmul(3, 7, 4)])
def test_lanes_inside_a_reduction(program: Program) -> None:
    after = split(program, "C.j", 4, "masked")
    after = vectorize(reorder(after, ["C.k", "C.j.1"]), "C.j.1")
    assert_keeps(program, after)


def test_lanes_of_channels() -> None:
    program = depthwise(3, 3, 5, 2)
    after = split(program, "D.c", 2, "guard")
    after = vectorize(reorder(after, ["D.ky", "D.kx", "D.c.1"]), "D.c.1")
    assert_keeps(program, after)
