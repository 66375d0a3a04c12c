"""C functions of single elements, for what C has no operator for or leaves undefined.

Read `ELEMENT_HELPERS` first: `ago_FUNCTION_TYPE` computes what the row FUNCTION of
`ago.ir.functions.FUNCTIONS` says on elements of one type. None needs a library, none has a branch
that compilers could not turn into a select.
"""

from __future__ import annotations

from collections.abc import Mapping

from ago.codegen.ctext import C_TYPES, literal
from ago.ir.functions import ELEMENTS, FLOATS, FUNCTIONS, INTEGERS, SIGNED, integer_range


def _function(comment: str, result: str, name: str, parameters: str, body: str) -> str:
    note = f"/* {comment} */\n" if comment else ""
    return f"{note}static inline {result} {name}({parameters}) {{\n    {body}\n}}\n"


def _saturating(source: str, target: str) -> str:
    """A cast from a float: what is outside becomes the nearest end of the range."""
    least, most = integer_range(target)
    number = C_TYPES[source]
    suffix = "f" if source == "f32" else ""
    low = f"{float(least):.1f}{suffix}"
    above = f"{float(most + 1):.1f}{suffix}"  # exact; the largest may not be
    body = (
        f"return !(x >= {low}) ? (x != x ? 0 : {literal(least, target)})"
        f" : x >= {above} ? {literal(most, target)} : ({C_TYPES[target]})x;"
    )
    name = f"ago_{source}_to_{target}"
    return _function("saturates; 0 for NaN", C_TYPES[target], name, f"{number} x", body)


def _bits(source: str, target: str) -> str:
    old, new = C_TYPES[source], C_TYPES[target]
    body = f"const union {{\n        {old} from;\n        {new} to;\n    }} word = {{x}};"
    body += "\n    return word.to;"
    return _function("the same bits", new, f"ago_bits_{source}_to_{target}", f"{old} x", body)


def _where(dtype: str) -> str:
    """A choice whose operands are both evaluated, so that compilers load them without a branch."""
    kind = C_TYPES[dtype]
    parameters = f"_Bool c, {kind} a, {kind} b"
    return _function("", kind, f"ago_where_{dtype}", parameters, "return c ? a : b;")


def _integer_helpers(dtype: str) -> dict[str, str]:
    """Helpers of one integer type, by name."""
    kind = C_TYPES[dtype]
    two = f"{kind} a, {kind} b"
    signed = dtype in SIGNED
    word = "uint64_t" if dtype in ("i64", "u64") else "uint32_t"
    bits = dtype[1:]
    negated = f"b == -1 ? ({kind})(0 - ({word})a) : " if signed else ""
    rest = "b == -1 ? 0 : " if signed else ""
    bodies = {
        "max": "return a > b ? a : b;",
        "min": "return a < b ? a : b;",
        "abs": f"return a < 0 ? ({kind})(0 - ({word})a) : a;" if signed else "return a;",
        "div": f"return b == 0 ? 0 : {negated}({kind})(a / b);",
        "fmod": f"return b == 0 ? a : {rest}({kind})(a % b);",
    }
    if signed:
        bodies["mod"] = (
            f"const {kind} r = b == 0 ? a : b == -1 ? 0 : ({kind})(a % b);\n"
            f"    return r != 0 && b != 0 && (r < 0) != (b < 0) ? ({kind})(r + b) : r;"
        )
        start = f"if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;\n    {word} n = b"
    else:
        bodies["mod"] = bodies["fmod"]
        bodies["shift_left"] = f"return b < {bits} ? ({kind})(({word})a << b) : 0;"
        bodies["shift_right"] = f"return b < {bits} ? ({kind})(a >> b) : 0;"
        start = f"{word} n = b"
    bodies["pow"] = (
        f"{start}, x = ({word})a, r = 1;\n"
        "    for (; n; n >>= 1, x *= x) r = n & 1 ? r * x : r;\n"
        f"    return ({kind})r;"
    )
    comments = {
        "div": "rounded towards zero; 0 for a zero divisor",
        "fmod": "has the sign of a; a for a zero divisor",
        "mod": "has the sign of b; a for a zero divisor",
        "pow": "wraps around; 0 where a negative exponent makes a fraction",
    }
    made: dict[str, str] = {}
    for function, body in bodies.items():
        name = f"ago_{function}_{dtype}"
        parameters = f"{kind} a" if FUNCTIONS[function].operands == 1 else two
        made[name] = _function(comments.get(function, ""), kind, name, parameters, body)
    return made


def _float_helpers(dtype: str) -> dict[str, str]:
    """Helpers of one float type, by name. Rounding adds and subtracts what leaves no fraction."""
    kind, suffix, shift = ("float", "f", "0x1p23f") if dtype == "f32" else ("double", "", "0x1p52")
    sign = f"__builtin_copysign{suffix}"
    size = f"__builtin_fabs{suffix}(a)"
    rounded = f"ago_round_{dtype}(a)"
    remainder = (
        "double x = __builtin_fabs(a), y = __builtin_fabs(b), t = y;\n"
        "    if (!(y > 0) || !(x < __builtin_inf())) return a != a ? a : b != b ? b : "
        '__builtin_nanf("");\n'
        "    if (!(y < __builtin_inf())) return a;\n"
        "    while (t <= x * 0.5) t *= 2;\n"
        "    for (; t >= y; t *= 0.5) x -= x >= t ? t : 0;\n"
        "    return __builtin_copysignf((float)x, a);"
    )
    bodies = {
        "max": ("b where either is NaN", 2, "return a > b ? a : b;"),
        "min": ("b where either is NaN", 2, "return a < b ? a : b;"),
        "nanmax": ("NaN where either is NaN", 2, "return a > b || a != a ? a : b;"),
        "nanmin": ("NaN where either is NaN", 2, "return a < b || a != a ? a : b;"),
        "round": (
            "to the nearest integer, ties to even",
            1,
            f"return {size} < {shift} ? {sign}(({size} + {shift}) - {shift}, a) : a;",
        ),
        "floor": (
            "",
            1,
            f"const {kind} r = {rounded};\n    return {sign}(r > a ? r - 1 : r, a);",
        ),
        "ceil": (
            "",
            1,
            f"const {kind} r = {rounded};\n    return {sign}(r < a ? r + 1 : r, a);",
        ),
    }
    if dtype == "f32":
        bodies["fmod"] = ("exact; has the sign of a", 2, remainder)
    made: dict[str, str] = {}
    for function, (comment, operands, body) in bodies.items():
        name = f"ago_{function}_{dtype}"
        parameters = f"{kind} a" if operands == 1 else f"{kind} a, {kind} b"
        made[name] = _function(comment, kind, name, parameters, body)
    return made


def _all_helpers() -> dict[str, str]:
    made: dict[str, str] = {}
    for dtype in sorted(ELEMENTS):
        if dtype in INTEGERS:
            made |= _integer_helpers(dtype)
            made |= {f"ago_{s}_to_{dtype}": _saturating(s, dtype) for s in sorted(FLOATS)}
        elif dtype in FLOATS:
            made |= _float_helpers(dtype)
        made[f"ago_where_{dtype}"] = _where(dtype)
        accepted = sorted(FUNCTIONS[f"bits_{dtype}"].accepts) if dtype != "bool" else []
        made |= {f"ago_bits_{s}_to_{dtype}": _bits(s, dtype) for s in accepted}
    return made


ELEMENT_HELPERS: Mapping[str, str] = _all_helpers()
"""C functions of single elements, by name."""
