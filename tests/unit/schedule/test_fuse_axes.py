"""`fuse_axes`: one loop instead of two, in the same order."""

from __future__ import annotations

import numpy as np
import pytest

from ago.ir.examples import depthwise, matmul
from ago.ir.interpreter import interpret
from ago.ir.verify import verify
from ago.schedule.annotate import unroll, vectorize
from ago.schedule.compute_at import compute_at
from ago.schedule.fuse_axes import fuse_axes
from ago.schedule.parallel import parallel
from ago.schedule.reorder import reorder
from ago.schedule.split import Tail, split
from ago.schedule.tree import loop_names
from tests.support.compiled import HOST_TARGETS, run_compiled
from tests.support.programs import integers
from tests.support.schedules import assert_keeps, text


def test_two_spatial_loops() -> None:
    program = matmul(4, 6, 5)
    after = fuse_axes(program, "C.i", "C.j")
    assert (
        text(after)
        == """\
for i_j in range(24):
    C[i_j // 6, i_j % 6] = 0.0
    for k in range(5):
        C[i_j // 6, i_j % 6] += A[i_j // 6, k] * B[k, i_j % 6]"""
    )
    assert_keeps(program, after)
    verify(after)


def test_two_reduce_loops() -> None:
    program = depthwise(3, 4, 2, 3)
    after = fuse_axes(program, "D.ky", "D.kx")
    assert loop_names(after) == ("D.y", "D.x", "D.c", "D.ky.kx")
    assert_keeps(program, reorder(after, ["D.ky.kx", "D.c"]))


def test_parts_of_a_split_loop_come_together_again() -> None:
    program = matmul(4, 6, 5)
    after = fuse_axes(split(program, "C.j", 3), "C.j.0", "C.j.1")
    assert loop_names(after) == ("C.i", "C.j.0.1", "C.k")
    assert_keeps(program, after)


def test_three_loops_in_two_steps() -> None:
    program = depthwise(3, 4, 2, 3)
    after = fuse_axes(fuse_axes(program, "D.x", "D.c"), "D.y", "D.x.c")
    assert loop_names(after) == ("D.y.c", "D.ky", "D.kx")
    assert_keeps(program, after)


@pytest.mark.parametrize("tail", ["guard", "masked", "shift", "balance"])
def test_fused_loop_is_split_and_shared_between_threads(tail: Tail) -> None:
    program = matmul(3, 5, 2)
    after = split(fuse_axes(program, "C.i", "C.j"), "C.i.j", 4, tail)
    assert_keeps(program, after)
    assert_keeps(program, parallel(fuse_axes(program, "C.i", "C.j"), "C.i.j"))


def test_fused_lanes() -> None:
    program = matmul(2, 3, 2)
    fused = fuse_axes(reorder(program, ["C.k", "C.i", "C.j"]), "C.i", "C.j")
    after = vectorize(fused, "C.i.j")
    verify(after)
    assert_keeps(program, after)


def test_after_its_producer_was_placed() -> None:
    program = matmul(4, 6, 5, relu=True)
    after = fuse_axes(compute_at(program, "C", "R.j"), "R.i", "R.j")
    assert loop_names(after) == ("R.i.j", "C.i", "C.j", "C.k")
    assert_keeps(program, after)


def test_loops_of_one_iteration() -> None:
    program = matmul(4, 1, 1)
    after = fuse_axes(program, "C.i", "C.j")
    assert_keeps(program, after)


@pytest.mark.parametrize("target", HOST_TARGETS)
def test_compiled(target: str) -> None:
    serial = parallel(fuse_axes(matmul(3, 5, 4), "C.i", "C.j"), "C.i.j")
    tiled = split(fuse_axes(matmul(3, 5, 4), "C.i", "C.j"), "C.i.j", 4, "shift")
    unrolled = unroll(tiled, "C.i.j.1")
    lanes = fuse_axes(reorder(matmul(3, 5, 4), ["C.k", "C.i", "C.j"]), "C.i", "C.j")
    for program in (serial, unrolled, vectorize(lanes, "C.i.j")):
        arrays = integers(program)
        (found,) = run_compiled([(program, arrays)], target)
        np.testing.assert_array_equal(found, interpret(program, arrays)["C"])
