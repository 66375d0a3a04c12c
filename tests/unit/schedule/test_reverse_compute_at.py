"""`reverse_compute_at`: the epilogue follows the producer's tiles."""

from __future__ import annotations

import pytest

from ago.ir.examples import chain, matmul
from ago.ir.index import var
from ago.ir.nest import Buffer
from ago.ir.program import Program
from ago.ir.value import Load, add
from ago.ir.verify import verify
from ago.schedule.annotate import vectorize
from ago.schedule.parallel import parallel
from ago.schedule.reorder import reorder
from ago.schedule.reverse_compute_at import reverse_compute_at
from ago.schedule.split import Tail, split
from ago.schedule.store_at import store_at
from ago.schedule.tree import loop_names
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import stage

RELU = matmul(4, 6, 5, relu=True)


def transposed() -> Program:
    """`T[j, i] = 2 * x[i, j] + y[i, j]` in two stages."""
    i, j = var("T.j"), var("T.i")
    last = stage("T", {"i": 6, "j": 4}, "T", add(Load("S", (i, j)), Load("y", (i, j))))
    program = chain(4, 6)
    made = (
        Buffer("x", (4, 6), "input"),
        Buffer("y", (4, 6), "input"),
        Buffer("T", (6, 4), "output"),
        Buffer("S", (4, 6), "workspace"),
    )
    return Program.naive("transposed", made, (program.stage("S"), last))


def test_row_by_row() -> None:
    after = reverse_compute_at(RELU, "R", "C.i")
    assert (
        text(after)
        == """\
for C_i in range(4):
    for C_j in range(6):
        C[C_i, C_j] = 0.0
        for k in range(5):
            C[C_i, C_j] += A[C_i, k] * B[k, C_j]
    for R_i, R_j in grid(1, 6):
        R[C_i + R_i, R_j] = ir_max(0.0, C[C_i + R_i, R_j])"""
    )
    verify(after)
    assert_keeps(RELU, after)


def test_element_by_element() -> None:
    after = reverse_compute_at(RELU, "R", "C.j")
    assert loop_names(after) == ("C.i", "C.j", "C.k", "R.i", "R.j")
    assert_keeps(RELU, after)


@pytest.mark.parametrize("tail", ["exact", "guard", "shift", "balance"])
def test_tiles(tail: Tail) -> None:
    program = matmul(4, 6 if tail == "exact" else 7, 5, relu=True)
    tiled = reorder(split(program, "C.j", 3, tail), ["C.j.0", "C.i"])
    for loop in ("C.j.0", "C.i", "C.j.1"):
        after = reverse_compute_at(tiled, "R", loop)
        verify(after)
        assert_keeps(program, after)


def test_tile_that_only_the_epilogue_reads_shrinks() -> None:
    tiled = reorder(split(RELU, "C.j", 3), ["C.j.0", "C.i"])
    after = store_at(reverse_compute_at(tiled, "R", "C.i"), "C", "C.i", "stack")
    assert after.buffer("C").shape == (1, 3)
    assert_keeps(RELU, vectorize(parallel(after, "C.j.0"), "R.j"))


def test_other_order_of_axes_and_another_operand() -> None:
    program = transposed()
    after = reverse_compute_at(program, "T", "S.i")
    verify(after)
    assert_keeps(program, after)


def test_a_chain_of_epilogues() -> None:
    program = matmul(4, 6, 5, relu=True)
    at = (var("T.i"), var("T.j"))
    last = stage("T", {"i": 4, "j": 6}, "T", add(Load("R", at), Load("y", at)))
    made = (
        *(b for b in program.buffers if b.name != "R"),
        Buffer("y", (4, 6), "input"),
        Buffer("R", (4, 6), "workspace"),
        Buffer("T", (4, 6), "output"),
    )
    three = Program.naive("three", made, (*program.stages, last))
    after = reverse_compute_at(reverse_compute_at(three, "R", "C.i"), "T", "C.i")
    assert loop_names(after) == ("C.i", "C.j", "C.k", "R.i", "R.j", "T.i", "T.j")
    verify(after)
    assert_keeps(three, after)
