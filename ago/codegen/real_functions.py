"""Rows for the functions of `csrc/ago_math.h`: exp, log, tanh, sin, pow and the like.

Read `real_rows` first. The C is the same for every instruction set, but for the suffix of its
names; generated code includes the header only where a row is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from ago.codegen.intrinsics import Lanes, Row
from ago.ir.functions import REAL_FUNCTIONS

MathLayer = Literal["f32", "avx2", "avx512", "neon"]
"""Suffix of the header's functions: single floats, or an instruction set's vectors."""

ERRORS: Mapping[str, float] = {
    **dict.fromkeys(("exp", "exp2"), 2.0),
    **dict.fromkeys(("log", "sigmoid", "tanh", "erf"), 4.0),
    **dict.fromkeys(("decay", "silu", "gelu"), 8.0),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan"), 1.0),
    **dict.fromkeys(("sinh", "cosh", "asinh", "acosh", "atanh", "pow"), 1.0),
}
"""The functions of the header, with their largest errors in units in the last place."""

OF_ARGUMENT = frozenset({"gelu"})
"""The functions whose errors are in units of their argument."""

MOST: Mapping[str, float] = {"decay": 0.0}
"""Largest argument of functions that do not have to be right for all."""

_INCLUDE = '#include "ago_math.h"\n'


def real_rows(layer: MathLayer) -> dict[str, Row]:
    """A row for each function, on single floats or on vectors.

    Args:
        layer: Whose functions.
    """
    operand = "s" if layer == "f32" else "v"
    rows: dict[str, Row] = {}
    for name, ulp in ERRORS.items():
        operands, meaning = (2, np.power) if name == "pow" else (1, REAL_FUNCTIONS[name])
        arguments = ", ".join(f"{{{k}}}" for k in range(operands))
        template = f"ago_{name}_{layer}({arguments})"
        rows[name] = Row(
            name,
            template,
            operand * operands,
            _single(meaning),
            "library",
            ulp=ulp,
            of_argument=name in OF_ARGUMENT,
            most=MOST.get(name, math.inf),
        )
    return rows


def real_helpers(*layers: MathLayer) -> dict[str, str]:
    """What generated C needs that calls one of the functions, by the function's name."""
    return {f"ago_{name}_{layer}": _INCLUDE for layer in layers for name in ERRORS}


def _single(meaning: Callable[..., Any]) -> Callable[..., Lanes]:
    """A meaning on float64 arrays, for float32 arrays."""

    def semantics(*operands: Lanes) -> Lanes:
        with np.errstate(all="ignore"):
            result = meaning(*(operand.astype(np.float64) for operand in operands))
            return np.asarray(result, np.float32)

    return semantics
