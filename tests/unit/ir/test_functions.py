"""The scalar functions: each row's meaning on numpy scalars is what the text computes."""

import itertools
import math

import numpy as np
import pytest
from scipy import special

from ago.ir.functions import BOOL, FLOATS, FUNCTIONS, INTEGERS, integer_range
from ago.ir.index import as_index
from ago.ir.interpreter import PRELUDE, interpret
from ago.ir.nest import Buffer, Store
from ago.ir.program import Program
from ago.ir.tensor import numpy_dtype
from ago.ir.value import Call, Load
from ago.ir.verify import verify

NUMPY = {
    "divide": lambda a, b: np.float64(a) / b if isinstance(a, np.floating) else trunc_div(a, b),
    "modulo": lambda a, b: np.mod(a, b) if b else a,
    "remainder": lambda a, b: np.fmod(a, b) if b or isinstance(a, np.floating) else a,
    "power": lambda a, b: integer_power(a, b) if isinstance(a, np.integer) else np.power(a, b),
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
    "cast": lambda a, kind: saturated(a, kind),
    "bits": lambda a, kind: a.view(numpy_dtype(kind)),
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    **{f: getattr(np, f) for f in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{f"a{f}": getattr(np, f"arc{f}") for f in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "erf": lambda a: np.float64(math.erf(a)),
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "decay": lambda a: a * 0 if -np.inf < a < -87.69 else np.exp(a),
    "silu": lambda a: a / (1 + np.exp(-a)),
    "gelu": lambda a: a * special.ndtr(a),
}
"""What the meanings are written in."""


def trunc_div(a, b):
    if b == 0:
        return type(a)(0)
    quotient = abs(int(a)) // abs(int(b))
    return np.array(quotient if (a < 0) == (b < 0) else -quotient).astype(a.dtype)[()]


def integer_power(a, b):
    if b >= 0:
        result = type(a)(1)
        for _ in range(int(b)):
            result = result * a
        return result
    return type(a)(0) if abs(int(a)) != 1 else type(a)(int(a) ** abs(int(b)))


def saturated(a, kind):
    if not isinstance(a, np.floating) or kind not in INTEGERS:
        return a.astype(numpy_dtype(kind))
    low, high = integer_range(kind)
    value = 0 if np.isnan(a) else low if a <= low else high if a >= high else int(a)
    return numpy_dtype(kind).type(value)


def samples(dtype):
    if dtype in FLOATS:
        return [1.5, -2.0, 0.0, -0.0, 0.5, 2.5, math.nan, math.inf, -math.inf, 300.0, -1e20]
    if dtype in BOOL:
        return [False, True]
    low, high = integer_range(dtype)
    return sorted({low, high, 0, 1, max(low, -1), 7, max(low, -3), high - 1})


def run(function, dtypes, arguments):
    row = FUNCTIONS[function]
    names = ("a", "b", "c")[: row.operands]
    result = row.result or dtypes[-1]
    buffers = [Buffer(n, (len(arguments),), "input", d) for n, d in zip(names, dtypes, strict=True)]
    buffers.append(Buffer("y", (len(arguments),), "output", result))
    stores = tuple(
        Store("s", "y", (k,), Call(function, tuple(Load(n, (k,)) for n in names)))
        for k in map(as_index, range(len(arguments)))
    )
    program = Program("p", tuple(buffers), (), stores)
    verify(program)
    columns = zip(names, dtypes, zip(*arguments, strict=True), strict=True)
    arrays = {n: np.array(values, numpy_dtype(d)) for n, d, values in columns}
    with np.errstate(all="ignore"):
        return interpret(program, arrays, dtype=np.float32)["y"], arrays


CASES = [(name, dtype) for name, row in sorted(FUNCTIONS.items()) for dtype in sorted(row.accepts)]


@pytest.mark.parametrize(("function", "dtype"), CASES)
def test_a_function_means_what_its_row_says(function, dtype):
    row = FUNCTIONS[function]
    dtypes = [dtype] * row.operands
    if row.condition:
        dtypes[0] = "bool"
    exponents = range(-3, 8) if dtype not in FLOATS and function == "pow" else None
    values = [samples(d) for d in dtypes]
    if exponents is not None:
        values[1] = [e for e in exponents if e >= integer_range(dtype)[0]]
    arguments = list(itertools.product(*values))
    got, arrays = run(function, dtypes, arguments)
    result = row.result or dtype
    with np.errstate(all="ignore"):
        for k in range(len(arguments)):
            scope = {n: array[k] for n, array in arrays.items()}
            if function in ("div", "pow", "fmod") or row.accepts == {"f32"}:
                scope = {n: widened(v) for n, v in scope.items()}
            wanted = np.array(eval(row.meaning, dict(NUMPY), scope)).astype(numpy_dtype(result))
            np.testing.assert_array_equal(got[k], wanted, f"{function}{arguments[k]} on {dtype}")


def widened(value):
    return np.float64(value) if isinstance(value, np.floating) else value


def test_every_text_function_is_in_the_prelude():
    assert {f"ir_{name}" for name in FUNCTIONS} <= set(PRELUDE)
