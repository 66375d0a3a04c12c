"""The scalar functions that a value may call: their typing, and what they mean.

Read `Function` and `FUNCTIONS` first. The printed text of a program calls `compute`; the intrinsic
tables and the C of single elements implement the same rows. Where C leaves a result undefined the
row defines one, which every backend computes:

* integers wrap around; division by zero gives 0, as AArch64 does, and the remainder is then the
  dividend; a shift by the width or more gives 0;
* a cast from float to integer truncates and saturates, NaN becomes 0; between integers it wraps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ago.ir.tensor import numpy_dtype

FLOATS = frozenset({"f32", "f64"})
SIGNED = frozenset({"i8", "i16", "i32", "i64"})
UNSIGNED = frozenset({"u8", "u16", "u32", "u64"})
INTEGERS = SIGNED | UNSIGNED
NUMBERS = FLOATS | INTEGERS
BOOL = frozenset({"bool"})
ELEMENTS = NUMBERS | BOOL
"""Every element type that a loop nest computes with."""

_F32 = frozenset({"f32"})


@dataclass(frozen=True, slots=True)
class Function:
    """One scalar function.

    Attributes:
        meaning: The result on numpy scalars `a`, `b` and `c` of the operands' types, as text.
        compute: The result on Python numbers; where `wraps`, before it wraps around.
        accepts: Element types of the operands, which all have the same one.
        operands: How many there are.
        result: Element type of the result; None for that of the operands.
        condition: Whether the first operand is a bool instead.
        wraps: Whether an integer result may leave the range of its type.
    """

    meaning: str
    compute: Callable[..., Any]
    accepts: frozenset[str]
    operands: int = 2
    result: str | None = None
    condition: bool = False
    wraps: bool = False


def integer_range(dtype: str) -> tuple[int, int]:
    """The smallest and the largest number of an integer type."""
    bits = 8 * numpy_dtype(dtype).itemsize
    if dtype in UNSIGNED:
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def neutral(function: str, dtype: str) -> float:
    """What changes nothing when it is accumulated by add, mul, max or min.

    Raises:
        KeyError: No other function has one that is known here.
    """
    low, high = (-math.inf, math.inf) if dtype in FLOATS else integer_range(dtype)
    zero, one = (0.0, 1.0) if dtype in FLOATS else (0, 1)
    return {"add": zero, "mul": one, "max": low, "min": high}[function]


def wrap(dtype: str) -> Callable[[int], int]:
    """The function that wraps an integer around to an element type of two's complement."""
    bits = 8 * numpy_dtype(dtype).itemsize
    if dtype in UNSIGNED:
        return lambda value: value & ((1 << bits) - 1)
    half = 1 << (bits - 1)
    return lambda value: ((value + half) & ((1 << bits) - 1)) - half


def _div(a: float, b: float) -> float:
    """IEEE 754's quotient of floats; that of integers, rounded towards zero, 0 where `b` is 0."""
    if isinstance(a, float):
        with np.errstate(all="ignore"):
            return float(np.float64(a) / np.float64(b))
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _mod(a: int, b: int) -> int:
    return a % b if b else a


def _fmod(a: float, b: float) -> float:
    if isinstance(a, float):
        with np.errstate(all="ignore"):
            return float(np.fmod(a, b))
    return a - b * _div(a, b)


def _pow(a: float, b: float) -> float:
    if isinstance(a, float):
        with np.errstate(all="ignore"):
            return float(np.power(np.float64(a), np.float64(b)))
    if b >= 0:
        return pow(int(a), int(b), 1 << 64)
    return {1: 1, -1: 1 if b % 2 == 0 else -1}.get(int(a), 0)


def _cast(dtype: str) -> Callable[[float], float]:
    """What converts a Python number to an element type."""
    if dtype == "bool":
        return lambda value: value != 0
    if dtype in FLOATS:
        return float
    (low, high), around = integer_range(dtype), wrap(dtype)

    def cast(value: float) -> int:
        if not isinstance(value, float):
            return around(int(value))
        if math.isnan(value):
            return 0
        return high if value >= high else low if value <= low else int(value)

    return cast


def _bits(dtype: str) -> Callable[[float], float]:
    """What reads the bits of a Python number, of a type of the same width, as an element type."""
    width = numpy_dtype(dtype).itemsize
    unsigned = np.dtype(f"u{width}")
    mask = (1 << 8 * width) - 1

    def bits(value: float) -> float:
        if isinstance(value, float):
            word = np.array(value, f"f{width}").view(unsigned)
        else:
            word = np.array(int(value) & mask, unsigned)
        number: float = word.view(numpy_dtype(dtype)).item()
        return number

    return bits


def _same_width(dtype: str) -> frozenset[str]:
    width = numpy_dtype(dtype).itemsize
    return frozenset(d for d in NUMBERS - {dtype} if numpy_dtype(d).itemsize == width)


