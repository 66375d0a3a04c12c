"""What a backend supplies: a table of C templates with their numpy meaning.

Read `Intrinsics` first. A table is data: every row has a C template and a callable that says what
it computes, and a test compiles each row and compares the two. The printer looks rows up by name
and knows no instruction set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from ago.target import Isa

Lanes = npt.NDArray[np.float32]
"""The lanes of one vector, or the memory at a pointer; a scalar is an array of one element."""

Latency = Literal["load", "store", "move", "arithmetic", "divide", "library"]
"""Class of latency: figures belong to targets, not to instruction sets."""


@dataclass(frozen=True, slots=True)
class Row:
    """One operation of an instruction set.

    Attributes:
        name: What the printer asks for, such as `"fma"` or `"load.3"`.
        template: A C expression with `{0}`, `{1}`... for its operands.
        operands: One letter each: `v` a vector, `s` a scalar, `p` a pointer to float, `m` a mask.
        semantics: The meaning on float32 arrays, a mask being a bool array. A pointer's array is
            the memory it points to; a row named `store...` takes that memory before and returns it
            afterwards.
        latency: Its class of latency.
        makes_mask: Whether the result is a mask.
        ulp: Largest distance from the meaning, in units in the last place; infinities, NaN and the
            sign of zero are always right.
        of_argument: Whether these are units of the first operand instead of the result.
        most: The largest first operand that it has to be right for.
    """

    name: str
    template: str
    operands: str
    semantics: Callable[..., Lanes]
    latency: Latency
    makes_mask: bool = False
    ulp: float = 0.0
    of_argument: bool = False
    most: float = math.inf

    def c(self, *operands: str) -> str:
        """The C expression on these operands."""
        return self.template.format(*operands)


@dataclass(frozen=True, slots=True)
class Intrinsics:
    """The vector operations of one instruction set.

    Attributes:
        isa: Its name, as in `Target.isa`.
        lanes: float32 lanes of a vector; 1 means that only `scalar` rows are used.
        headers: C headers to include, with their brackets.
        vector_type: C type of a vector.
        mask_type: C type of a lane mask.
        rows: Vector rows by name: `load`, `load.K` (the first K lanes, the others 0), `store`,
            `store.K`, `broadcast` (one float from memory), `splat` (one float), `set` (one float a
            lane), the functions of `ARITHMETIC` and `MASKS`, others of `ago.ir.functions.FUNCTIONS`
            as far as there are vector forms, `fma` (a * b + c, one rounding), and where `lane_form`
            holds `lane.K` (lane K to all lanes) and `fma_lane.K` (a * b[K] + c); `settle`, which
            changes nothing, where compilers need it.
        scalar: Rows on single floats: those functions but `MASKS`, and `fma`.
        lane_form: Whether an FMA can take one lane of a vector as a factor.
        helpers: C that templates need, by the name of the function they call: its definition, or
            the `#include` of a header of `csrc/`. Printed only where it is used.
    """

    isa: Isa
    lanes: int
    headers: tuple[str, ...]
    vector_type: str
    mask_type: str
    rows: Mapping[str, Row]
    scalar: Mapping[str, Row]
    lane_form: bool = False
    helpers: Mapping[str, str] = field(default_factory=dict)


def settle(isa: str, vector_type: str, constraint: str) -> tuple[Row, dict[str, str]]:
    """The row `settle`, and its helper: a vector that compilers have to compute before going on.

    Args:
        isa: Suffix of the helper.
        vector_type: C type of a vector.
        constraint: Of an operand of inline assembly that is a vector register.
    """
    name = f"ago_settle_{isa}"
    helper = (
        "/* v, but the compiler cannot know that: what is computed from it waits for it */\n"
        f"static inline {vector_type} {name}({vector_type} v) {{\n"
        f'    __asm__ volatile("" : "+{constraint}"(v));\n    return v;\n}}\n'
    )
    return Row("settle", f"{name}({{0}})", "v", lambda v: v, "move"), {name: helper}


def table(*rows: Row) -> dict[str, Row]:
    """Rows by their names."""
    return {row.name: row for row in rows}


def maximum(a: Lanes, b: Lanes) -> Lanes:
    """`a if a > b else b`: the second operand where either is NaN."""
    return np.where(a > b, a, b)


def minimum(a: Lanes, b: Lanes) -> Lanes:
    """`a if a < b else b`: the second operand where either is NaN."""
    return np.where(a < b, a, b)


def fused(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """`a * b + c`, rounded once.

    The product is exact in float64. The sum is rounded to odd, so that its rounding to float32 is
    that of the exact sum (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums").
    """
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    virtual = total - product
    error = (product - (total - virtual)) + (addend - virtual)
    even = total.view(np.int64) & 1 == 0
    inexact = np.isfinite(total) & (error != 0) & even
    odd = np.nextafter(total, np.copysign(np.inf, error))
    return np.where(inexact, odd, total).astype(np.float32)


ARITHMETIC: Mapping[str, tuple[int, Callable[..., Lanes], Latency]] = {
    "add": (2, np.add, "arithmetic"),
    "sub": (2, np.subtract, "arithmetic"),
    "mul": (2, np.multiply, "arithmetic"),
    "div": (2, np.divide, "divide"),
    "neg": (1, np.negative, "arithmetic"),
    "abs": (1, np.abs, "arithmetic"),
    "max": (2, maximum, "arithmetic"),
    "min": (2, minimum, "arithmetic"),
    "nanmax": (2, np.maximum, "arithmetic"),
    "nanmin": (2, np.minimum, "arithmetic"),
    "sqrt": (1, np.sqrt, "divide"),
    "floor": (1, np.floor, "arithmetic"),
    "ceil": (1, np.ceil, "arithmetic"),
    "round": (1, np.rint, "arithmetic"),
    "fma": (3, fused, "arithmetic"),
}
"""Rows that every table has: number of operands, meaning on float32 arrays, latency."""

MASKS: Mapping[str, tuple[str, Callable[..., Lanes]]] = {
    "equal": ("vv", np.equal),
    "less": ("vv", np.less),
    "less_equal": ("vv", np.less_equal),
    "and": ("mm", np.logical_and),
    "or": ("mm", np.logical_or),
    "xor": ("mm", np.logical_xor),
    "not": ("m", np.logical_not),
    "where": ("mvv", np.where),
}
"""Rows that every table of vectors has: operands, meaning. All but `where` make masks."""


def arithmetic(
    templates: Mapping[str, str],
    operand: Literal["v", "s"],
    semantics: Mapping[str, Callable[..., Lanes]] | None = None,
) -> dict[str, Row]:
    """Rows of the scalar functions and of `fma`.

    Args:
        templates: C template by row name.
        operand: Letter of every operand.
        semantics: Meanings that differ from the usual ones, by row name.

    Returns:
        The rows by name.
    """
    own = semantics or {}
    return {
        name: Row(
            name,
            template,
            operand * ARITHMETIC[name][0],
            own.get(name, ARITHMETIC[name][1]),
            ARITHMETIC[name][2],
        )
        for name, template in templates.items()
    }


def mask_rows(templates: Mapping[str, str]) -> dict[str, Row]:
    """Rows of the functions that make or use lane masks.

    Args:
        templates: C template of each name in `MASKS`.

    Returns:
        The rows by name.
    """
    return {
        name: Row(name, templates[name], operands, meaning, "arithmetic", name != "where")
        for name, (operands, meaning) in MASKS.items()
    }


def load_first(count: int, lanes: int) -> Callable[[Lanes], Lanes]:
    """Meaning of `load.K`: the first `count` floats, the other lanes 0."""

    def load(memory: Lanes) -> Lanes:
        vector = np.zeros(lanes, np.float32)
        vector[:count] = memory[:count]
        return vector

    return load


def store_first(count: int) -> Callable[[Lanes, Lanes], Lanes]:
    """Meaning of `store.K`: the first `count` lanes into memory, the rest of it untouched."""

    def store(memory: Lanes, vector: Lanes) -> Lanes:
        after = memory.copy()
        after[:count] = vector[:count]
        return after

    return store


def spread(lanes: int) -> Callable[[Lanes], Lanes]:
    """Meaning of `broadcast` and `splat`: the first float in every lane."""
    return lambda value: np.full(lanes, value[0], np.float32)


def gather(*values: Lanes) -> Lanes:
    """Meaning of `set`: one float a lane."""
    return np.concatenate(values)
