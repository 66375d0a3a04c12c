"""`parallel`: iterations in any order, on the interpreter and in C."""

from __future__ import annotations

import numpy as np
import pytest

from ago.ir.examples import depthwise, matmul
from ago.ir.interpreter import interpret
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.schedule.annotate import vectorize
from ago.schedule.compute_at import compute_at
from ago.schedule.parallel import parallel
from ago.schedule.reorder import reorder
from ago.schedule.split import split
from ago.schedule.store_at import store_at
from ago.schedule.tree import find_loop
from tests.support.compiled import HOST_TARGETS, run_compiled
from tests.support.programs import integers
from tests.support.schedules import assert_keeps
from tests.support.subgraphs import convolution, pool


def tiled() -> Program:
    """A matmul with a clamp, rows in parallel, the tile of each on the stack."""
    program = compute_at(split(matmul(5, 8, 3, relu=True), "R.j", 4), "C", "R.j.0")
    return parallel(store_at(program, "C", "R.j.0", "stack"), "R.i")


@pytest.mark.parametrize("loop", ["C.i", "C.j"])
def test_spatial_loops(loop: str) -> None:
    program = matmul(4, 6, 5)
    after = parallel(program, loop)
    assert find_loop(after, loop).kind == "parallel"
    verify(after)
    assert_keeps(program, after)


def test_tile_on_the_stack_is_private() -> None:
    verify(tiled())
    assert_keeps(matmul(5, 8, 3, relu=True), tiled())


def test_windows_that_overlap_are_private_too() -> None:
    program = pool(5, 2, 3, 1)
    after = parallel(store_at(compute_at(program, "E", "M.y"), "E", "M.y", "stack"), "M.y")
    verify(after)
    assert_keeps(program, after)


def test_padded_rows_are_private_too() -> None:
    program = convolution(5, 2, 3, 3, 1, 1, 1, 1, pad_stage=False)
    after = store_at(compute_at(program, "K", "R.y"), "K", "R.y", "stack")
    assert_keeps(program, parallel(after, "R.y"))


def test_buffer_becomes_private_behind_the_loop() -> None:
    program = compute_at(matmul(4, 6, 5, relu=True), "C", "R.i")
    after = store_at(parallel(program, "R.i"), "C", "R.i", "stack")
    verify(after)
    assert_keeps(matmul(4, 6, 5, relu=True), after)


def test_reduction_outside_keeps_its_order() -> None:
    program = depthwise(4, 3, 2, 2)
    after = parallel(reorder(program, ["D.ky", "D.y"]), "D.y")
    verify(after)
    assert_keeps(program, after)


def test_lanes_inside() -> None:
    program = matmul(4, 6, 5)
    after = vectorize(reorder(parallel(program, "C.i"), ["C.k", "C.j"]), "C.j")
    assert_keeps(program, after)


@pytest.mark.parametrize("target", HOST_TARGETS)
def test_compiled_for_one_thread(target: str) -> None:
    arrays = integers(tiled())
    (found,) = run_compiled([(tiled(), arrays)], target)
    np.testing.assert_array_equal(found, interpret(tiled(), arrays)["R"])
