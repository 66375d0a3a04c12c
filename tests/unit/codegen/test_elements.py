"""Every scalar function on every element type, compiled, computes what the text computes."""

import itertools

import numpy as np
import pytest

from ago.codegen import real_functions
from ago.codegen.elements import apply_text
from ago.codegen.portable import PORTABLE
from ago.errors import CodegenError
from ago.ir.functions import BOOL, FLOATS, FUNCTIONS, integer_range
from ago.ir.index import var
from ago.ir.interpreter import interpret
from ago.ir.nest import Axis, Buffer, Stage
from ago.ir.program import Program
from ago.ir.tensor import numpy_dtype
from ago.ir.value import Call, Const, Load, Position, Select
from ago.ir.verify import verify
from tests.support.compiled import run_compiled

TARGETS = ("portable", "cortex-a76")


def samples(dtype):
    if dtype in FLOATS:
        values = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.0, 7.0, 1e9, -3e9, 1e20, -1e20]
        return [*values, np.nan, np.inf, -np.inf, 8388609.0, 1e-40]
    if dtype in BOOL:
        return [False, True]
    low, high = integer_range(dtype)
    return sorted({low, low + 1, high, high - 1, 0, 1, 2, max(low, -1), 7, max(low, -3)})


def arguments(function, dtypes):
    grids = [samples(d) for d in dtypes]
    if function == "pow":
        grids[1] = [n for n in range(-3, 9) if n >= integer_range(dtypes[1])[0]]
    rows = list(itertools.product(*grids))
    columns = zip(*rows, strict=True)
    return [np.array(c, numpy_dtype(d)) for c, d in zip(columns, dtypes, strict=True)]


def cases():
    """A program for each function and operand type that has C, with its arrays."""
    for function, row in sorted(FUNCTIONS.items()):
        for dtype in sorted(row.accepts):
            dtypes = [dtype] * row.operands
            if row.condition:
                dtypes[0] = "bool"
            try:
                apply_text(function, dtypes, "abc"[: row.operands], PORTABLE)
            except CodegenError:
                continue
            if dtype == "f32" and function in real_functions.ERRORS:
                continue  # not exact: their own tests allow for units in the last place
            arrays = dict(zip("abc", arguments(function, dtypes), strict=False))
            count, at = len(arrays["a"]), (var("y.i"),)
            value = Call(function, tuple(Load(name, at) for name in arrays))
            kinds = dict(zip(arrays, dtypes, strict=True))
            buffers = [Buffer(name, (count,), "input", kind) for name, kind in kinds.items()]
            buffers.append(Buffer("y", (count,), "output", row.result or dtype))
            stage = Stage("y", (Axis("i", count),), "y", at, value)
            name = f"{function}_{dtype}"
            yield name, Program.naive(name, tuple(buffers), (stage,)), arrays


CASES = tuple(cases())


@pytest.mark.parametrize("target", TARGETS)
def test_functions_of_elements(target):
    found = run_compiled([(program, arrays) for _, program, arrays in CASES], target)
    for (name, program, arrays), result in zip(CASES, found, strict=True):
        verify(program)
        with np.errstate(all="ignore"):
            expected = interpret(program, arrays, dtype=np.float32)["y"]
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected, name)
        zero = result == 0
        if result.dtype.kind == "f" and "bits" not in name:
            np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(expected[zero]))


def test_every_function_but_those_of_a_library_has_c():
    made = {name for name, _, _ in CASES}
    missing = {
        f"{name}_{dtype}"
        for name, row in FUNCTIONS.items()
        for dtype in row.accepts
        if f"{name}_{dtype}" not in made
    }
    assert {name for name in missing if not name.endswith("_f32")} == set()


def positions_and_constants():
    """Positions, constants of all types, and a select between them."""
    i, j = var("y.i"), var("y.j")
    for dtype in sorted(numpy_dtypes()):
        low, high = (0, 1) if dtype == "bool" else (-3.5, 7.25)
        if dtype not in FLOATS and dtype != "bool":
            low, high = integer_range(dtype)
        number = Position(i * 3 - j // 2 + 1)
        cast = number if dtype == "i64" else Call(f"to_{dtype}", (number,))
        kind = bool if dtype == "bool" else float if dtype in FLOATS else int
        inner = Select((j - 4,), Const(kind(low), dtype), Const(kind(high), dtype))
        value = Select((i - j,), cast, inner)
        axes = (Axis("i", 5), Axis("j", 7))
        stage = Stage("y", axes, "y", (i, j), value)
        yield Program.naive(dtype, (Buffer("y", (5, 7), "output", dtype),), (stage,))


def numpy_dtypes():
    return {dtype for row in FUNCTIONS.values() for dtype in row.accepts}


@pytest.mark.parametrize("target", TARGETS)
def test_positions_and_constants(target):
    programs = list(positions_and_constants())
    for program, found in zip(
        programs, run_compiled([(p, {}) for p in programs], target), strict=True
    ):
        verify(program)
        np.testing.assert_array_equal(found, interpret(program, {}, dtype=np.float32)["y"])
