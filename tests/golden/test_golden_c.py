"""The C of a few small kernels, line by line. Their results are tested in `unit/codegen`."""

import pytest

from tests.support.compiled import emit
from tests.support.kernels import depthwise, pointwise

KERNELS = {
    "pointwise_portable": (lambda: pointwise(2, 4, 4, 4, 2, 1, 2, unroll=2), "portable"),
    "pointwise_avx2": (lambda: pointwise(2, 4, 4, 16, 2, 2, 8, unroll=2), "x86-64-v3"),
    "pointwise_avx512": (lambda: pointwise(2, 4, 4, 32, 2, 2, 16, unroll=2), "x86-64-v4"),
    "pointwise_neon": (lambda: pointwise(2, 4, 8, 8, 2, 2, 4), "cortex-a76"),
    "depthwise_avx2_shift": (lambda: depthwise(5, 12, 1, 2, 8, "shift"), "x86-64-v3"),
    "depthwise_neon_balance": (lambda: depthwise(5, 6, 1, 2, 4, "balance"), "cortex-a76"),
    "depthwise_avx512_mask": (lambda: depthwise(3, 5, 3, 3, 16, "guard"), "x86-64-v4"),
}


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_golden_c(name, golden):
    make, target = KERNELS[name]
    golden(f"{name}.c", emit(make().program, target).text)
