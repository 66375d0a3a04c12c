"""The text of programs: what a person reads, and what the interpreter runs."""

import textwrap

import pytest

from ago.ir.index import Index, maximum, minimum, var
from ago.ir.interpreter import interpret
from ago.ir.naming import buffer_identifiers, identifier, loop_identifiers
from ago.ir.nest import Buffer, If, Reduce, Store, Update
from ago.ir.printer import condition_text, parameters, print_program, print_statements, value_text
from ago.ir.program import Program
from ago.ir.value import Call, Const, Load, Select, add, mul
from tests.support.programs import convolution, depthwise, integers, loop, matmul, max_pool

A, B, C = (Load(name, (var("i"),)) for name in "abc")


def text(source: str) -> str:
    return textwrap.dedent(source).lstrip()


def test_a_matmul_prints_as_loops_over_grids():
    assert str(matmul(3, 5, 2).program) == text(
        """
        # program matmul
        #   input A: f32[3, 2]
        #   constant B: f32[2, 5]
        #   output C: f32[3, 5]
        def matmul(A, B, C):
            # mm: /MatMul
            for i, j in grid(3, 5):
                C[i, j] = 0.0
                for k in range(2):
                    C[i, j] += A[i, k] * B[k, j]
        """
    )


def test_each_stage_is_announced_and_its_loops_get_distinct_names():
    assert str(depthwise(5, 3, 2).program) == text(
        """
        # program depthwise
        #   input X: f32[5, 5, 3]
        #   constant W: f32[2, 2, 3]
        #   workspace T: f32[4, 4, 3]
        #   output Y: f32[4, 4, 3]
        def depthwise(X, W, Y):
            T = ir_alloc("T", (4, 4, 3))  # workspace
            # dw: /dw
            for dw_y, dw_x, dw_c in grid(4, 4, 3):
                T[dw_y, dw_x, dw_c] = 0.0
                for ky, kx in grid(2, 2):
                    T[dw_y, dw_x, dw_c] += X[dw_y + ky, dw_x + kx, dw_c] * W[ky, kx, dw_c]
            # relu: /relu
            for relu_y, relu_x, relu_c in grid(4, 4, 3):
                Y[relu_y, relu_x, relu_c] = ir_max(0.0, T[relu_y, relu_x, relu_c])
        """
    )


def test_a_packed_constant_prints_its_recipe_and_replaces_its_source():
    program = convolution(4, 3, 5, 3, 1).program
    recipe = "Wp: f32[2, 3, 3, 3, 4] = W[4 * block + lane, c, ky, kx]"
    assert f"#   constant {recipe} for block, ky, kx, c, lane if 4 * block + lane < 5\n" in str(
        program
    )
    assert [b.name for b in parameters(program)] == ["X", "Wp", "B", "Y"]
    assert "\ndef conv(X, Wp, B, Y):\n" in str(program)


def test_a_reduction_without_an_operator_is_a_call():
    assert "Y[y, x, c] = ir_max(Y[y, x, c], X[ky + 2 * y, kx + 2 * x, c])" in str(
        max_pool(4, 1, 2).program
    )


def test_kinds_bounds_and_marks_of_loops():
    i, j = var("s.i.0"), var("s.i.1")
    lanes = loop(
        "s.i.1", minimum(i * 4 + 4, 9), Store("s", "y", (j,), Const(1.0)), lo=i * 4, kind="vector"
    )
    body = (
        loop("s.i.0", 3, loop("s.k", 2, loop("s.l", 2, lanes), kind="unrolled"), kind="parallel"),
    )
    assert print_statements(body, mark="s.k") == text(
        """
        for i_0 in range(3):  # parallel
            for k in range(2):  # unrolled, <--- s.k
                for l in range(2):
                    for i_1 in range(4 * i_0, min(4 * i_0 + 4, 9)):  # vector
                        y[i_1] = 1.0
        """
    )


def test_only_rectangular_loops_of_one_kind_share_a_grid():
    i, store = var("s.i"), Store("s", "y", (), Const(1.0))
    inner = loop("s.j", 3, loop("s.k", i, store))
    assert print_statements((loop("s.i", 2, inner),)) == text(
        """
        for i, j in grid(2, 3):
            for k in range(i):
                y[()] = 1.0
        """
    )
    unrolled = loop("s.i", 2, loop("s.j", 3, store, kind="unrolled"), kind="unrolled")
    assert print_statements((unrolled,)).splitlines()[0] == "for i, j in grid(2, 3):  # unrolled"
    lanes = loop("s.i", 2, loop("s.j", 3, store, kind="vector"), kind="vector")
    assert len(print_statements((lanes,)).splitlines()) == 3


