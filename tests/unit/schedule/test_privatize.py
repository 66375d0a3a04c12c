"""`privatize`: iterations with memory of their own, also for rings, run in any order."""

from __future__ import annotations

import pytest

from ago.errors import IRError
from ago.ir.define import define
from ago.ir.examples import matmul, smooth
from ago.ir.index import as_index
from ago.ir.nest import For, Stmt, rewrite
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.schedule.compute_at import compute_at
from ago.schedule.fold_storage import fold_storage
from ago.schedule.parallel import parallel
from ago.schedule.privatize import privatize
from ago.schedule.slide import slide
from ago.schedule.split import Tail, split
from ago.schedule.store_at import store_at
from tests.support.schedules import assert_keeps


def strips(factor: int, tail: Tail = "guard", rows: int = 9) -> Program:
    """Rows of a smoothed map in strips that run side by side, each with a ring of three rows."""
    after = compute_at(split(smooth(rows, 3), "S.y", factor, tail), "P", "S.y.1")
    after = slide(privatize(after, "P", "S.y.0"), "P", "y", "S.y.1")
    return parallel(fold_storage(after, "P", 1, "S.y.1"), "S.y.0")


@pytest.mark.parametrize("factor", [2, 3, 4, 7])
@pytest.mark.parametrize("tail", ["guard", "balance"])
def test_each_strip_has_a_ring_of_its_own(factor: int, tail: Tail) -> None:
    after = strips(factor, tail)
    assert after.buffer("P").shape == (-(-7 // factor), 3, 3)
    assert_keeps(smooth(9, 3), after)


def test_tiles_in_the_workspace_are_private_too() -> None:
    program = matmul(5, 8, 3, relu=True)
    after = store_at(compute_at(program, "C", "R.i"), "C", "R.i", "workspace")
    after = parallel(privatize(after, "C", "R.i"), "R.i")
    assert after.buffer("C").shape == (5, 1, 8)
    assert_keeps(program, after)


def test_a_loop_that_starts_later_begins_with_the_first_copy() -> None:
    program = compute_at(smooth(9, 3), "P", "S.y")

    def later(stmt: Stmt) -> tuple[Stmt, ...] | None:
        if isinstance(stmt, For) and stmt.name == "S.y":
            return (For(stmt.name, as_index(2), stmt.hi, "serial", stmt.body),)
        return None

    later_rows = program.with_body(rewrite(program.body, later))
    after = privatize(later_rows, "P", "S.y")
    assert after.buffer("P").shape == (5, 9, 3)
    verify(after)


def test_producers_still_move_inside() -> None:
    """The stage that reads a private buffer is read itself by one that is not placed yet."""
    program = define(
        "A[y, x] = 2 * X[y, x]; B[y, x] += A[y + k, x] * v[k]; C[y, x] += B[y + k, x] * w[k]",
        {"X": (12, 3), "v": (2,), "w": (3,)},
    )
    after = split(program, "C.y", 4, "guard")
    for stage in ("B", "A"):
        after = privatize(compute_at(after, stage, "C.y.1"), stage, "C.y.0")
    for stage in ("A", "B"):
        after = fold_storage(slide(after, stage, "y", "C.y.1"), stage, 1, "C.y.1")
    after = parallel(after, "C.y.0")
    assert after.buffer("A").shape == (3, 4, 3)
    assert_keeps(program, after)


def test_a_strip_that_relies_on_its_neighbours_rows_is_stale() -> None:
    """A ring is judged copy by copy: what another strip has computed is not there."""

    def without_first_window(stmt: Stmt) -> tuple[Stmt, ...] | None:
        if isinstance(stmt, For) and stmt.name == "P.y":
            return (For(stmt.name, as_index(2), stmt.hi, "serial", stmt.body),)
        return None

    after = strips(4)

    def broken(stmt: Stmt) -> tuple[Stmt, ...] | None:
        inner = rewrite((stmt,), without_first_window)
        return inner if isinstance(stmt, For) and stmt.name == "S.y.0" else None

    with pytest.raises(IRError) as error:
        verify(after.with_body(rewrite(after.body, broken)))
    assert error.value.code == "stale-ring"
    assert "is empty" in str(error.value)
