"""`cache_write`: a copy stage writes the output."""

from dataclasses import replace

from ago.ir.examples import depthwise, matmul
from ago.ir.nest import Buffer
from ago.schedule.cache_write import cache_write
from ago.schedule.round_axis import round_axis
from tests.support.schedules import assert_keeps, text


def test_copy_follows() -> None:
    after = cache_write(matmul(2, 3, 4), "C")
    assert (
        text(after)
        == """\
for C_i, C_j in grid(2, 3):
    C_cache[C_i, C_j] = 0.0
    for k in range(4):
        C_cache[C_i, C_j] += A[C_i, k] * B[k, C_j]
for C_out_i, C_out_j in grid(2, 3):
    C[C_out_i, C_out_j] = C_cache[C_out_i, C_out_j]"""
    )
    assert after.buffer("C_cache") == Buffer("C_cache", (2, 3), "workspace")
    assert_keeps(matmul(2, 3, 4), after)


def test_rounded_stage_guards_its_copy() -> None:
    program = depthwise(2, 2, 3, 2)
    after = cache_write(round_axis(program, "D", "c", 4), "D")
    assert after.buffer("D_cache").shape == (2, 2, 4)
    assert after.stage("D_out").guard
    assert_keeps(program, after)
    other = round_axis(cache_write(program, "D"), "D_out", "c", 4)
    assert other.buffer("D_cache").shape == (2, 2, 4)
    assert_keeps(program, other)


def test_names_that_are_taken_get_a_number() -> None:
    program = matmul(2, 3, 4)
    program = program.with_buffer(Buffer("C_cache", (1,), "workspace"))
    after = cache_write(program, "C")
    assert [b.name for b in after.buffers[-2:]] == ["C_cache", "C_cache2"]


def test_cache_has_the_dtype_of_the_output() -> None:
    program = matmul(2, 3, 4)
    program = program.with_buffer(replace(program.buffer("C"), dtype="f16"))
    assert cache_write(program, "C").buffer("C_cache").dtype == "f16"
