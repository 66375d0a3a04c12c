"""Hand-made nests, compiled for every instruction set, equal numpy exactly."""

import re

import pytest

from ago.codegen.resolve import resolve
from ago.ir.interpreter import interpret
from ago.target import TARGETS
from tests.support.compiled import HOST_TARGETS, TABLES, emit, run_compiled
from tests.support.kernels import Kernel, depthwise, pointwise

RUNNABLE = sorted({*HOST_TARGETS, "cortex-a76"})

DEPTHWISE = [
    (1, 1, 3, 4, "guard"),
    (7, 3, 3, 4, "shift"),
    (9, 5, 3, 4, "guard"),
    (9, 17, 3, 4, "balance"),
    (14, 16, 5, 6, "balance"),
]


def lanes_of(target: str) -> int:
    """Vector length for a target; 4 for scalar code, whose vector loops are any."""
    lanes = TARGETS[target].lanes
    return lanes if lanes > 1 else 4


def run(kernel: Kernel, target: str) -> None:
    kernel.check(run_compiled(kernel.program, target, kernel.arrays))


@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("order", ["xc", "cx"])
def test_pointwise(target, order):
    lanes = lanes_of(target)
    run(pointwise(2, 6, 8, 4 * lanes, 3, 2, lanes, order=order), target)


@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("shape", DEPTHWISE, ids=str)
def test_depthwise_with_borders_and_tails(target, shape):
    size, channels, kernel, tile, tail = shape
    run(depthwise(size, channels, kernel, tile, lanes_of(target), tail), target)


@pytest.mark.parametrize("shape", DEPTHWISE[:4], ids=str)
def test_resolve_keeps_the_meaning(shape):
    size, channels, kernel, tile, tail = shape
    made = depthwise(size, channels, kernel, tile, 4, tail)
    for program in (made.program, resolve(made.program)):
        made.check(interpret(program, made.arrays, mode="checked"))


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "cortex-a76"])
def test_no_test_is_left_in_unrolled_code(target):
    made = depthwise(9, 17, 3, 4, TARGETS[target].lanes, "balance")
    assert not re.search(r"\bif\b|\?", emit(made.program, target).text)


def test_avx512_masks_are_immediates():
    made = depthwise(9, 17, 3, 4, 16, "shift")
    text = emit(made.program, "x86-64-v4").text
    assert "_mm512_maskz_loadu_ps(0x0001, " in text
    assert re.search(r"_mm512_mask_storeu_ps\([^,]+, 0x0001, ", text)


@pytest.mark.parametrize("target", sorted(TABLES))
def test_emission_is_deterministic(target):
    lanes = lanes_of(target)
    first, second = (emit(pointwise(2, 6, 8, 4 * lanes, 3, 2, lanes).program, target) for _ in "ab")
    assert first == second
