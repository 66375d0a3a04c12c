"""Random schedules of a matmul: resolved and compiled, they compute what they did before."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ago.codegen.resolve import resolve
from ago.errors import ScheduleError
from ago.ir.interpreter import interpret
from ago.ir.nest import For, walk
from ago.ir.program import Program
from ago.schedule.annotate import unroll, vectorize
from ago.schedule.cache_write import cache_write
from ago.schedule.compute_at import compute_at
from ago.schedule.reorder import reorder
from ago.schedule.split import split
from ago.schedule.store_at import store_at
from tests.support.compiled import HOST_TARGETS, run_compiled
from tests.support.programs import integers, matmul

SIZES = st.sampled_from([1, 2, 3, 5, 7, 9, 17])
TAILS = st.sampled_from(["guard", "balance", "shift", "masked"])


def tiled(m: int, n: int, k: int, rows: int, lanes: int, tails: tuple[str, str]) -> Program:
    """Accumulators in registers, rows unrolled, columns in lanes."""
    program = cache_write(matmul(m, n, k).program, "mm")
    producer, consumer = (stage.name for stage in program.stages)
    program = split(program, f"{consumer}.i", rows, tails[0])
    program = split(program, f"{consumer}.j", lanes, tails[1])
    order = ("i.0", "j.0", "i.1", "j.1")
    program = reorder(program, [f"{consumer}.{axis}" for axis in order])
    program = compute_at(program, producer, f"{consumer}.j.0")
    program = store_at(program, program.stage(producer).buffer, f"{consumer}.j.0", "register")
    program = reorder(program, [f"{producer}.{axis}" for axis in ("k", "i", "j")])
    for name in (f"{consumer}.j.1", f"{producer}.j"):
        program = vectorize(program, name)
    for name in (f"{consumer}.i.1", f"{producer}.i"):
        program = unroll(program, name)
    return program


@st.composite
def schedules(draw, lanes: int):
    m, n, k = draw(SIZES), draw(SIZES), draw(SIZES)
    rows = draw(st.sampled_from([1, 2, 4]))
    tails = draw(st.tuples(TAILS, TAILS))
    try:
        return matmul(m, n, k), tiled(m, n, k, rows, lanes, tails)
    except ScheduleError:
        assume(False)


@given(schedules(lanes=4))
def test_resolve_keeps_the_meaning(made):
    case, program = made
    arrays = integers(case.program)
    resolved = resolve(program)
    for stmt in walk(resolved.body):
        if isinstance(stmt, For) and stmt.kind in ("unrolled", "vector"):
            assert stmt.lo.is_constant
            assert stmt.hi.is_constant
    result = interpret(resolved, arrays, mode="checked")[case.output]
    np.testing.assert_array_equal(result, case.reference(arrays))


@pytest.mark.parametrize("target", sorted({*HOST_TARGETS, "cortex-a76"}))
def test_compiled_schedules_compute_the_product(target):
    lanes = {"x86-64-v3": 8, "x86-64-v4": 16}.get(target, 4)
    cases, programs = [], []
    for number, tails in enumerate(
        (rows, columns) for rows in ("guard", "balance", "shift") for columns in ("guard", "masked")
    ):
        m, n, k = 5 + number, 2 * lanes + number, 3
        case = matmul(m, n, k)
        arrays = integers(case.program)
        cases.append(case.reference(arrays))
        programs.append((tiled(m, n, k, 4, lanes, tails), arrays))
    for output, expected in zip(run_compiled(programs, target), cases, strict=True):
        np.testing.assert_array_equal(output, expected)
