"""`peel` and `partition_loop`: border and interior, without guards where they are decided."""

import pytest

from ago.ir.examples import matmul, pad
from ago.schedule.compute_at import compute_at
from ago.schedule.peel import partition_loop, peel
from ago.schedule.reorder import reorder
from ago.schedule.split import Tail, split
from ago.schedule.tree import find_loop, loop_names
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import convolution


def test_border_and_interior() -> None:
    after = peel(pad(4, 1), "P.x")
    assert (
        text(after)
        == """\
for y in range(6):
    for x_before in range(1):
        P[y, 0] = 0.0
    for x in range(1, 5):
        P[y, x] = X[y - 1, x - 1] if y >= 1 and y < 5 else 0.0
    for x_after in range(5, 6):
        P[y, 5] = 0.0"""
    )
    assert_keeps(pad(4, 1), after)


def test_both_axes_in_either_order() -> None:
    for first, second in (("P.x", "P.y"), ("P.y", "P.x")):
        after = peel(peel(pad(4, 2), first), second)
        assert find_loop(after, "P.y").lo.const == 2
        assert find_loop(after, "P.x").lo.const == 2
        assert_keeps(pad(4, 2), after)


def test_partition_again_numbers_the_parts() -> None:
    program = matmul(3, 6, 2)
    after = partition_loop(partition_loop(program, "C.j", 1, 5), "C.j", 2, 4)
    assert [n for n in loop_names(after) if n.startswith("C.j")] == [
        "C.j.before",
        "C.j.before2",
        "C.j",
        "C.j.after2",
        "C.j.after",
    ]
    assert_keeps(program, after)


@pytest.mark.parametrize(("lo", "hi", "parts"), [(0, 6, 1), (0, 3, 2), (2, 6, 2), (2, 3, 3)])
def test_empty_parts_vanish(lo: int, hi: int, parts: int) -> None:
    program = matmul(3, 6, 2)
    after = partition_loop(program, "C.j", lo, hi)
    assert len([n for n in loop_names(after) if n.startswith("C.j")]) == parts
    assert_keeps(program, after)


def test_whole_reduce_loop_is_no_cut() -> None:
    assert_keeps(matmul(2, 3, 4), partition_loop(matmul(2, 3, 4), "C.k", 0, 4))


def test_spatial_loop_inside_the_reduce_loop() -> None:
    program = matmul(3, 6, 4)
    after = partition_loop(reorder(program, ["C.k", "C.i", "C.j"]), "C.j", 2, 5)
    assert_keeps(program, after)


@pytest.mark.parametrize("stride", [1, 2])
def test_interior_of_a_convolution_needs_no_test(stride: int) -> None:
    program = convolution(6, 1, 2, 3, stride, 1, 1, 1, pad_stage=False)
    after = peel(peel(program, "K.y"), "K.x")
    (_, interior) = text(after).split("for K_x in range(1, ")
    assert " if " not in interior.split("for ")[1]
    assert_keeps(program, after)


@pytest.mark.parametrize("tail", ["guard", "masked", "shift", "balance"])
def test_interior_splits_and_takes_a_producer(tail: Tail) -> None:
    program = convolution(7, 1, 1, 3, 1, 1, 1, 1, pad_stage=True)
    after = split(peel(program, "P.y"), "P.y", 3, tail)
    assert_keeps(program, after)
    after = partition_loop(program, "R.y", 1, 6)
    after = split(after, "R.y", 2, tail)
    assert_keeps(program, after)
    copied = partition_loop(compute_at(program, "K", "R.y"), "R.y", 1, 6)
    assert_keeps(program, split(copied, "R.y", 2, tail))


def test_tiles_of_a_guarded_axis() -> None:
    program = pad(5, 1)
    assert_keeps(program, peel(split(program, "P.x", 4, "guard"), "P.x.0"))


def test_names_of_retired_parts_are_not_used_again() -> None:
    program = pad(4, 1)
    after = split(peel(program, "P.x"), "P.x.after", 1)
    after = split(peel(after, "P.y"), "P.x.after2", 1)
    assert_keeps(program, after)
