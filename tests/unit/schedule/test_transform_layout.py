"""`transform_layout`: other dimensions, the same elements."""

from __future__ import annotations

import pytest

from ago.ir.examples import chain, matmul
from ago.ir.verify import verify
from ago.schedule.compute_at import compute_at
from ago.schedule.parallel import parallel
from ago.schedule.split import split
from ago.schedule.transform_layout import transform_layout
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import convolution, pool


@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        ("i j -> i j", (4, 6)),
        ("i j -> j i", (6, 4)),
        ("i j -> j//3 i j%3", (2, 4, 3)),
        ("i j -> i j//4 j%4", (4, 2, 4)),
        ("i j -> i%2 j//6 i//2 j%6", (2, 1, 2, 6)),
        ("a   b->b a", (6, 4)),
    ],
)
def test_layouts(layout: str, shape: tuple[int, ...]) -> None:
    program = chain(4, 6)
    after = transform_layout(program, "S", layout)
    assert after.buffer("S").shape == shape
    assert after.body == tuple(stage.nest() for stage in after.stages)
    verify(after)
    assert_keeps(program, after)


def test_indices_of_tiles_need_no_division() -> None:
    program = split(split(matmul(2, 8, 3, relu=True), "C.j", 4), "R.j", 4)
    after = transform_layout(program, "C", "i j -> j//4 i j%4")
    assert (
        text(after)
        == """\
for C_i, C_j_0, C_j_1 in grid(2, 2, 4):
    C[C_j_0, C_i, C_j_1] = 0.0
    for k in range(3):
        C[C_j_0, C_i, C_j_1] += A[C_i, k] * B[k, 4 * C_j_0 + C_j_1]
for R_i, R_j_0, R_j_1 in grid(2, 2, 4):
    R[R_i, 4 * R_j_0 + R_j_1] = ir_max(0.0, C[R_j_0, R_i, R_j_1])"""
    )
    assert_keeps(program, after)


def test_permuted_producer_is_still_placed() -> None:
    program = pool(5, 2, 3, 1)
    after = compute_at(transform_layout(program, "E", "y x c -> c y x"), "E", "M.y")
    verify(after)
    assert_keeps(program, after)


def test_split_channels_behind_windows() -> None:
    program = convolution(5, 3, 4, 3, 1, 1, 1, 1, pad_stage=True)
    placed = compute_at(program, "P", "K.y")
    after = transform_layout(placed, "P", "y x c -> c//2 y x c%2")
    verify(after)
    assert_keeps(program, after)


def test_rows_in_parallel_stay_apart() -> None:
    program = matmul(4, 6, 5, relu=True)
    after = transform_layout(parallel(program, "C.i"), "C", "i j -> i//2 j i%2")
    verify(after)
    assert_keeps(program, after)
