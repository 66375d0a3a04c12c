"""Accesses and statements beyond plain kernels, compiled, equal the interpreter."""

import numpy as np
import pytest

from ago.ir.index import Index, as_index, minimum, var
from ago.ir.interpreter import interpret
from ago.ir.nest import Buffer, If, Reduce, Store, Update
from ago.ir.program import Program
from ago.ir.value import Call, Const, Load, Select, add, mul
from tests.support.compiled import HOST_TARGETS, emit, run_compiled
from tests.support.kernels import integers, loop

N = 20
R, V, C = var("r"), var("v"), var("c")
ZERO, INF = Const(0.0), float("inf")


def program(name: str, *body, out=(4, N), **scopes: tuple[int, ...]) -> Program:
    """A program from `x[4, 40]` to `out`, with more buffers by name and shape."""
    buffers = [Buffer("x", (4, 2 * N), "input"), Buffer("out", out, "output")]
    buffers += [Buffer(key, shape, key.split("_")[0]) for key, shape in scopes.items()]
    return Program(name, tuple(buffers), (), body)


def rows(*body):
    return loop("r", 4, "serial", *body)


def store(value, kind="vector"):
    return rows(loop("v", N, kind, Store("s", "out", (R, V), value)))


def gathered() -> Program:
    return program("gathered", store(add(Load("x", (R, V * 2)), Load("x", (as_index(3) - R, V)))))


def scattered() -> Program:
    leaf = Store("s", "out", (R, as_index(N - 1) - V), Load("x", (R, V)))
    return program("scattered", rows(loop("v", N, "vector", leaf)))


def shifted_lanes() -> Program:
    """A pad along the vector dimension: lanes at both ends come from a constant."""
    inside = (V - 3, as_index(N - 2) - V)
    return program("shifted_lanes", store(Select(inside, Load("x", (R, V - 3)), Const(7.0))))


def first_lanes() -> Program:
    inside = (as_index(10) - V,)
    return program("first_lanes", store(Select(inside, Load("x", (R, V)), ZERO)))


def serial_select() -> Program:
    """A test of two serial loops, which stays; where it fails, its address is outside."""
    inside = (R - C - 1,)
    value = Select(inside, add(Load("x", (R - C - 1, V)), Const(1.0)), Load("x", (R, V + 5)))
    leaf = Store("s", "out", (R, V), value)
    return program("serial_select", rows(loop("c", 3, "serial", loop("v", N, "vector", leaf))))


def guarded_pointers() -> Program:
    leaf = loop("v", N, "vector", Store("s", "out", (R, V), Load("x", (R - 1, V))))
    fill = loop("v.fill", N, "vector", Store("f", "out", (R, var("v.fill")), ZERO))
    return program("guarded_pointers", rows(fill, If((R - 1, as_index(2) - R), (leaf,))))


def stack_tile() -> Program:
    fill = loop("c", N, "serial", Store("f", "stack", (C,), Load("x", (R, as_index(N - 1) - C))))
    use = loop("v", N, "vector", Store("s", "out", (R, V), mul(Load("stack", (V,)), Const(2.0))))
    return program("stack_tile", rows(fill, use), stack=(N,))


def scalar_register() -> Program:
    """The largest of a row, kept in a scalar and subtracted from every lane."""
    leaf = Reduce("m", "register", (), "max", Const(-INF), Load("x", (R, C)), ("c",))
    value = Call("sub", (Load("x", (R, V)), Load("register", ())))
    use = loop("v", N, "vector", Store("s", "out", (R, V), value))
    return program("scalar_register", rows(loop("c", N, "serial", leaf), use), register=())


def lane_reduction() -> Program:
    """A sum over the vector loop itself, in the order of the lanes."""
    leaf = Reduce("m", "out", (R,), "add", Const(1.0), Load("x", (R, V)), ("v",))
    return program("lane_reduction", rows(loop("v", N, "vector", leaf)), out=(4,))


