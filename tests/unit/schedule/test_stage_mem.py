"""`stage_mem`: a tile is copied in, worked on, and copied out."""

from __future__ import annotations

import numpy as np
import pytest

from ago.errors import ScheduleError
from ago.ir.examples import matmul, pad
from ago.ir.interpreter import interpret
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.schedule.annotate import unroll, vectorize
from ago.schedule.compute_at import compute_at
from ago.schedule.decompose_reduction import decompose_reduction
from ago.schedule.parallel import parallel
from ago.schedule.reorder import reorder
from ago.schedule.slide import slide
from ago.schedule.split import Tail, split
from ago.schedule.stage_mem import stage_mem
from ago.schedule.tree import loop_names
from tests.support.compiled import HOST_TARGETS, run_compiled
from tests.support.programs import integers
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import convolution, pool


def partial_sums(tail: Tail = "exact", columns: int = 8) -> Program:
    """A matmul blocked along k; in each block the sums of a tile are in registers."""
    program = split(split(matmul(2, columns, 6), "C.k", 3), "C.j", 4, tail)
    program = reorder(program, ["C.k.0", "C.i", "C.j.0", "C.k.1", "C.j.1"])
    program = decompose_reduction(program, "C", "C.k.0")
    return stage_mem(program, "C", "C.k.1", "register")


def test_partial_sums() -> None:
    assert (
        text(partial_sums())
        == """\
for i_init, j_0_init, j_1_init in grid(2, 2, 4):
    C[i_init, 4 * j_0_init + j_1_init] = 0.0
for k_0, i, j_0 in grid(2, 2, 2):
    for in_d0, in_d1 in grid(1, 4):
        C_tile[in_d0, in_d1] = C[i + in_d0, in_d1 + 4 * j_0]
    for k_1, j_1 in grid(3, 4):
        C_tile[0, j_1] += A[i, 3 * k_0 + k_1] * B[3 * k_0 + k_1, 4 * j_0 + j_1]
    for out_d0, out_d1 in grid(1, 4):
        C[i + out_d0, 4 * j_0 + out_d1] = C_tile[out_d0, out_d1]"""
    )


@pytest.mark.parametrize("tail", ["exact", "guard", "balance"])
def test_partial_sums_keep_the_result(tail: Tail) -> None:
    columns = 8 if tail == "exact" else 7
    after = partial_sums(tail, columns)
    assert after.buffer("C_tile").shape == (1, 4)
    assert_keeps(matmul(2, columns, 6), after)


def test_whole_reduction_is_only_copied_out() -> None:
    program = matmul(3, 4, 5)
    after = stage_mem(program, "C", "C.j")
    assert loop_names(after) == ("C.i", "C.j", "C.k", "C_tile.out.d0", "C_tile.out.d1")
    verify(after)
    assert_keeps(program, after)


def test_operand_is_only_copied_in() -> None:
    program = reorder(split(matmul(3, 8, 5), "C.j", 4), ["C.j.0", "C.i"])
    after = stage_mem(program, "B", "C.i")
    assert after.buffer("B_tile").shape == (5, 4)
    assert loop_names(after)[:3] == ("C.j.0", "B_tile.in.d0", "B_tile.in.d1")
    verify(after)
    assert_keeps(matmul(3, 8, 5), after)


@pytest.mark.parametrize("loop", ["P.y", "P.x"])
def test_border_is_not_copied(loop: str) -> None:
    program = pad(4, 1)
    after = stage_mem(program, "X", loop)
    verify(after)
    assert_keeps(program, after)


def test_windows_of_an_intermediate_map() -> None:
    program = pool(5, 2, 3, 1)
    after = stage_mem(program, "E", "M.x")
    assert after.buffer("E_tile").shape == (3, 5, 2)
    verify(after)
    assert_keeps(program, after)


def test_dilated_rows() -> None:
    program = convolution(5, 2, 2, 2, 2, 2, 1, 1, pad_stage=False)
    after = stage_mem(program, "X", "K.ky", "workspace")
    assert_keeps(program, after)


def test_a_tile_for_each_parallel_row() -> None:
    program = matmul(3, 4, 5)
    after = parallel(stage_mem(program, "C", "C.j"), "C.i")
    verify(after)
    assert_keeps(program, after)


def test_two_tiles_of_one_buffer() -> None:
    program = matmul(3, 4, 5)
    after = stage_mem(stage_mem(program, "A", "C.i"), "A", "A_tile.in.d1")
    assert [b.name for b in after.buffers][3:] == ["A_tile", "A_tile2"]
    assert_keeps(program, after)


@pytest.mark.parametrize("target", HOST_TARGETS)
def test_partial_sums_in_registers(target: str) -> None:
    program = partial_sums()
    for loop in ("C_tile.in.d0", "C_tile.out.d0"):
        program = unroll(program, loop)
    for loop in ("C_tile.in.d1", "C.j.1", "C_tile.out.d1"):
        program = vectorize(program, loop)
    verify(program)
    arrays = integers(program)
    (found,) = run_compiled([(program, arrays)], target)
    np.testing.assert_array_equal(found, interpret(program, arrays)["C"])


def test_nothing_is_copied_in_before_it_is_written() -> None:
    """Where a window slides inside the loop, that it is written first is not proved."""
    program = convolution(3, 1, 2, 2, 1, 1, 0, 1, pad_stage=True)
    program = compute_at(compute_at(program, "K", "R.c"), "P", "R.y")
    program = slide(program, "P", "y", "R.y")
    with pytest.raises(ScheduleError) as refusal:
        stage_mem(program, "K", "R.y", "stack")
    assert refusal.value.code == "not-filled"
