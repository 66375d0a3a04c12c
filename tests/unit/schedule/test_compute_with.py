"""`compute_with`: two results share the loops over what both of them read."""

from __future__ import annotations

import pytest

from ago.ir.examples import fork, matmul
from ago.ir.index import var
from ago.ir.nest import Buffer
from ago.ir.program import Program
from ago.ir.value import Const, Load, mul
from ago.ir.verify import verify
from ago.schedule.compute_at import compute_at
from ago.schedule.compute_with import compute_with
from ago.schedule.divide_axis import divide_axis
from ago.schedule.parallel import parallel
from ago.schedule.tree import find_loop, loop_names
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import stage

FORK = fork(4, 6)


def products() -> Program:
    """`C = A @ B` and `R = 2 * A`."""
    product = matmul(4, 6, 5)
    at = (var("R.i"), var("R.j"))
    double = stage("R", {"i": 4, "j": 5}, "R", mul(Const(2.0), Load("A", at)))
    buffers = (*product.buffers, Buffer("R", (4, 5), "output"))
    return Program.naive("products", buffers, (*product.stages, double))


def test_row_by_row() -> None:
    after = compute_with(FORK, "L", "R.i", ["i"])
    assert (
        text(after)
        == """\
for S_i, S_j in grid(4, 6):
    S[S_i, S_j] = 2.0 * x[S_i, S_j]
for R_i in range(4):
    for L_i, L_j in grid(1, 6):
        L[L_i + R_i, L_j] = ir_max(0.0, S[L_i + R_i, L_j])
    for R_j in range(6):
        R[R_i, R_j] = S[R_i, R_j] + x[R_i, R_j]"""
    )
    verify(after)
    assert_keeps(FORK, after)


def test_a_producer_of_both_joins_them() -> None:
    after = compute_at(compute_with(FORK, "L", "R.i", ["i"]), "S", "R.i")
    assert loop_names(after) == ("R.i", "S.i", "S.j", "L.i", "L.j", "R.j")
    verify(after)
    assert_keeps(FORK, after)


@pytest.mark.parametrize("loop", ["R.i", "R.j"])
@pytest.mark.parametrize("axes", [["i", "j"], ["j", "i"]])
def test_each_loop_divides_an_axis(loop: str, axes: list[str]) -> None:
    program = fork(4, 4) if axes[0] == "j" else FORK
    after = compute_with(program, "L", loop, axes[: 1 if loop == "R.i" else 2])
    verify(after)
    assert_keeps(program, after)


def test_blocks_follow_the_loop() -> None:
    divided = divide_axis(FORK, "R", "i", 2, 0)
    after = compute_with(divided, "L", "R.i_o", ["i"])
    assert find_loop(after, "L.i").extent.const == 2
    assert_keeps(FORK, after)


def test_a_reduction_starts_in_each_block() -> None:
    both = products()
    after = compute_with(both, "C", "R.i", ["i"])
    assert loop_names(after) == ("R.i", "C.i", "C.j", "C.k", "R.j")
    verify(after)
    assert_keeps(both, after)


def test_a_parallel_loop_stays_parallel() -> None:
    after = compute_with(parallel(FORK, "R.i"), "L", "R.i", ["i"])
    assert find_loop(after, "R.i").kind == "parallel"
    assert_keeps(FORK, after)
