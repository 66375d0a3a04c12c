"""AVX-512: sixteen lanes, partial loads and stores by immediate masks.

`_mm512_max_ps(a, b)` is exactly `a > b ? a : b`, and `_mm512_min_ps` likewise: both return the
second operand where either is NaN.
"""

from __future__ import annotations

from ago.codegen.intrinsics import (
    Intrinsics,
    Row,
    arithmetic,
    gather,
    load_first,
    spread,
    store_first,
    table,
)
from ago.codegen.portable import SCALAR_FMA

_LANES = 16


def _partial_load(count: int) -> Row:
    mask = f"0x{(1 << count) - 1:04x}"
    template = f"_mm512_maskz_loadu_ps({mask}, {{0}})"
    return Row(f"load.{count}", template, "p", load_first(count, _LANES), "load")


def _partial_store(count: int) -> Row:
    mask = f"0x{(1 << count) - 1:04x}"
    template = f"_mm512_mask_storeu_ps({{0}}, {mask}, {{1}})"
    return Row(f"store.{count}", template, "pv", store_first(count), "store")


_NANMAX = """static inline __m512 ago_nanmax_avx512(__m512 a, __m512 b) {
    const __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    return _mm512_mask_mov_ps(_mm512_max_ps(a, b), nan, a);
}
"""

AVX512 = Intrinsics(
    isa="avx512",
    lanes=_LANES,
    headers=("<immintrin.h>",),
    vector_type="__m512",
    rows=table(
        Row("load", "_mm512_loadu_ps({0})", "p", lambda memory: memory[:_LANES], "load"),
        Row("store", "_mm512_storeu_ps({0}, {1})", "pv", store_first(_LANES), "store"),
        Row("broadcast", "_mm512_set1_ps(*({0}))", "p", spread(_LANES), "load"),
        Row("splat", "_mm512_set1_ps({0})", "s", spread(_LANES), "move"),
        Row(
            "set",
            f"_mm512_setr_ps({', '.join(f'{{{lane}}}' for lane in range(_LANES))})",
            "s" * _LANES,
            gather,
            "move",
        ),
        *(_partial_load(count) for count in range(1, _LANES)),
        *(_partial_store(count) for count in range(1, _LANES)),
    )
    | arithmetic(
        {
            "add": "_mm512_add_ps({0}, {1})",
            "sub": "_mm512_sub_ps({0}, {1})",
            "mul": "_mm512_mul_ps({0}, {1})",
            "div": "_mm512_div_ps({0}, {1})",
            "max": "_mm512_max_ps({0}, {1})",
            "min": "_mm512_min_ps({0}, {1})",
            "nanmax": "ago_nanmax_avx512({0}, {1})",
            "fma": "_mm512_fmadd_ps({0}, {1}, {2})",
        },
        "v",
    ),
    scalar=SCALAR_FMA,
    helpers={"ago_nanmax_avx512": _NANMAX},
)
"""The table of `avx512` targets."""
