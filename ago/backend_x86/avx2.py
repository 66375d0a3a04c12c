"""AVX2 with FMA: eight lanes.

`_mm256_max_ps(a, b)` is exactly `a > b ? a : b`, and `_mm256_min_ps` likewise: both return the
second operand where either is NaN. Partial stores are made of 4, 2 and 1 lanes, because
`_mm256_maskstore_ps` takes tens of cycles on AMD cores; partial loads by mask are fast everywhere.
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

_LANES = 8


def _partial_load(count: int) -> Row:
    mask = ", ".join("-1" if lane < count else "0" for lane in range(_LANES))
    template = f"_mm256_maskload_ps({{0}}, _mm256_setr_epi32({mask}))"
    if count == 4:
        template = "_mm256_zextps128_ps256(_mm_loadu_ps({0}))"
    return Row(f"load.{count}", template, "p", load_first(count, _LANES), "load")


def _partial_store(count: int) -> Row:
    template = f"ago_store_{count}_avx2({{0}}, {{1}})"
    return Row(f"store.{count}", template, "pv", store_first(count), "store")


def _store_helper(count: int) -> str:
    """A C function that stores the first `count` lanes in pieces of 4, 2 and 1."""
    lines = ["__m128 part = _mm256_castps256_ps128(v);"]
    done = 0
    if count >= 4:
        lines.append("_mm_storeu_ps(p, part);")
        done = 4
        if count > 4:
            lines.append("part = _mm256_extractf128_ps(v, 1);")
    if count - done >= 2:
        lines.append(f"_mm_storel_pi((__m64 *)(p + {done}), part);")
        done += 2
        if count > done:
            lines.append("part = _mm_movehl_ps(part, part);")
    if count > done:
        lines.append(f"_mm_store_ss(p + {done}, part);")
    body = "\n".join(f"    {line}" for line in lines)
    return f"static inline void ago_store_{count}_avx2(float *p, __m256 v) {{\n{body}\n}}\n"


def _nan_helper(extreme: str) -> str:
    """A C function that is NaN where either operand is, and else what the instruction gives."""
    return f"""static inline __m256 ago_nan{extreme}_avx2(__m256 a, __m256 b) {{
    const __m256 nan = _mm256_cmp_ps(a, a, _CMP_UNORD_Q);
    return _mm256_blendv_ps(_mm256_{extreme}_ps(a, b), a, nan);
}}
"""


_SETTLE, _SETTLE_HELPER = settle("avx2", "__m256", "x")


AVX2 = Intrinsics(
    isa="avx2",
    lanes=_LANES,
    headers=("<immintrin.h>",),
    vector_type="__m256",
    mask_type="__m256",
    rows=table(
        Row("load", "_mm256_loadu_ps({0})", "p", lambda memory: memory[:_LANES], "load"),
        Row("store", "_mm256_storeu_ps({0}, {1})", "pv", store_first(_LANES), "store"),
        Row("broadcast", "_mm256_broadcast_ss({0})", "p", spread(_LANES), "load"),
        Row("splat", "_mm256_set1_ps({0})", "s", spread(_LANES), "move"),
        Row(
            "set",
            "_mm256_setr_ps({0}, {1}, {2}, {3}, {4}, {5}, {6}, {7})",
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
            "add": "_mm256_add_ps({0}, {1})",
            "sub": "_mm256_sub_ps({0}, {1})",
            "mul": "_mm256_mul_ps({0}, {1})",
            "div": "_mm256_div_ps({0}, {1})",
            "max": "_mm256_max_ps({0}, {1})",
            "min": "_mm256_min_ps({0}, {1})",
            "nanmax": "ago_nanmax_avx2({0}, {1})",
            "nanmin": "ago_nanmin_avx2({0}, {1})",
            "neg": "_mm256_xor_ps({0}, _mm256_set1_ps(-0.0f))",
            "abs": "_mm256_andnot_ps(_mm256_set1_ps(-0.0f), {0})",
            "sqrt": "_mm256_sqrt_ps({0})",
            "floor": "_mm256_floor_ps({0})",
            "ceil": "_mm256_ceil_ps({0})",
            "round": "_mm256_round_ps({0}, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)",
            "fma": "_mm256_fmadd_ps({0}, {1}, {2})",
        },
        "v",
    )
    | mask_rows(
        {
            "equal": "_mm256_cmp_ps({0}, {1}, _CMP_EQ_OQ)",
            "less": "_mm256_cmp_ps({0}, {1}, _CMP_LT_OQ)",
            "less_equal": "_mm256_cmp_ps({0}, {1}, _CMP_LE_OQ)",
            "and": "_mm256_and_ps({0}, {1})",
            "or": "_mm256_or_ps({0}, {1})",
            "xor": "_mm256_xor_ps({0}, {1})",
            "not": "_mm256_xor_ps({0}, _mm256_castsi256_ps(_mm256_set1_epi32(-1)))",
            "where": "_mm256_blendv_ps({2}, {1}, {0})",
        }
    )
    | real_rows("avx2"),
    scalar=SCALAR_FMA,
    helpers={f"ago_store_{count}_avx2": _store_helper(count) for count in range(1, _LANES)}
    | {f"ago_nan{extreme}_avx2": _nan_helper(extreme) for extreme in ("max", "min")}
    | _SETTLE_HELPER
    | real_helpers("f32", "avx2"),
)
"""The table of `avx2` targets."""