def ring() -> Program:
    """Three rows of a window in a ring of three, one new row a step."""
    new = loop("v", N, "vector", Store("f", "workspace", ((R + 2) % 3, V), Load("x", (R, V))))
    first = loop(
        "c", 3, "serial", loop("v.0", N, "vector", Store("f", "workspace", (C, var("v.0")), ZERO))
    )
    k, w = var("k"), var("v.1")
    leaf = Reduce("s", "out", (R, w), "add", ZERO, Load("workspace", ((R + k) % 3, w)), ("k",))
    use = loop("k", 3, "unrolled", loop("v.1", N, "vector", leaf))
    return program("ring", first, rows(new, use), workspace=(3, N))


def in_place() -> Program:
    """Loads after a store see what it stored."""
    fill = loop("v", N, "vector", Store("f", "out", (R, V), Load("x", (R, V))))
    leaf = Update("u", "out", (R, var("v.1")), "add", Load("out", (R, var("v.1"))))
    twice = loop("k", 2, "unrolled", loop("v.1", N, "vector", leaf))
    return program("in_place", rows(fill, twice))


def parallel_floors() -> Program:
    """Negative quotients and remainders, in a loop that may run in parallel."""
    at = (R - 3) // 2 + 2
    value = add(Load("x", (at, (C - 7) % 6 + minimum(C, 3))), Load("x", (R, C * 2)))
    leaf = Store("s", "out", (R, C), value)
    return program("parallel_floors", loop("r", 4, "parallel", loop("c", N, "serial", leaf)))


def divided() -> Program:
    value = Call("div", (Load("x", (R, V)), Const(4.0)))
    value = Call("min", (Const(2.0), Call("max", (Const(-1.0), value))))
    return program("divided", store(value))


PROGRAMS = [
    make()
    for make in (
        gathered,
        scattered,
        shifted_lanes,
        first_lanes,
        serial_select,
        guarded_pointers,
        stack_tile,
        scalar_register,
        lane_reduction,
        ring,
        in_place,
        parallel_floors,
        divided,
    )
]
ARRAYS = {"x": integers(4, 2 * N)}


@pytest.fixture(scope="module", params=sorted({*HOST_TARGETS, "cortex-a76"}))
def outputs(request) -> dict[str, np.ndarray]:
    results = run_compiled([(made, ARRAYS) for made in PROGRAMS], request.param)
    return {made.name: result for made, result in zip(PROGRAMS, results, strict=True)}


@pytest.mark.parametrize("made", PROGRAMS, ids=lambda made: made.name)
def test_compiled_equals_interpreted(made, outputs):
    expected = interpret(made, ARRAYS)["out"]
    np.testing.assert_array_equal(outputs[made.name], expected)


def test_a_guarded_pointer_is_formed_inside_its_guard():
    text = emit(guarded_pointers(), "portable").text
    before, inside = text.split("if (", 1)
    assert "x_p" not in before
    assert "const float *x_p = x + 40 * r;" in inside


def test_constant_lane_masks_become_partial_loads():
    text = emit(first_lanes(), "x86-64-v4").text
    assert "_mm512_maskz_loadu_ps(0x07ff, x_p)" in text


def test_a_select_that_stays_evaluates_one_branch():
    text = emit(serial_select(), "x86-64-v3").text
    first = "_mm256_add_ps(_mm256_loadu_ps(x_p_1 - 40), k1)"
    assert f"((-c_cut1 + r_cut1 - 1 >= 0) ? {first} : _mm256_loadu_ps(x_p + 5))" in text


def test_equal_loads_are_shared_until_a_store():
    leaf = Store("s", "out", (Index(), V), add(Load("out", (Index(), V)), Load("x", (Index(), V))))
    other = Store("s", "out", (as_index(1), V), Load("out", (Index(), V)))
    text = emit(program("p", loop("v", 8, "vector", leaf, other)), "x86-64-v3").text
    assert text.count("_mm256_loadu_ps(out)") == 2
