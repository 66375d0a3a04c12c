"""Pieces of C text: identifiers, types, literals, integer expressions, and the helpers they call.

Everything here is a pure function from a value to text. Integer expressions use `int64_t`; `//` and
`%` of a possibly negative value call helpers that round towards minus infinity.
"""

from __future__ import annotations

import hashlib
import math
import re
import textwrap
from collections.abc import Iterable, Mapping

import numpy as np

from ago.ir.bounds import Ranges, interval
from ago.ir.functions import INTEGERS, SIGNED
from ago.ir.index import Atom, FloorDiv, Index, Lookup, Max, Min, Mod, Table, Var

HELPERS: Mapping[str, str] = {
    "ago_min": (
        "static inline int64_t ago_min(int64_t a, int64_t b) {\n    return a < b ? a : b;\n}\n"
    ),
    "ago_max": (
        "static inline int64_t ago_max(int64_t a, int64_t b) {\n    return a > b ? a : b;\n}\n"
    ),
    "ago_floordiv": (
        "/* a / b rounded towards minus infinity, b > 0 */\n"
        "static inline int64_t ago_floordiv(int64_t a, int64_t b) {\n"
        "    return a / b - (a % b < 0);\n}\n"
    ),
    "ago_mod": (
        "/* a modulo b in [0, b), b > 0 */\n"
        "static inline int64_t ago_mod(int64_t a, int64_t b) {\n"
        "    return a % b + (a % b < 0 ? b : 0);\n}\n"
    ),
    "ago_opaque": (
        "/* p, but the compiler cannot know that: loads through it stay where they are */\n"
        "static inline const float *ago_opaque(const float *p) {\n"
        '    __asm__ volatile("" : "+r"(p));\n    return p;\n}\n'
    ),
    "ago_keep_order": (
        "/* nothing, but the compiler cannot know that: loads after it stay after it */\n"
        'static inline void ago_keep_order(void) {\n    __asm__ volatile("" ::: "memory");\n}\n'
    ),
}
"""C functions for indices and for the order of loads, by name."""

C_TYPES: Mapping[str, str] = {
    "f32": "float",
    "f64": "double",
    "bool": "_Bool",
    **{dtype: f"{'' if dtype in SIGNED else 'u'}int{dtype[1:]}_t" for dtype in INTEGERS},
}
"""The C type of each element type that is generated."""
_HELPER_CALL = re.compile(r"\bago_[a-z0-9_]+(?=\()")

# Keywords of C and of C++, types, macros.
_RESERVED = frozenset(
    re.findall(
        r"\w+",
        """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while asm int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t
    uint64_t _Bool NULL offsetof
    alignas alignof and and_eq bitand bitor bool catch char8_t char16_t char32_t class co_await
    co_return co_yield compl concept const_cast consteval constexpr constinit decltype delete
    dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq nullptr
    operator or or_eq private protected public reinterpret_cast requires static_assert static_cast
    template this thread_local throw true try typeid typename typeof using virtual wchar_t xor
    xor_eq
    """,
    )
)
_FOREIGN = re.compile(r"(ago|AGO)_\w+|v[a-z0-9]+_(lane_|laneq_|n_)?[fsu]\d+|\w+_(MAX|MIN)")
"""Names that csrc/, the intrinsics of NEON and the headers of C may have taken."""


def used_helpers(text: str, known: Iterable[str]) -> tuple[str, ...]:
    """Names of the known helpers that `text` calls, sorted."""
    return tuple(sorted(set(_HELPER_CALL.findall(text)) & set(known)))


def identifier(name: str) -> str:
    """`name` as a C identifier: every other character becomes an underscore."""
    text = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"v{text}" if not text or text[0].isdigit() or text.startswith("_") else text


class Names:
    """Gives out C identifiers that are unique within one function."""

    def __init__(self) -> None:
        self._taken = set(_RESERVED)
        self._next: dict[str, int] = {}

    def new(self, hint: str) -> str:
        """An unused identifier close to `hint`."""
        base = identifier(hint)
        base = f"my_{base}" if _FOREIGN.fullmatch(base) else base
        name = base
        while name in self._taken or _FOREIGN.fullmatch(name):
            number = self._next.get(base, 1)
            self._next[base] = number + 1
            name = f"{base}_{number}" if not base[-1].isdigit() else f"{base}_n{number}"
        self._taken.add(name)
        return name

    @property
    def given(self) -> frozenset[str]:
        """Every identifier given out so far."""
        return frozenset(self._taken - _RESERVED)