_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def _sigmoid(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    result: npt.NDArray[np.float64] = 1.0 / (1.0 + np.exp(-x))
    return result


def _decay(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """`e^x`, where a power that rounds to 2^-127 or less on a logarithmic scale is 0."""
    result: npt.NDArray[np.float64] = np.where(np.rint(_LOG2_E * x) < -126, 0.0, np.exp(x))
    return result


def _gelu(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    result: npt.NDArray[np.float64] = 0.5 * x * _erfc(-math.sqrt(0.5) * x)
    return result


def _silu(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """`x / (1 + e^-x)`, where a power that rounds to 2^128 on a logarithmic scale is infinite."""
    power = np.where(np.rint(-_LOG2_E * x) >= 128, np.inf, np.exp(-x))
    result: npt.NDArray[np.float64] = x / (1.0 + power)
    return result


_LOG2_E = float(np.float32(math.log2(math.e)))


REAL_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "exp": np.exp,
    "exp2": np.exp2,
    "decay": _decay,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": _erf,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "gelu": _gelu,
}
"""Functions of one real number, on float64 arrays; a float32 result is the nearest to theirs.

`decay(x)` is `e^x`, but 0 below -87.68, and has to hold only where `x` is not above 0; `silu(x)` is
`x * sigmoid(x)`, but -0 below -88.37; `gelu(x)` is `x` times the normal distribution of `x`.
"""

ROUNDING = ("sqrt", "floor", "ceil", "round")
"""Those of them that every instruction set computes exactly."""


SLOW = frozenset(REAL_FUNCTIONS) - frozenset(ROUNDING) | {"div", "fmod", "mod", "pow", "sqrt"}
"""Functions that take longer than to store their result and load it again."""


def _real(name: str) -> Function:
    function = REAL_FUNCTIONS[name]

    def compute(a: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(np.float64(a)))

    accepts = FLOATS if name in ROUNDING else _F32
    return Function(f"{name}(a)", compute, accepts, operands=1)


def _arithmetic() -> dict[str, Function]:
    return {
        "add": Function("a + b", lambda a, b: a + b, NUMBERS, wraps=True),
        "sub": Function("a - b", lambda a, b: a - b, NUMBERS, wraps=True),
        "mul": Function("a * b", lambda a, b: a * b, NUMBERS, wraps=True),
        "div": Function("divide(a, b)", _div, NUMBERS, wraps=True),
        "neg": Function("-a", lambda a: -a, NUMBERS, operands=1, wraps=True),
        "abs": Function("abs(a)", abs, NUMBERS, operands=1, wraps=True),
        # `max` and `min` return the second operand when either is NaN, so the operand that may be
        # NaN stands second: Relu is max(0, x), Clip is min(high, max(low, x)).
        "max": Function("a if a > b else b", lambda a, b: a if a > b else b, NUMBERS),
        "min": Function("a if a < b else b", lambda a, b: a if a < b else b, NUMBERS),
        # NaN where either operand is NaN, for an extreme of elements of which any may be NaN.
        "nanmax": Function(
            "a if a > b or a != a else b", lambda a, b: a if a > b or a != a else b, FLOATS
        ),
        "nanmin": Function(
            "a if a < b or a != a else b", lambda a, b: a if a < b or a != a else b, FLOATS
        ),
        # The remainder of division rounded down, and of division rounded towards zero.
        "mod": Function("modulo(a, b)", _mod, INTEGERS),
        "fmod": Function("remainder(a, b)", _fmod, _F32 | INTEGERS),
        # Integers by repeated multiplication; a negative exponent rounds towards zero.
        "pow": Function("power(a, b)", _pow, _F32 | INTEGERS, wraps=True),
    }


def _logic() -> dict[str, Function]:
    bits = INTEGERS | BOOL
    return {
        "equal": Function("a == b", lambda a, b: a == b, ELEMENTS, result="bool"),
        "less": Function("a < b", lambda a, b: a < b, NUMBERS, result="bool"),
        "less_equal": Function("a <= b", lambda a, b: a <= b, NUMBERS, result="bool"),
        "and": Function("a & b", lambda a, b: a & b, bits),
        "or": Function("a | b", lambda a, b: a | b, bits),
        "xor": Function("a ^ b", lambda a, b: a ^ b, bits),
        "not": Function(
            "~a",
            lambda a: not a if isinstance(a, bool) else ~a,
            bits,
            operands=1,
            wraps=True,
        ),
        "shift_left": Function(
            "left_shift(a, b)", lambda a, b: a << min(b, 64), UNSIGNED, wraps=True
        ),
        "shift_right": Function("right_shift(a, b)", lambda a, b: a >> min(b, 64), UNSIGNED),
        # Both are evaluated: nothing that `where` picks is guarded by its condition.
        "where": Function(
            "b if a else c", lambda a, b, c: b if a else c, ELEMENTS, operands=3, condition=True
        ),
    }


def _conversions() -> dict[str, Function]:
    casts = {
        f"to_{d}": Function(f"cast(a, {d!r})", _cast(d), ELEMENTS - {d}, operands=1, result=d)
        for d in sorted(ELEMENTS)
    }
    bits = {
        f"bits_{d}": Function(f"bits(a, {d!r})", _bits(d), _same_width(d), operands=1, result=d)
        for d in sorted(NUMBERS)
    }
    return casts | bits


FUNCTIONS: Mapping[str, Function] = {
    **_arithmetic(),
    **_logic(),
    **{name: _real(name) for name in REAL_FUNCTIONS},
    **_conversions(),
}
"""The scalar functions by name."""
