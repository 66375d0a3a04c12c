"""`decompose_reduction`: where a reduction starts."""

from __future__ import annotations

import pytest

from ago.ir.examples import depthwise, matmul
from ago.ir.verify import verify
from ago.schedule.annotate import unroll, vectorize
from ago.schedule.compute_at import compute_at
from ago.schedule.decompose_reduction import decompose_reduction
from ago.schedule.peel import partition_loop
from ago.schedule.reorder import reorder
from ago.schedule.split import split
from ago.schedule.tree import loop_names
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import convolution, pool, two_matmuls


@pytest.mark.parametrize("loop", ["C.i", "C.j", "C.k"])
def test_in_front_of_any_loop(loop: str) -> None:
    program = matmul(3, 4, 5)
    after = decompose_reduction(program, "C", loop)
    verify(after)
    assert_keeps(program, after)


def test_in_front_of_everything() -> None:
    after = decompose_reduction(matmul(3, 4, 5), "C", "C.i")
    assert (
        text(after)
        == """\
for i_init, j_init in grid(3, 4):
    C[i_init, j_init] = 0.0
for i, j, k in grid(3, 4, 5):
    C[i, j] += A[i, k] * B[k, j]"""
    )


def test_tail_and_lanes_inside_the_reduction() -> None:
    program = matmul(3, 7, 5)
    tiled = reorder(split(program, "C.j", 4, "guard"), ["C.k", "C.i", "C.j.0", "C.j.1"])
    after = decompose_reduction(vectorize(tiled, "C.j.1"), "C", "C.k")
    assert loop_names(after)[:3] == ("C.i.init", "C.j.0.init", "C.j.1.init")
    assert_keeps(program, after)


def test_initialisation_is_scheduled_by_itself() -> None:
    program = matmul(3, 4, 5)
    after = decompose_reduction(program, "C", "C.i")
    after = vectorize(unroll(after, "C.i.init"), "C.j.init")
    after = partition_loop(reorder(after, ["C.k", "C.i", "C.j"]), "C.k", 1, 4)
    verify(after)
    assert_keeps(program, after)


def test_max() -> None:
    program = pool(5, 2, 3, 2)
    after = decompose_reduction(compute_at(program, "E", "M.y"), "M", "M.x")
    verify(after)
    assert_keeps(program, after)


def test_with_a_bias_that_a_stage_computes() -> None:
    program = two_matmuls(2, 3, 4, 5)
    after = decompose_reduction(compute_at(program, "H", "D.i"), "D", "D.q")
    assert_keeps(program, after)


def test_several_axes_of_one_dimension() -> None:
    program = convolution(5, 2, 3, 3, 1, 1, 1, 2, pad_stage=True)
    assert_keeps(program, decompose_reduction(program, "K", "K.y"))


def test_reduce_loops_outside_one_another() -> None:
    program = depthwise(3, 4, 2, 3)
    after = decompose_reduction(reorder(program, ["D.ky", "D.y", "D.x", "D.c"]), "D", "D.ky")
    assert_keeps(program, after)
