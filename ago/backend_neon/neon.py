"""NEON (AArch64 Advanced SIMD): four lanes, and FMA by one lane of a vector.

`max(a, b)` is FMAX, which returns NaN where either operand is NaN. That equals the contract
`a > b ? a : b` except where only the *first* operand is NaN; lowerings put the operand that may be
NaN second, so no generated code sees the difference. The rows' semantics state what FMAX does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ago.codegen.intrinsics import (
    Intrinsics,
    Lanes,
    Row,
    arithmetic,
    fused,
    gather,
    load_first,
    mask_rows,
    maximum,
    minimum,
    settle,
    spread,
    store_first,
    table,
)
from ago.codegen.portable import SCALAR_FMA
from ago.codegen.real_functions import real_helpers, real_rows

_LANES = 4


def _nan_first(choose: Callable[[Lanes, Lanes], Lanes]) -> Callable[[Lanes, Lanes], Lanes]:
    """`choose`, but NaN also where the first operand is NaN."""
    return lambda a, b: np.where(np.isnan(a), a, choose(a, b))


def _lane(lane: int) -> Row:
    def pick(vector: Lanes) -> Lanes:
        return np.full(_LANES, vector[lane], np.float32)

    return Row(f"lane.{lane}", f"vdupq_laneq_f32({{0}}, {lane})", "v", pick, "move")


def _fma_lane(lane: int) -> Row:
    def multiply(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
        return fused(a, np.full(_LANES, b[lane], np.float32), c)

    template = f"vfmaq_laneq_f32({{2}}, {{0}}, {{1}}, {lane})"
    return Row(f"fma_lane.{lane}", template, "vvv", multiply, "arithmetic")


_SETTLE, _SETTLE_HELPER = settle("neon", "float32x4_t", "w")

_HELPERS = {
    "ago_load_1_neon": """static inline float32x4_t ago_load_1_neon(const float *p) {
    return vld1q_lane_f32(p, vdupq_n_f32(0.0f), 0);
}
""",
    "ago_load_2_neon": """static inline float32x4_t ago_load_2_neon(const float *p) {
    return vcombine_f32(vld1_f32(p), vdup_n_f32(0.0f));
}
""",
    "ago_load_3_neon": """static inline float32x4_t ago_load_3_neon(const float *p) {
    return vld1q_lane_f32(p + 2, vcombine_f32(vld1_f32(p), vdup_n_f32(0.0f)), 2);
}
""",
    "ago_set_neon": """static inline float32x4_t ago_set_neon(float a, float b, float c, float d) {
    const float lanes[4] = {a, b, c, d};
    return vld1q_f32(lanes);
}
""",
    "ago_store_3_neon": """static inline void ago_store_3_neon(float *p, float32x4_t v) {
    vst1_f32(p, vget_low_f32(v));
    vst1q_lane_f32(p + 2, v, 2);
}
""",
}

NEON = Intrinsics(
    isa="neon",
    lanes=_LANES,
    headers=("<arm_neon.h>",),
    vector_type="float32x4_t",
    mask_type="uint32x4_t",
    rows=table(
        Row("load", "vld1q_f32({0})", "p", lambda memory: memory[:_LANES], "load"),
        *(
            Row(f"load.{n}", f"ago_load_{n}_neon({{0}})", "p", load_first(n, _LANES), "load")
            for n in (1, 2, 3)
        ),
        Row("store", "vst1q_f32({0}, {1})", "pv", store_first(_LANES), "store"),
        Row("store.1", "vst1q_lane_f32({0}, {1}, 0)", "pv", store_first(1), "store"),
        Row("store.2", "vst1_f32({0}, vget_low_f32({1}))", "pv", store_first(2), "store"),
        Row("store.3", "ago_store_3_neon({0}, {1})", "pv", store_first(3), "store"),
        Row("broadcast", "vld1q_dup_f32({0})", "p", spread(_LANES), "load"),
        Row("splat", "vdupq_n_f32({0})", "s", spread(_LANES), "move"),
        Row("set", "ago_set_neon({0}, {1}, {2}, {3})", "s" * _LANES, gather, "move"),
        _SETTLE,
        *(_lane(lane) for lane in range(_LANES)),
        *(_fma_lane(lane) for lane in range(_LANES)),
    )
    | arithmetic(
        {
            "add": "vaddq_f32({0}, {1})",
            "sub": "vsubq_f32({0}, {1})",
            "mul": "vmulq_f32({0}, {1})",
            "div": "vdivq_f32({0}, {1})",
            "max": "vmaxq_f32({0}, {1})",
            "min": "vminq_f32({0}, {1})",
            "nanmax": "vmaxq_f32({0}, {1})",
            "nanmin": "vminq_f32({0}, {1})",
            "neg": "vnegq_f32({0})",
            "abs": "vabsq_f32({0})",
            "sqrt": "vsqrtq_f32({0})",
            "floor": "vrndmq_f32({0})",
            "ceil": "vrndpq_f32({0})",
            "round": "vrndnq_f32({0})",
            "fma": "vfmaq_f32({2}, {0}, {1})",
        },
        "v",
        {"max": _nan_first(maximum), "min": _nan_first(minimum)},
    )
    | mask_rows(
        {
            "equal": "vceqq_f32({0}, {1})",
            "less": "vcltq_f32({0}, {1})",
            "less_equal": "vcleq_f32({0}, {1})",
            "and": "vandq_u32({0}, {1})",
            "or": "vorrq_u32({0}, {1})",
            "xor": "veorq_u32({0}, {1})",
            "not": "vmvnq_u32({0})",
            "where": "vbslq_f32({0}, {1}, {2})",
        }
    )
    | real_rows("neon"),
    scalar=SCALAR_FMA,
    lane_form=True,
    helpers=_HELPERS | _SETTLE_HELPER | real_helpers("f32", "neon"),
)
"""The table of `neon` targets."""
