"""Index notation: what it computes, which extents it finds, where it points when it is wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ago.ir
from ago.errors import InputError
from ago.ir.interpreter import interpret
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.schedule.annotate import vectorize
from ago.schedule.compute_at import compute_at
from ago.schedule.reorder import reorder
from ago.schedule.split import split
from tests.support.programs import integers
from tests.support.schedules import assert_keeps

Arrays = dict[str, np.ndarray]
define = ago.ir.define


def run(program: Program) -> tuple[Arrays, np.ndarray]:
    """The arrays it ran on, and its output, which checked mode computes too."""
    verify(program)
    arrays = integers(program)
    (found,) = interpret(program, arrays, "checked").values()
    return arrays, found


def windows(a: Arrays) -> np.ndarray:
    x, w = a["X"], a["W"]
    return sum(
        x[r : r + 7 : 2, s : s + 4, :] @ w[r, s]
        for r in range(w.shape[0])
        for s in range(w.shape[1])
    )


CASES: list[tuple[str, dict[str, tuple[int, ...]], Callable[[Arrays], np.ndarray]]] = [
    ("C[i,j] += A[i,k] * B[k,j]", {"A": (4, 5), "B": (5, 6)}, lambda a: a["A"] @ a["B"]),
    ("C[i, j] = A[j, i]", {"A": (4, 5)}, lambda a: a["A"].T),
    ("s[()] += x[i]", {"x": (5,)}, lambda a: a["x"].sum()),
    ("m[i] max= x[i, j]", {"x": (3, 5)}, lambda a: a["x"].max(axis=1)),
    ("m[i] min= x[i, j]", {"x": (3, 5)}, lambda a: a["x"].min(axis=1)),
    ("p[i] *= x[i, j]", {"x": (3, 3)}, lambda a: a["x"].prod(axis=1)),
    ("m[i] max = x[i, j]", {"x": (3, 5)}, lambda a: a["x"].max(axis=1)),
    ("y[i] = -x[i] + 2 - x[i] / 4", {"x": (5,)}, lambda a: -a["x"] + 2 - a["x"] / 4),
    ("y[i] = -2.5 * max(0, x[i])", {"x": (5,)}, lambda a: -2.5 * np.maximum(a["x"], 0)),
    (
        "D[y, x, f] += X[2*y + r, x + s, c] * W[r, s, c, f]",
        {"X": (9, 6, 2), "W": (3, 3, 2, 4)},
        windows,
    ),
    ("e[i] = x[2*i] + x[2*i + 1]", {"x": (7,)}, lambda a: a["x"][:6:2] + a["x"][1:6:2]),
    (
        "S[i] = 2 * x[i]; R[i] = max(0, S[i]) + b[i]",
        {"x": (5,), "b": (5,)},
        lambda a: np.maximum(0, 2 * a["x"]) + a["b"],
    ),
    ("C[i] =\n  A[i]", {"A": (3,)}, lambda a: a["A"]),
]


@pytest.mark.parametrize(("text", "shapes", "reference"), CASES, ids=[c[0] for c in CASES])
def test_computes(
    text: str, shapes: dict[str, tuple[int, ...]], reference: Callable[[Arrays], np.ndarray]
) -> None:
    arrays, found = run(define(text, shapes))
    np.testing.assert_array_equal(found, reference(arrays))


def test_names_axes_and_scopes() -> None:
    program = define("C[i,j] += A[i,k] * B[k,j]", {"A": (4, 5), "B": (5, 6)}, constants=["B"])
    assert [(b.name, b.scope) for b in program.buffers] == [
        ("A", "input"),
        ("B", "constant"),
        ("C", "output"),
    ]
    (stage,) = program.stages
    assert [(a.name, a.extent, a.kind) for a in stage.axes] == [
        ("i", 4, "spatial"),
        ("j", 6, "spatial"),
        ("k", 5, "reduce"),
    ]
    assert program == ago.ir.define(
        "C[i,j] += A[i,k] * B[k,j]", {"A": (4, 5), "B": (5, 6)}, constants=["B"]
    )


def test_condition_reads_one_branch() -> None:
    text = "P[y] = X[y - 1] + 1 if 1 <= y and y < 4 else 0"
    arrays, found = run(define(text, {"X": (3,)}, extents={"y": 5}))
    np.testing.assert_array_equal(found, np.pad(arrays["X"] + 1, 1))


def test_extents_where_no_index_says_them() -> None:
    arrays, found = run(define("P[y] max= X[3*y + r]", {"X": (9,)}, extents={"r": 2}))
    np.testing.assert_array_equal(found, arrays["X"].reshape(3, 3)[:, :2].max(axis=1))


def test_blocks() -> None:
    arrays, found = run(define("B[o, i] = X[4*o + i]", {"X": (8,)}, extents={"i": 4}))
    np.testing.assert_array_equal(found, arrays["X"].reshape(2, 4))
    arrays, found = run(define("X[n] = B[n // 4, n % 4]", {"B": (2, 4)}, extents={"n": 8}))
    np.testing.assert_array_equal(found, arrays["B"].reshape(8))


def test_scheduled_like_any_other() -> None:
    text = "C[i,j] += A[i,k] * B[k,j]; R[i,j] = max(0, C[i,j])"
    program = define(text, {"A": (3, 4), "B": (4, 8)}, constants=["B"])
    after = compute_at(split(program, "R.j", 4), "C", "R.j.0")
    after = vectorize(reorder(after, ["C.k", "C.j"]), "C.j")
    assert_keeps(program, after)


@given(st.data())
def test_every_element_exists(data: st.DataObject) -> None:
    size, window = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 4))
    step, gap = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
    text = f"D[y] += X[{step}*y + {gap}*r] * W[r]"
    if (window - 1) * gap + 1 > size:
        with pytest.raises(InputError, match="has no value"):
            define(text, {"X": (size,), "W": (window,)})
        return
    program = define(text, {"X": (size,), "W": (window,)})
    arrays, found = run(program)
    count = (size - (window - 1) * gap - 1) // step + 1
    expected = [
        sum(arrays["X"][step * y + gap * r] * arrays["W"][r] for r in range(window))
        for y in range(count)
    ]
    np.testing.assert_array_equal(found, expected)


WRONG = [
    ("C[i,j] + A[i,k]", "", "a statement needs ="),
    ("C[i] = A[i,k] +", "               ^", "no expression"),
    ("C[i] += A[i,k", " " * 13 + "^", "each bracket closed"),
    ("C = A[0,0]", "^", "left side"),
    ("C[i,i] = A[i,i]", "    ^", "variable of its own"),
    ("C[2*i] = A[i,0]", "  ^", "variable of its own"),
    ("C[i] = A[i,k]", "     ^", "or name it there"),
    ("C[i] += A[i]", "        ^", "not 1 dimensions: write an index for each of its 2"),
    ("C[i] += Z[i]", "        ^", "shapes are given for A, B"),
    ("C[i,j] += A[i,k] * B[k,j]; D[i] = A[i*i, 0]", " " * 36 + "^", "affine"),
    (
        "C[i] += A[i,k] * B[k,i]",
        " " * 17 + "^",
        "i is 4 elsewhere and 6 in B: give it another name",
    ),
    ("C[i] = A[i,0] + q(A[i,1])", " " * 16 + "^", "no function q; functions are"),
    ("C[i] = max(A[i,0])", "       ^", "max takes 2 operands, not 1: max(a, b)"),
    ("C[i] = A[i,0] ** 2", "       ^", "a value is made of"),
    ("C[i,z] = A[i,0]", "    ^", "pass extents={'z': ...}"),
    ("C[i] = A[i,5]", "       ^", "5 is 5 to 5, and A has 5 there"),
    ("C[i] = A[i + 1, 0] + A[i, 0]", "       ^", "i + 1 is 1 to 4, and A has 4 there"),
    ("C[i] = A[i,0] if i == 2 else 0", "                 ^", "compares"),
    ("C[i] = A[i,0] if i else 0", "                 ^", "compares"),
    ("A[i,k] = A[i,k] + 1", "^", "is an operand"),
    ("C[i] = A[i,0]; C[i] = A[i,1]", "               ^", "computed already"),
    ("C[i] = A[i // 0, 0]", "         ^", "affine"),
    ("C[i] = A[9*i + 8, 0]", "       ^", "has no value"),
    ("C[i] = " + "+".join(["A[i,0]"] * 5000), "      ^", "nested too deeply"),
]


@pytest.mark.parametrize(("text", "caret", "message"), WRONG, ids=[w[0][:40] for w in WRONG])
def test_wrong(text: str, caret: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        define(text, {"A": (4, 5), "B": (5, 6)})
    first, shown, pointer = str(caught.value).split("\n")
    assert message in first
    assert shown == f"  {text}"
    assert pointer == f"  {caret or '^'}"


def test_constant_without_shape() -> None:
    with pytest.raises(InputError, match="constant W has no shape"):
        define("C[i] = A[i]", {"A": (3,)}, constants=["W"])


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((-3,), "each size of A is an integer of at least 0, not -3"),
        ((4.5,), "not 4.5"),
        ((True,), "not True"),
        (("n",), "not 'n'"),
        (4, "the shape of A is sizes"),
        ("4", "the shape of A is sizes"),
        ((2**70,), "more elements than memory could hold"),
    ],
)
def test_wrong_shapes(shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        define("C[i] = A[i]", {"A": shape})


def test_wrong_extents() -> None:
    shapes = {"A": (4,)}
    with pytest.raises(InputError, match="extent of r is an integer of at least 0, not -1"):
        define("C[i] += A[2*i + r]", shapes, extents={"r": -1})
    with pytest.raises(InputError, match="extents has z, which no statement uses"):
        define("C[i] = A[i]", shapes, extents={"z": 3})
    with pytest.raises(InputError, match=r"C \[1.* more elements than memory could hold"):
        define("C[i, j] = A[i] * B[j]", {"A": (2**40,), "B": (2**40,)})


def test_sizes_of_numpy_are_taken() -> None:
    assert define("C[i] = A[i]", {"A": np.zeros(4).shape}) == define(
        "C[i] = A[i]", {"A": (np.int64(4),)}
    )
