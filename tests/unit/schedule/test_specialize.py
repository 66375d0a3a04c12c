"""`specialize`: one test an iteration."""

import pytest

from ago.errors import ScheduleError
from ago.ir.examples import matmul, pad
from ago.ir.index import var
from ago.ir.program import Program
from ago.ir.value import Const, Load, Select
from ago.schedule.annotate import vectorize
from ago.schedule.compute_at import compute_at
from ago.schedule.reorder import reorder
from ago.schedule.specialize import specialize
from ago.schedule.split import split
from ago.schedule.store_at import store_at
from ago.schedule.tree import loop_names
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import buffers, convolution, stage


def test_one_guard_a_time() -> None:
    once = specialize(pad(4, 1), "P.y")
    assert (
        text(once)
        == """\
for y in range(6):
    if y >= 1:
        for x in range(6):
            P[y, x] = X[y - 1, x - 1] if y < 5 and x >= 1 and x < 5 else 0.0
    if y < 1:
        for x_else in range(6):
            P[y, x_else] = 0.0"""
    )
    twice = specialize(once, "P.y")
    assert len(loop_names(twice)) == len(set(loop_names(twice)))
    assert_keeps(pad(4, 1), once)
    assert_keeps(pad(4, 1), twice)


def test_a_guard_that_ranges_decide_needs_no_second_copy() -> None:
    y = var("P.y")
    value = Select((3 - y,), Load("X", (y, var("P.x"))), Const(0.0))
    made = buffers(X=("input", (4, 6)), P=("output", (4, 6)))
    program = Program.naive("decided", made, (stage("P", {"y": 4, "x": 6}, "P", value),))
    after = specialize(program, "P.y")
    assert loop_names(after) == ("P.y", "P.x")
    assert "if" not in text(after)
    assert_keeps(program, after)


def test_outer_after_inner() -> None:
    program = pad(3, 1)
    after = specialize(specialize(program, "P.x"), "P.y")
    assert_keeps(program, after)


def test_reduce_loop() -> None:
    program = convolution(4, 2, 2, 3, 1, 1, 1, 1, pad_stage=False)
    after = reorder(program, ["K.y", "K.x", "K.ky", "K.kx", "K.g", "K.o"])
    for loop in ("K.ky", "K.ky", "K.kx"):
        after = specialize(after, loop)
        assert_keeps(program, after)


def test_mask_inside_a_tile() -> None:
    program = matmul(7, 3, 4)
    after = split(program, "C.i", 4, "masked")
    after = reorder(after, ["C.i.0", "C.i.1", "C.j", "C.k"])
    after = specialize(after, "C.i.1")
    assert (
        text(after)
        == """\
for i_0, i_1 in grid(2, 4):
    if 4 * i_0 + i_1 < 7:
        for j in range(3):
            C[4 * i_0 + i_1, j] = 0.0
            for k in range(4):
                C[4 * i_0 + i_1, j] += A[4 * i_0 + i_1, k] * B[k, j]"""
    )
    assert_keeps(program, after)


def test_mask_at_the_start_is_tested_already() -> None:
    with pytest.raises(ScheduleError, match="no-guard"):
        specialize(split(matmul(3, 7, 4), "C.j", 4, "masked"), "C.j.1")


def test_rows_of_a_fused_pad_stage() -> None:
    program = convolution(5, 1, 3, 3, 1, 1, 1, 1, pad_stage=True)
    after = compute_at(compute_at(program, "K", "R.y"), "P", "R.y")
    after = specialize(store_at(after, "P", "R.y"), "P.y")
    assert_keeps(program, after)


def test_vector_loop_under_the_guard() -> None:
    program = pad(4, 1)
    assert_keeps(program, specialize(vectorize(program, "P.x"), "P.y"))
