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


def all_kernels(target: str) -> dict[str, Kernel]:
    lanes = lanes_of(target)
    kernels = {
        f"pointwise {order}": pointwise(2, 6, 8, 4 * lanes, 3, 2, lanes, order=order)
        for order in ("xc", "cx")
    }
    for size, channels, kernel, tile, tail in DEPTHWISE:
        name = f"depthwise {size} {channels} {tail}"
        kernels[name] = depthwise(size, channels, kernel, tile, lanes, tail)
    return kernels


@pytest.mark.parametrize("target", RUNNABLE)
def test_compiled_kernels_equal_numpy(target):
    kernels = list(all_kernels(target).values())
    outputs = run_compiled([(k.program, k.arrays) for k in kernels], target)
    for kernel, output in zip(kernels, outputs, strict=True):
        kernel.check(output)


@pytest.mark.parametrize("shape", DEPTHWISE[:4], ids=str)
def test_resolve_keeps_the_meaning(shape):
    size, channels, kernel, tile, tail = shape
    made = depthwise(size, channels, kernel, tile, 4, tail)
    for program in (made.program, resolve(made.program)):
        made.check(interpret(program, made.arrays, mode="checked")["out"])


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
