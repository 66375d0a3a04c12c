"""`rfactor`: partial results, then their reduction."""

from __future__ import annotations

import numpy as np
import pytest

from ago.ir.examples import depthwise, matmul
from ago.ir.interpreter import interpret
from ago.ir.verify import verify
from ago.schedule.annotate import vectorize
from ago.schedule.compute_at import compute_at
from ago.schedule.parallel import parallel
from ago.schedule.reorder import reorder
from ago.schedule.rfactor import rfactor
from ago.schedule.store_at import store_at
from tests.support.compiled import HOST_TARGETS, run_compiled
from tests.support.programs import integers
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import pool, two_matmuls


def test_partial_sums() -> None:
    program = matmul(2, 3, 7)
    after = rfactor(program, "C", "k", 4)
    assert after.buffer("C_rf").shape == (2, 3, 4)
    assert (
        text(after)
        == """\
for C_rf_i, C_rf_j, k_part in grid(2, 3, 4):
    C_rf[C_rf_i, C_rf_j, k_part] = 0.0
    for C_rf_k in range(2):
        C_rf[C_rf_i, C_rf_j, k_part] += A[C_rf_i, 4 * C_rf_k + k_part] * B[4 * C_rf_k + k_part, C_rf_j] if 4 * C_rf_k + k_part < 7 else 0.0
for C_i, C_j in grid(2, 3):
    C[C_i, C_j] = 0.0
    for C_k in range(4):
        C[C_i, C_j] += C_rf[C_i, C_j, C_k]"""  # noqa: E501
    )


@pytest.mark.parametrize("parts", [1, 2, 4, 5, 8])
@pytest.mark.parametrize("depth", [1, 5, 8])
def test_any_number_of_parts(parts: int, depth: int) -> None:
    program = matmul(2, 3, depth)
    after = rfactor(program, "C", "k", parts)
    verify(after)
    assert_keeps(program, after)


def test_what_it_starts_with_counts_once() -> None:
    program = two_matmuls(2, 5, 3, 4)
    assert_keeps(program, rfactor(program, "D", "j", 2))


def test_one_of_two_reduce_axes() -> None:
    program = depthwise(3, 2, 2, 3)
    after = rfactor(program, "D", "ky", 2)
    assert [a.name for a in after.stage("D_rf").axes] == ["y", "x", "c", "ky_part", "ky", "kx"]
    assert [a.name for a in after.stage("D").axes] == ["y", "x", "c", "ky"]
    assert_keeps(program, after)


def test_maximum() -> None:
    program = pool(5, 2, 3, 1)
    after = rfactor(program, "M", "kx", 2)
    verify(after)
    assert_keeps(program, after)


def test_lanes_of_a_dot_product() -> None:
    program = matmul(2, 3, 8)
    after = rfactor(program, "C", "k", 4)
    after = store_at(compute_at(after, "C_rf", "C.j"), "C_rf", "C.j", "stack")
    after = vectorize(reorder(after, ["C_rf.k", "C_rf.k_part"]), "C_rf.k_part")
    verify(after)
    assert_keeps(program, after)


def test_parts_in_parallel() -> None:
    program = matmul(1, 2, 9)
    after = reorder(rfactor(program, "C", "k", 3), ["C_rf.k_part", "C_rf.i", "C_rf.j"])
    after = parallel(after, "C_rf.k_part")
    verify(after)
    assert_keeps(program, after)


def test_twice() -> None:
    program = matmul(2, 2, 12)
    after = rfactor(rfactor(program, "C", "k", 4), "C_rf", "k", 2)
    assert [s.name for s in after.stages] == ["C_rf_rf", "C_rf", "C"]
    assert_keeps(program, after)


@pytest.mark.parametrize("target", HOST_TARGETS)
def test_compiled(target: str) -> None:
    program = rfactor(matmul(2, 3, 13), "C", "k", 8)
    program = reorder(program, ["C_rf.k", "C_rf.k_part"])
    program = vectorize(program, "C_rf.k_part")
    arrays = integers(program)
    (found,) = run_compiled([(program, arrays)], target)
    np.testing.assert_array_equal(found, interpret(program, arrays)["C"])