def number_name(text: str) -> str:
    """What to call a constant."""
    return "k_inf" if "inf" in text else "k" + text.strip("f").replace(".0", "").replace("-", "m")


def float_literal(value: float) -> str:
    """The C literal of the float32 nearest to `value`, exact."""
    if math.isnan(value):
        return '__builtin_nanf("")'
    if math.isinf(value):
        return "__builtin_inff()" if value > 0 else "-__builtin_inff()"
    text = str(np.float32(value))
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def literal(value: float, dtype: str) -> str:
    """The C literal of a constant."""
    if dtype == "f32":
        return float_literal(value)
    if dtype == "f64":
        text = repr(float(value))
        special = {"inf": "__builtin_inf()", "-inf": "-__builtin_inf()", "nan": '__builtin_nan("")'}
        return special.get(text, text)
    if dtype == "bool":
        return "1" if value else "0"
    number = int(value)
    if dtype == "i64" and number == np.iinfo(np.int64).min:
        return f"(-INT64_C({-(number + 1)}) - 1)"
    if dtype in ("i64", "u64"):
        sign = "-" if number < 0 else ""
        return f"{sign}{'U' if dtype == 'u64' else ''}INT64_C({abs(number)})"
    if dtype == "i32" and number == np.iinfo(np.int32).min:
        return f"(-{-(number + 1)} - 1)"
    return f"{number}u" if dtype == "u32" else str(number)


def index_text(index: Index, names: Mapping[str, str], ranges: Ranges) -> str:
    """A C expression of type `int64_t` with the value of `index`.

    Args:
        index: The expression.
        names: C identifier of each loop variable.
        ranges: Ranges of the variables; they decide where `/` and `%` need no helper.
    """
    parts: list[str] = []
    for atom, coefficient in index.terms:
        text = _atom_text(atom, names, ranges)
        if abs(coefficient) != 1:
            text = f"{abs(coefficient)} * {text}"
        if parts:
            parts.append(f" - {text}" if coefficient < 0 else f" + {text}")
        else:
            parts.append(f"-{text}" if coefficient < 0 else text)
    if not parts:
        return str(index.const)
    if index.const:
        parts.append(f" {'-' if index.const < 0 else '+'} {abs(index.const)}")
    return "".join(parts)


def _atom_text(atom: Atom, names: Mapping[str, str], ranges: Ranges) -> str:
    match atom:
        case Var(name):
            return names[name]
        case Min(a, b):
            return f"ago_min({index_text(a, names, ranges)}, {index_text(b, names, ranges)})"
        case Max(a, b):
            return f"ago_max({index_text(a, names, ranges)}, {index_text(b, names, ranges)})"
        case FloorDiv(value, divisor) | Mod(value, divisor):
            text = index_text(value, names, ranges)
            floor = isinstance(atom, FloorDiv)
            if interval(value, ranges)[0] >= 0:
                simple = text if text.isidentifier() else f"({text})"
                return f"({simple} {'/' if floor else '%'} {divisor})"
            return f"{'ago_floordiv' if floor else 'ago_mod'}({text}, {divisor})"
        case Lookup(table, place):
            return f"{table_name(table)}[{index_text(place, names, ranges)}]"


def table_name(table: Table) -> str:
    """The C identifier of a table, the same for equal tables everywhere."""
    digest = hashlib.sha256(str(table).encode()).hexdigest()
    return f"table_{digest[:12]}"


def table_lines(table: Table) -> list[str]:
    """The definition of a table in C, static in its function."""
    width = "int32_t" if max(map(abs, table.entries)) < 2**31 else "int64_t"
    head = f"static const {width} {table_name(table)}[{len(table.entries)}] = {{"
    return [head, *textwrap.wrap(", ".join(map(str, table.entries)), 90), "};"]
