"""Plain C99 on single floats: the fallback target, and the scalar rows of every other table.

A fused multiply-add is written as the plain expression here, because `fmaf` would need a library on
a machine without the instruction; so results of this target may differ in the last bit.
"""

from __future__ import annotations

import numpy as np

from ago.codegen.intrinsics import Intrinsics, Lanes, arithmetic
from ago.codegen.real_functions import real_helpers, real_rows

_SCALAR = {
    "add": "({0} + {1})",
    "sub": "({0} - {1})",
    "mul": "({0} * {1})",
    "div": "({0} / {1})",
    "max": "ago_max_f32({0}, {1})",
    "min": "ago_min_f32({0}, {1})",
    "nanmax": "ago_nanmax_f32({0}, {1})",
    "nanmin": "ago_nanmin_f32({0}, {1})",
    "neg": "(-{0})",
    "abs": "__builtin_fabsf({0})",
    "sqrt": "__builtin_sqrtf({0})",
    "floor": "ago_floor_f32({0})",
    "ceil": "ago_ceil_f32({0})",
    "round": "ago_round_f32({0})",
}


def _unfused(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    return np.add(np.multiply(a, b), c)


_FMA = {"fma": "__builtin_fmaf({0}, {1}, {2})"}

SCALAR_FMA = arithmetic(_SCALAR | _FMA, "s") | real_rows("f32")
"""Scalar rows of an instruction set that has a fused multiply-add."""

PORTABLE = Intrinsics(
    isa="portable",
    lanes=1,
    headers=(),
    vector_type="float",
    mask_type="_Bool",
    rows={},
    scalar=arithmetic(_SCALAR | {"fma": "({0} * {1} + {2})"}, "s", {"fma": _unfused})
    | real_rows("f32"),
    helpers=real_helpers("f32"),
)
"""The table of the `portable` target."""