def test_empty_bodies_and_guards_print():
    guard = If((var("s.i") - 1, 4 - var("s.i")), ())
    assert print_statements((loop("s.i", 6, guard),)) == text(
        """
        for i in range(6):
            if i >= 1 and i < 5:
                pass
        """
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (add(A, add(B, C)), "a[i] + (b[i] + c[i])"),
        (add(add(A, B), C), "a[i] + b[i] + c[i]"),
        (mul(add(A, B), C), "(a[i] + b[i]) * c[i]"),
        (add(mul(A, B), C), "a[i] * b[i] + c[i]"),
        (Call("sub", (A, Call("sub", (B, C)))), "a[i] - (b[i] - c[i])"),
        (Call("div", (A, add(B, C))), "ir_div(a[i], b[i] + c[i])"),
        (Call("min", (Const(6.0), Call("max", (Const(0.0), A)))), "ir_min(6.0, ir_max(0.0, a[i]))"),
        (Select((var("i") - 1,), A, B), "a[i] if i >= 1 else b[i]"),
        (mul(Select((var("i"),), A, B), C), "(a[i] if i >= 0 else b[i]) * c[i]"),
        (Select((), A, B), "a[i] if True else b[i]"),
        (Const(float("-inf")), "-inf"),
        (Const(2), "2.0"),
    ],
)
def test_values_print_with_the_parentheses_that_keep_their_order(value, expected):
    assert value_text(value, {}) == expected


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (var("y") - 1, "y >= 1"),
        (55 - var("y"), "y < 56"),
        (var("y") * 2 + var("k"), "k + 2 * y >= 0"),
        (8 - var("y") * 2 - var("k"), "k + 2 * y < 9"),
        (var("y") - var("k"), "-k + y >= 0"),
        (Index((), -1), "0 >= 1"),
    ],
)
def test_conditions_print_as_comparisons(index, expected):
    assert condition_text((index,)) == expected


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (Index(), "0"),
        (3 - var("y"), "3 - y"),
        (var("y") * -2 - 3, "-2 * y - 3"),
        (var("y") % 4, "y % 4"),
        ((var("y") % 4) * 8 + var("c.x") // 2, "(c.x // 2) + 8 * (y % 4)"),
        ((var("y") + 1) // 2, "(y + 1) // 2"),
        (maximum(minimum(var("y"), 3), var("k")), "max(k, min(3, y))"),
    ],
)
def test_indices_print_as_python(index, expected):
    assert str(index) == expected


def test_the_checked_form_stores_vector_statements_lane_by_lane_and_shuffles():
    v = var("s.v")
    masked = If((v - 1,), (Update("s", "y", (v, var("s.k")), "add", Const(1.0)),))
    lanes = loop("s.v", 4, loop("s.k", 2, masked), Store("s", "z", (), Const(2.0)), kind="vector")
    program = Program(
        "p",
        (Buffer("y", (4, 2), "output"), Buffer("z", (), "output")),
        (),
        (loop("s.i", 3, lanes, kind="parallel"),),
    )
    assert print_program(program, checked=True).partition("def ")[2] == text(
        """
        p(y, z):
            for i in ir_shuffled(range(3)):  # parallel
                for k in range(2):
                    ir_store(y, [((v, k,), y[v, k] + 1.0) for v in range(4) if v >= 1])
                ir_store(z, [((), 2.0) for v in range(4)])
        """
    )


def test_a_loop_inside_its_reduction_is_initialised_under_a_name_of_its_own():
    leaf = Reduce("s", "y", (var("s.j"),), "add", Const(0.0), A, ("s.k",))
    assert print_statements((loop("s.k", 2, loop("s.j", 3, leaf)),)) == text(
        """
        for j_init in range(3):
            y[j_init] = 0.0
        for k, j in grid(2, 3):
            y[j] += a[i]
        """
    )


def test_identifiers_are_valid_distinct_and_stable():
    assert identifier("/features/0/Conv") == "_features_0_Conv"
    assert [identifier(name) for name in ("in", "grid", "ir_max", "0", "")] == [
        "_in",
        "_grid",
        "_ir_max",
        "_0",
        "_",
    ]
    assert buffer_identifiers(["a.b", "a_b", "a-b"]) == {
        "a.b": "a_b",
        "a_b": "a_b_2",
        "a-b": "a_b_3",
    }
    assert loop_identifiers(["a.x", "b.x", "b.y", "z"], {"y"}) == {
        "a.x": "a_x",
        "b.x": "b_x",
        "b.y": "b_y",
        "z": "z",
    }


def test_odd_names_run():
    i = var("lambda.in")
    stage_body = loop("lambda.in", 3, Store("lambda", "in", (i,), Load("7 x", (i,))))
    buffers = (Buffer("7 x", (3,), "input"), Buffer("in", (3,), "output"))
    program = Program("my-net", buffers, (), (stage_body,))
    arrays = integers(program)
    assert (interpret(program, arrays)["in"] == arrays["7 x"]).all()


def test_text_is_the_same_every_time():
    assert str(convolution(4, 3, 5, 3, 1).program) == str(convolution(4, 3, 5, 3, 1).program)
