"""Schedules made by hand: their C line by line, and what it computes on this machine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ago.ir.interpreter import interpret
from ago.ir.verify import verify
from ago.lab import run
from ago.schedule.trace import Schedule
from benchmarks.hand_schedules import (
    HAND_MADE,
    attention,
    convolution,
    depthwise,
    matmul,
    pointwise,
)
from tests.support.compiled import emit
from tests.support.programs import integers

LANES = 4

SMALL: dict[str, Callable[[], Schedule]] = {
    "matmul": lambda: matmul(LANES, 15, 16, 8),
    "pointwise": lambda: pointwise(LANES, 4, 8, 12),
    "conv3x3": lambda: convolution(LANES, 7, 4, 8),
    "depthwise": lambda: depthwise(LANES, 9, 8),
    "attention": lambda: attention(LANES, 8, 12, 8),
}


def test_all_of_them_are_here() -> None:
    assert SMALL.keys() == HAND_MADE.keys()


@pytest.mark.parametrize("name", sorted(SMALL))
def test_golden_c(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"hand_{name}_neon.c", emit(SMALL[name]().program, "cortex-a76").text)


@pytest.mark.parametrize("name", sorted(SMALL))
def test_compiled_results(name: str) -> None:
    """Exact where sums of small integers are; attention has exponentials and a quotient."""
    schedule = SMALL[name]()
    verify(schedule.program)
    arrays = integers(schedule.naive)
    if name == "attention":
        arrays = {key: array / 8 for key, array in arrays.items()}
    expected = interpret(schedule.naive, arrays)
    scheduled = interpret(schedule.program, arrays, "checked")
    for output, array in run(schedule.program, arrays, "portable").items():
        tolerance = 1e-5 if name == "attention" else 0
        np.testing.assert_allclose(scheduled[output], expected[output], rtol=1e-12)
        np.testing.assert_allclose(array, expected[output], rtol=tolerance, atol=tolerance)
