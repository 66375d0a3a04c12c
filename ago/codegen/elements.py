"""C of single elements: each scalar function on any element type.

Read `apply_text` first. float32 arithmetic comes from the scalar rows of the instruction set; what
is here serves every other type, and conditions. Every function does what its row of
`ago.ir.functions.FUNCTIONS` says, also where C alone would leave the result undefined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ago.codegen.ctext import C_TYPES
from ago.codegen.element_helpers import ELEMENT_HELPERS
from ago.codegen.intrinsics import Intrinsics
from ago.errors import CodegenError
from ago.ir.functions import FLOATS, INTEGERS

_COMMON: Mapping[str, str] = {
    "equal": "({0} == {1})",
    "less": "({0} < {1})",
    "less_equal": "({0} <= {1})",
}
"""Functions that C has on all types."""

_INTEGER: Mapping[str, str] = {
    "add": "({0} + {1})",
    "sub": "({0} - {1})",
    "mul": "({0} * {1})",
    "neg": "(0 - {0})",
    "and": "({0} & {1})",
    "or": "({0} | {1})",
    "xor": "({0} ^ {1})",
    "not": "~{0}",
}
"""Functions of integers, on unsigned operands of at least 32 bits, whose arithmetic wraps."""

_DOUBLE: Mapping[str, str] = {
    "add": "({0} + {1})",
    "sub": "({0} - {1})",
    "mul": "({0} * {1})",
    "div": "({0} / {1})",
    "neg": "(-{0})",
    "abs": "__builtin_fabs({0})",
    "sqrt": "__builtin_sqrt({0})",
}

_BOOL: Mapping[str, str] = {
    "and": "({0} & {1})",
    "or": "({0} | {1})",
    "xor": "({0} ^ {1})",
    "not": "(!{0})",
}


def apply_text(
    function: str, operands: Sequence[str], args: Sequence[str], intrinsics: Intrinsics
) -> str:
    """The C expression of a scalar function.

    Args:
        function: A row of `FUNCTIONS`, or `fma` on f32.
        operands: Element type of each argument.
        args: C expressions of the arguments; without side effects, and in parentheses where needed.
        intrinsics: Whose scalar rows compute float32.

    Raises:
        CodegenError: There is no C for it on these types.
    """
    dtype = operands[-1]
    if function.startswith("to_"):
        return _cast(args[0], dtype, function.removeprefix("to_"))
    if function.startswith("bits_"):
        return f"ago_bits_{dtype}_to_{function.removeprefix('bits_')}({args[0]})"
    if dtype == "f32" and function in intrinsics.scalar:
        return intrinsics.scalar[function].c(*args)
    if dtype == "bool" and function in _BOOL:
        return _BOOL[function].format(*args)
    if dtype == "f64" and function in _DOUBLE:
        return _DOUBLE[function].format(*args)
    if dtype in INTEGERS and function in _INTEGER:
        return _wrapped(_INTEGER[function], dtype, args)
    if function in _COMMON:
        return _COMMON[function].format(*args)
    name = f"ago_{function}_{dtype}"
    if name in ELEMENT_HELPERS:
        return f"{name}({', '.join(args)})"
    raise CodegenError(f"there is no C for {function} on {dtype}")


def _wrapped(template: str, dtype: str, args: Sequence[str]) -> str:
    """Integer arithmetic without undefined overflow: on unsigned words, cast back."""
    word = "uint64_t" if dtype in ("i64", "u64") else "uint32_t"
    if C_TYPES[dtype] == word:
        return template.format(*args)
    return f"(({C_TYPES[dtype]}){template.format(*(f'({word}){a}' for a in args))})"


def _cast(arg: str, source: str, target: str) -> str:
    """A conversion; from floats to integers it saturates, and NaN becomes 0."""
    if source in FLOATS and target in INTEGERS:
        return f"ago_{source}_to_{target}({arg})"
    if target == "bool":
        return f"({arg} != 0)"
    return f"(({C_TYPES[target]}){arg})"
