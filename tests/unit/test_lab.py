"""The bench for single programs: results, operations, times; and what it refuses."""

import numpy as np
import pytest

from ago import lab
from ago.errors import InputError, IRError
from ago.ir import define
from ago.ir.examples import matmul, pad
from ago.ir.nest import Buffer
from ago.schedule.pack import pack
from ago.schedule.split import split


def test_a_scheduled_program_computes_what_the_naive_one_does():
    program = matmul(4, 6, 5, relu=True)
    rng = np.random.default_rng(0)
    arrays = {"A": rng.integers(-4, 4, (4, 5)), "B": rng.integers(-4, 4, (5, 6))}
    scheduled = pack(split(program, "C.j", 4, "guard"), "B", ["C.j.0", "C.k", "C.j.1"])
    for candidate in (program, scheduled):
        result = lab.run(candidate, arrays)
        np.testing.assert_array_equal(result["R"], np.maximum(0, arrays["A"] @ arrays["B"]))


def test_what_a_program_does_not_write_is_nan():
    program = pad(2, 1)
    half = program.with_body(split(program, "P.y", 2).body).with_buffer(
        Buffer("P", (8, 4), "output")
    )
    result = lab.run(half, {"X": np.ones((2, 2))})["P"]
    assert np.isnan(result[4:]).all()
    assert result[:4].sum() == 4


def test_operations_are_calls_and_sums():
    assert lab.flop(matmul(4, 6, 5)) == 2 * 4 * 6 * 5
    assert lab.flop(matmul(4, 6, 5, relu=True)) == 2 * 4 * 6 * 5 + 4 * 6
    assert lab.flop(pad(3, 1)) == 0
    chosen = define("y[i] = x[i] * x[i] if i >= 1 else x[i] + 1", {"x": (8,)})
    assert lab.flop(chosen) == 2 * 8


def test_a_timing_relates_speed_to_the_peak():
    timing = lab.Timing(seconds=2e-3, flop=10_000_000, peak=2e10)
    assert timing.share == 0.25
    assert str(timing) == "2 ms, 5.0 GFLOP/s, 25.0% of the FMA peak"
    measured = lab.measure(matmul(8, 16, 8))
    assert measured.flop == 2048
    assert measured.seconds > 0
    assert measured.peak > 0


def test_what_does_not_fit_is_refused():
    program = matmul(4, 6, 5)
    with pytest.raises(InputError, match="no array for B; given: A"):
        lab.run(program, {"A": np.zeros((4, 5))})
    with pytest.raises(InputError, match=r"A has the shape \(4, 5\), not \(5, 4\)"):
        lab.run(program, {"A": np.zeros((5, 4)), "B": np.zeros((5, 6))})
    with pytest.raises(InputError, match="unknown target"):
        lab.measure(program, "cortex-a1")
    with pytest.raises(IRError):
        lab.measure(program.with_buffer(Buffer("B", (5, 5), "constant")))
    with pytest.raises(InputError, match="Z is no operand; operands: A, B"):
        lab.run(program, {"A": np.zeros((4, 5)), "B": np.zeros((5, 6)), "Z": 1})
    for wrong in ([["a"]], [[1, 2], [1]], [[1j]]):
        with pytest.raises(InputError, match="A is no array of f32"):
            lab.run(program, {"A": wrong, "B": np.zeros((5, 6))})
    with pytest.raises(InputError, match=r"no memory for \[100000000000000\]"):
        lab.measure(define("y[i] = x[i]", {"x": (10**14,)}))


@pytest.mark.parametrize("name", ["int", "NULL", "INT64_MAX", "ago_run", "vaddq_f32", "ÿ"])
def test_names_that_c_has_taken(name):
    program = define(f"{name}[i] = x[i] + 1", {"x": (3,)})
    np.testing.assert_array_equal(lab.run(program, {"x": [1, 2, 3]})[name], [2, 3, 4])
