"""`round_axis`: whole vectors along an axis, in all stages that share it."""

from ago.ir.examples import chain, depthwise, matmul
from ago.ir.index import var
from ago.ir.nest import Buffer
from ago.ir.program import Program
from ago.ir.value import Load, add
from ago.schedule.round_axis import round_axis
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import diamond, pool, stage


def test_multiple_already() -> None:
    program = matmul(2, 8, 3)
    assert round_axis(program, "C", "j", 4) is program


def test_producers_grow_and_only_the_ends_are_guarded() -> None:
    after = round_axis(matmul(2, 6, 3, relu=True), "R", "j", 4)
    assert (
        text(after)
        == """\
for C_i, C_j in grid(2, 8):
    C[C_i, C_j] = 0.0
    for k in range(3):
        C[C_i, C_j] += A[C_i, k] * (B[k, C_j] if C_j < 6 else 0.0)
for R_i, R_j in grid(2, 8):
    if R_j < 6:
        R[R_i, R_j] = ir_max(0.0, C[R_i, R_j])"""
    )
    assert_keeps(matmul(2, 6, 3, relu=True), after)


def test_start_of_a_reduction_is_guarded_too() -> None:
    program = depthwise(2, 3, 3, 2)
    after = round_axis(program, "D", "c", 8)
    assert "(B[c] if c < 3 else 0.0)" in text(after)
    assert_keeps(program, after)


def test_pooled_channels() -> None:
    program = pool(4, 3, 2, 2)
    after = round_axis(program, "M", "c", 4)
    assert after.buffer("E").shape == (4, 4, 4)
    assert_keeps(program, after)


def test_producer_that_is_also_an_output() -> None:
    """It keeps its shape, so its readers are guarded."""
    program = diamond(3, 5)
    after = round_axis(program, "R", "j", 4)
    assert after.buffer("B").shape == (3, 5)
    assert after.buffer("A").shape == (3, 8)
    assert_keeps(program, after)


def test_two_axes_and_again() -> None:
    program = chain(3, 5)
    after = round_axis(round_axis(program, "R", "j", 4), "R", "i", 2)
    assert after.buffer("S").shape == (4, 8)
    assert_keeps(program, after)
    again = round_axis(after, "R", "j", 16)
    assert again.buffer("S").shape == (4, 16)
    assert_keeps(program, again)


def test_producer_read_in_two_dimensions_grows_in_both() -> None:
    s, r = (var("S.i"), var("S.j")), (var("R.i"), var("R.j"))
    axes = {"i": 3, "j": 3}
    value = add(Load("S", r), Load("S", (r[1], r[0])))
    stages = (stage("S", axes, "S", Load("x", s)), stage("R", axes, "R", value))
    made = tuple(
        Buffer(name, (3, 3), scope)
        for name, scope in (("x", "input"), ("R", "output"), ("S", "workspace"))
    )
    program = Program.naive("symmetric", made, stages)
    after = round_axis(program, "R", "j", 4)
    assert after.buffer("S").shape == (4, 4)
    assert_keeps(program, after)
