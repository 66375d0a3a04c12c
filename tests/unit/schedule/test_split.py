"""`split`: five strategies for the tail, on extents that the factor divides and does not."""

import pytest

from ago.errors import ScheduleError
from ago.ir.examples import chain, matmul
from ago.schedule.compute_at import compute_at
from ago.schedule.decompose_reduction import decompose_reduction
from ago.schedule.reorder import reorder
from ago.schedule.split import Tail, split
from ago.schedule.store_at import store_at
from ago.schedule.tree import find_loop, loop_names
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import mirrored

TAILS: tuple[Tail, ...] = ("guard", "masked", "shift", "balance")


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("extent", [1, 2, 6, 7])
@pytest.mark.parametrize("factor", [1, 2, 3, 4, 9])
def test_keeps_the_result(tail: Tail, extent: int, factor: int) -> None:
    program = matmul(2, extent, 3)
    after = split(program, "C.j", factor, tail)
    assert loop_names(after) == ("C.i", "C.j.0", "C.j.1", "C.k")
    assert_keeps(program, after)


@pytest.mark.parametrize("tail", ["exact", *TAILS])
def test_all_tails_agree_where_the_factor_divides(tail: Tail) -> None:
    assert split(matmul(4, 6, 5), "C.j", 3, tail) == split(matmul(4, 6, 5), "C.j", 3)


@pytest.mark.parametrize("tail", ["exact", "guard", "masked", "balance"])
def test_keeps_a_reduce_loop(tail: Tail) -> None:
    program = matmul(2, 3, 6)
    after = split(program, "C.k", 3 if tail == "exact" else 4, tail)
    assert_keeps(program, after)
    assert_keeps(program, reorder(after, ["C.k.0", "C.i", "C.j"]))


def test_exact() -> None:
    assert (
        text(split(matmul(4, 6, 5), "C.j", 3))
        == """\
for i, j_0, j_1 in grid(4, 2, 3):
    C[i, 3 * j_0 + j_1] = 0.0
    for k in range(5):
        C[i, 3 * j_0 + j_1] += A[i, k] * B[k, 3 * j_0 + j_1]"""
    )


def test_guard_shortens_the_last_tile() -> None:
    assert (
        text(split(matmul(4, 6, 5), "C.j", 4, "guard"))
        == """\
for i, j_0 in grid(4, 2):
    for j_1 in range(min(4, 6 - 4 * j_0)):
        C[i, 4 * j_0 + j_1] = 0.0
        for k in range(5):
            C[i, 4 * j_0 + j_1] += A[i, k] * B[k, 4 * j_0 + j_1]"""
    )


def test_mask_keeps_tiles_full() -> None:
    assert (
        text(split(matmul(4, 6, 5), "C.j", 4, "masked"))
        == """\
for i, j_0, j_1 in grid(4, 2, 4):
    if 4 * j_0 + j_1 < 6:
        C[i, 4 * j_0 + j_1] = 0.0
        for k in range(5):
            C[i, 4 * j_0 + j_1] += A[i, k] * B[k, 4 * j_0 + j_1]"""
    )


def test_shift_equalises_and_overlaps() -> None:
    assert (
        text(split(matmul(4, 7, 5), "C.j", 4, "shift"))
        == """\
for i, j_0, j_1 in grid(4, 2, 4):
    C[i, j_1 + min(3, 4 * j_0)] = 0.0
    for k in range(5):
        C[i, j_1 + min(3, 4 * j_0)] += A[i, k] * B[k, j_1 + min(3, 4 * j_0)]"""
    )


def test_balance_differs_by_one() -> None:
    after = split(matmul(4, 7, 5), "C.j", 3, "balance")
    assert str(find_loop(after, "C.j.1").hi) == "min(1, max(0, 1 - C.j.0)) + 2"
    assert find_loop(after, "C.j.0").hi.const == 3


def test_parts_split_again() -> None:
    program = matmul(3, 7, 5)
    after = split(split(program, "C.j", 4, "shift"), "C.j.1", 3, "shift")
    after = split(after, "C.j.0", 4, "masked")
    assert loop_names(after) == ("C.i", "C.j.0.0", "C.j.0.1", "C.j.1.0", "C.j.1.1", "C.k")
    assert_keeps(program, after)


def test_shift_leaves_the_start_of_a_decomposed_reduction() -> None:
    apart = decompose_reduction(matmul(3, 2, 4), "C", "C.i")
    with pytest.raises(ScheduleError) as refusal:
        split(apart, "C.i.init", 2, "shift")
    assert refusal.value.code == "shift-reduces"
    assert_keeps(apart, split(apart, "C.i.init", 2, "balance"))


def test_shift_with_the_reduction_inside_the_shifted_loop() -> None:
    program = matmul(3, 7, 5)
    inner = reorder(program, ["C.k", "C.i"])
    assert inner.body[0].name == "C.k"
    after = split(reorder(inner, ["C.j", "C.k"]), "C.j", 4, "shift")
    assert_keeps(program, after)


def test_exact_in_tiles_of_two_sizes() -> None:
    program = chain(3, 20)
    tiled = split(split(program, "R.j", 4), "R.j.0", 3, "balance")
    inner = compute_at(tiled, "S", "R.j.0.0")
    assert str(find_loop(inner, "S.j").extent) == "12 - 4 * R.j.0.0"
    after = split(inner, "S.j", 4)
    assert str(find_loop(after, "S.j.0").extent) == "3 - R.j.0.0"
    assert_keeps(program, after)
    with pytest.raises(ScheduleError, match="extent-not-constant"):
        split(inner, "S.j", 8)


def test_masked_tiles_around_a_region_between_two_rows() -> None:
    program = mirrored(3)
    fused = store_at(compute_at(program, "S", "R.j"), "S", "R.i", "stack")
    assert_keeps(program, split(fused, "R.i", 2, "masked"))
