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
    mask_rows,
    settle,
    spread,
    store_first,
    table,
)
from ago.codegen.portable import SCALAR_FMA
from ago.codegen.real_functions import real_helpers, real_rows

_LANES = 16


def _partial_load(count: int) -> Row:
    mask = f"0x{(1 << count) - 1:04x}"
    template = f"_mm512_maskz_loadu_ps({mask}, {{0}})"
    return Row(f"load.{count}", template, "p", load_first(count, _LANES), "load")


def _partial_store(count: int) -> Row:
    mask = f"0x{(1 << count) - 1:04x}"
    template = f"_mm512_mask_storeu_ps({{0}}, {mask}, {{1}})"
    return Row(f"store.{count}", template, "pv", store_first(count), "store")


_NO_EXCEPTION = "_MM_FROUND_NO_EXC"

_NEG = """static inline __m512 ago_neg_avx512(__m512 a) {
    const __m512i sign = _mm512_set1_epi32(-0x7fffffff - 1);
    return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(a), sign));
}
"""


def _nan_helper(extreme: str) -> str:
    """A C function that is NaN where either operand is, and else what the instruction gives."""
    return f"""static inline __m512 ago_nan{extreme}_avx512(__m512 a, __m512 b) {{
    const __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    return _mm512_mask_mov_ps(_mm512_{extreme}_ps(a, b), nan, a);
}}
"""


_SETTLE, _SETTLE_HELPER = settle("avx512", "__m512", "v")


AVX512 = Intrinsics(
    isa="avx512",
    lanes=_LANES,
    headers=("<immintrin.h>",),
    vector_type="__m512",
    mask_type="__mmask16",
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
        _SETTLE,
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
            "nanmin": "ago_nanmin_avx512({0}, {1})",
            "neg": "ago_neg_avx512({0})",
            "abs": "_mm512_abs_ps({0})",
            "sqrt": "_mm512_sqrt_ps({0})",
            "floor": f"_mm512_roundscale_ps({{0}}, {_NO_EXCEPTION} | _MM_FROUND_TO_NEG_INF)",
            "ceil": f"_mm512_roundscale_ps({{0}}, {_NO_EXCEPTION} | _MM_FROUND_TO_POS_INF)",
            "round": f"_mm512_roundscale_ps({{0}}, {_NO_EXCEPTION} | _MM_FROUND_TO_NEAREST_INT)",
            "fma": "_mm512_fmadd_ps({0}, {1}, {2})",
        },
        "v",
    )
    | mask_rows(
        {
            "equal": "_mm512_cmp_ps_mask({0}, {1}, _CMP_EQ_OQ)",
            "less": "_mm512_cmp_ps_mask({0}, {1}, _CMP_LT_OQ)",
            "less_equal": "_mm512_cmp_ps_mask({0}, {1}, _CMP_LE_OQ)",
            "and": "_kand_mask16({0}, {1})",
            "or": "_kor_mask16({0}, {1})",
            "xor": "_kxor_mask16({0}, {1})",
            "not": "_knot_mask16({0})",
            "where": "_mm512_mask_blend_ps({0}, {2}, {1})",
        }
    )
    | real_rows("avx512"),
    scalar=SCALAR_FMA,
    helpers={f"ago_nan{extreme}_avx512": _nan_helper(extreme) for extreme in ("max", "min")}
    | {"ago_neg_avx512": _NEG}
    | _SETTLE_HELPER
    | real_helpers("f32", "avx512"),
)
"""The table of `avx512` targets."""
