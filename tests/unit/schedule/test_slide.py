"""`slide`: each row of a window is computed once, in the order of its loop."""

import pytest

from ago.errors import ScheduleError
from ago.ir.examples import smooth
from ago.ir.index import evaluate, var
from ago.ir.program import Program
from ago.ir.value import Const, Load, Select, mul
from ago.schedule.annotate import unroll
from ago.schedule.compute_at import compute_at
from ago.schedule.fold_storage import fold_storage
from ago.schedule.peel import partition_loop
from ago.schedule.reorder import reorder
from ago.schedule.slide import slide
from ago.schedule.specialize import specialize
from ago.schedule.split import Tail, split
from ago.schedule.store_at import store_at
from ago.schedule.tree import find_loop
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import buffers, convolution, pool, stage

ORDERED: tuple[Tail, ...] = ("guard", "masked", "balance")


def sliding(program: Program) -> Program:
    return slide(compute_at(program, "P", "S.y"), "P", "y", "S.y")


def test_only_new_rows() -> None:
    program = smooth(8, 4)
    after = sliding(program)
    assert (
        text(after)
        == """\
for S_y in range(6):
    for P_y in range(min(2, 2 * S_y), 3):
        for P_x in range(4):
            P[P_y + S_y, P_x] = 2.0 * X[P_y + S_y, P_x]
    for S_x in range(4):
        S[S_y, S_x] = P[S_y, S_x] + (P[S_y + 1, S_x] + P[S_y + 2, S_x])"""
    )
    assert_keeps(program, after)


@pytest.mark.parametrize(("window", "stride"), [(3, 2), (4, 1), (5, 3)])
def test_steps(window: int, stride: int) -> None:
    program = pool(9, 1, window, stride)
    after = slide(compute_at(program, "E", "M.y"), "E", "y", "M.y")
    assert str(find_loop(after, "E.y").lo).startswith(f"min({window - stride}, ")
    assert_keeps(program, after)


def test_rows_of_a_chain_with_padding() -> None:
    program = convolution(5, 1, 2, 3, 1, 1, 1, 1, pad_stage=True)
    after = compute_at(program, "K", "R.y")
    after = slide(compute_at(after, "P", "R.y"), "P", "y", "R.y")
    assert_keeps(program, after)
    assert_keeps(program, specialize(unroll(after, "P.x"), "P.y"))


@pytest.mark.parametrize("size", [6, 7, 9])
@pytest.mark.parametrize(("window", "stride", "border"), [(3, 1, 1), (3, 2, 1), (5, 1, 2)])
def test_clipped_windows(size: int, window: int, stride: int, border: int) -> None:
    program = bordered(size, window, stride, border)
    after = slide(compute_at(program, "P", "S.y"), "P", "y", "S.y")
    assert_keeps(program, after)
    assert len(rows_computed(after)) == len(set(rows_computed(after)))
    folded = fold_storage(after, "P", 0, "S.y")
    assert folded.buffer("P").shape[0] == window
    assert_keeps(program, folded)


def bordered(size: int, window: int, stride: int, border: int) -> Program:
    """`P = 2 X`, and sums `S` of windows of rows of `P` in which rows outside count nothing."""
    out = (size + 2 * border - window) // stride + 1
    first = stage("P", {"y": size}, "P", mul(Const(2.0), Load("X", (var("P.y"),))))
    at = var("S.y") * stride + var("S.k") - border
    second = stage(
        "S",
        {"y": out, "k": window},
        "S",
        Select((at, size - 1 - at), Load("P", (at,)), Const(0.0)),
        function="add",
        init=Const(0.0),
        reduce=("k",),
    )
    made = buffers(X=("input", (size,)), S=("output", (out,)), P=("workspace", (size,)))
    return Program.naive("bordered", made, (first, second))


def rows_computed(program: Program) -> list[int]:
    """The rows of `P` in the order in which they are computed."""
    (outer,) = program.body
    rows = find_loop(program, "P.y")
    (leaf,) = rows.body
    found = []
    for y in range(outer.hi.const):
        span = [evaluate(bound, {"S.y": y}) for bound in (rows.lo, rows.hi)]
        found += [evaluate(leaf.index[0], {"S.y": y, "P.y": r}) for r in range(*span)]
    return found


@pytest.mark.parametrize("tail", ORDERED)
def test_loop_may_be_split_in_order(tail: Tail) -> None:
    program = smooth(9, 3)
    after = split(sliding(program), "S.y", 3, tail)
    assert_keeps(program, after)
    with pytest.raises(ScheduleError):
        reorder(after, ["S.y.1", "S.y.0"])


def test_loop_may_be_cut() -> None:
    program = smooth(9, 3)
    assert_keeps(program, partition_loop(sliding(program), "S.y", 2, 5))
    cut = partition_loop(compute_at(program, "P", "S.y"), "S.y", 2, 5)
    assert_keeps(program, slide(cut, "P", "y", "S.y"))


@pytest.mark.parametrize("tail", ["shift", "balance", "guard"])
def test_strips_with_their_own_storage(tail: Tail) -> None:
    program = smooth(9, 3)
    after = compute_at(split(program, "S.y", 3, tail), "P", "S.y.1")
    after = store_at(slide(after, "P", "y", "S.y.1"), "P", "S.y.0")
    assert after.buffer("P").shape == (5, 3)
    assert_keeps(program, after)


def test_columns_outside_rows() -> None:
    program = smooth(9, 3)
    after = reorder(compute_at(program, "P", "S.x"), ["S.x", "S.y"])
    after = store_at(slide(after, "P", "y", "S.y"), "P", "S.x")
    assert after.buffer("P").shape == (9, 1)
    assert_keeps(program, after)
