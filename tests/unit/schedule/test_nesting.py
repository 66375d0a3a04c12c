"""Producers inside producers, several at one loop, and one that several consumers read."""

from __future__ import annotations

import pytest

from ago.errors import ScheduleError
from ago.ir.define import define
from ago.ir.program import Program
from ago.schedule.compute_at import compute_at
from ago.schedule.fold_storage import fold_storage
from ago.schedule.parallel import parallel
from ago.schedule.set_scope import set_scope
from ago.schedule.slide import slide
from ago.schedule.split import Tail, split
from ago.schedule.store_at import store_at
from tests.support.schedules import assert_keeps, text


def convolutions(depth: int, rows: int = 11, stride: int = 1) -> Program:
    """A chain of 3-row, 2-column convolutions `C1`, `C2`, ... of 2 channels each."""
    statements, source = [], "X"
    for number in range(1, depth + 1):
        step = f"{stride}*y" if number == depth and stride > 1 else "y"
        statements.append(
            f"C{number}[y, x, o] += {source}[{step} + ky, x + kx, c] * W{number}[ky, kx, c, o]"
        )
        source = f"C{number}"
    shapes = {"X": (rows, 5, 2), **{f"W{n}": (3, 2, 2, 2) for n in range(1, depth + 1)}}
    weights = [f"W{n}" for n in range(1, depth + 1)]
    return define("; ".join(statements), shapes, constants=weights)


def test_three_convolutions_each_in_the_loop_of_the_next() -> None:
    """The region of the first grows with the windows of both that read it."""
    program = convolutions(3)
    after = compute_at(program, "C2", "C3.y")
    after = compute_at(after, "C1", "C2.y")
    assert_keeps(program, after)
    after = store_at(store_at(after, "C1", "C2.y", "stack"), "C2", "C3.y", "stack")
    assert after.buffer("C1").shape[0] == after.buffer("C2").shape[0] == 3
    assert_keeps(program, after)


@pytest.mark.parametrize("stride", [1, 2])
def test_three_convolutions_slide_along_one_loop_in_rings(stride: int) -> None:
    program = convolutions(3, stride=stride)
    after = compute_at(compute_at(program, "C2", "C3.y"), "C1", "C3.y")
    for stage in ("C1", "C2"):
        after = slide(after, stage, "y", "C3.y")
    assert_keeps(program, after)
    for stage in ("C1", "C2"):
        after = fold_storage(after, stage, 0, "C3.y")
    assert after.buffer("C1").shape[0] < program.buffer("C1").shape[0]
    assert after.buffer("C2").shape[0] == 3
    assert_keeps(program, after)


@pytest.mark.parametrize("tail", ["guard", "shift", "balance"])
def test_strips_have_rings_of_their_own(tail: Tail) -> None:
    program = convolutions(2, rows=12)
    after = compute_at(split(program, "C2.y", 3, tail), "C1", "C2.y.1")
    after = slide(after, "C1", "y", "C2.y.1")
    after = fold_storage(after, "C1", 0, "C2.y.1")
    assert after.buffer("C1").shape[0] == 3
    assert_keeps(program, after)


def test_strips_whose_rows_slide_from_strip_to_strip_keep_them() -> None:
    """Rows that the next strip reads must outlive the strip, so that a ring is too small."""
    program = convolutions(2, rows=12)
    after = compute_at(split(program, "C2.y", 2), "C1", "C2.y.1")
    after = slide(after, "C1", "y", "C2.y.0")
    assert_keeps(program, after)
    with pytest.raises(ScheduleError) as refusal:
        fold_storage(after, "C1", 0, "C2.y.1")
    assert refusal.value.code == "no-window"


def test_a_window_does_not_slide_across_threads() -> None:
    """Each thread has its own tile, so that rows of another iteration are not there."""
    program = convolutions(2)
    after = set_scope(compute_at(program, "C1", "C2.x"), "C1", "stack")
    after = parallel(after, "C2.x")
    with pytest.raises(ScheduleError) as refusal:
        slide(after, "C1", "y", "C2.y")
    assert refusal.value.code == "private-flow"


def test_several_producers_at_one_loop() -> None:
    program = define(
        "A[y, x] = 2 * X[y, x]; B[y, x] = 3 * X[y, x];R[y, x] += A[y + k, x] * B[y + k, x] * w[k]",
        {"X": (9, 4), "w": (3,)},
    )
    after = compute_at(compute_at(program, "B", "R.y"), "A", "R.y")
    for stage in ("A", "B"):
        after = fold_storage(slide(after, stage, "y", "R.y"), stage, 0, "R.y")
        assert after.buffer(stage).shape == (3, 4)
    assert_keeps(program, after)
    lines = text(after).splitlines()
    assert sum(line.startswith("for ") for line in lines) == 1


def test_a_producer_of_several_consumers() -> None:
    """It goes where all of them are; its region is that of all reads together."""
    program = define(
        "S[y, x] = 2 * X[y, x]; A[y, x] = S[y + 1, x] + S[y + 2, x];"
        "R[y, x] = A[y, x] * S[y + 2, x]",
        {"X": (9, 4)},
    )
    with pytest.raises(ScheduleError) as refusal:
        compute_at(program, "S", "R.y")
    assert refusal.value.code == "not-consumer-loop"
    after = compute_at(compute_at(program, "A", "R.y"), "S", "R.y")
    after = fold_storage(slide(after, "S", "y", "R.y"), "S", 0, "R.y")
    assert after.buffer("S").shape == (2, 4)
    assert_keeps(program, after)
