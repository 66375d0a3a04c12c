"""The interpreter's modes, and every kind of bad access that the checked one reports."""

import numpy as np
import pytest

from ago.errors import InputError, IRError
from ago.ir.index import var
from ago.ir.interpreter import interpret
from ago.ir.nest import Buffer, If, Store, Update
from ago.ir.program import Program
from ago.ir.value import Const, Load, Select, add
from tests.support.programs import integers, loop, matmul

ROW, COL = var("s.i"), var("s.j")
NAN = float("nan")


def program(*body, scope="workspace"):
    buffers = (
        Buffer("x", (4,), "input"),
        Buffer("w", (4,), "constant"),
        Buffer("t", (4,), scope),
        Buffer("y", (4,), "output"),
    )
    return Program("p", buffers, (), body)


def store(buffer, index, value):
    return Store("s", buffer, (index,), value)


def x_at(index):
    return Load("x", (index,))


def run(made, mode="checked", seed=0):
    return interpret(made, {"x": np.arange(4.0), "w": np.arange(4.0)}, mode, seed=seed)["y"]


BAD_ACCESSES = [
    # code, message, body
    (
        "out-of-bounds",
        "read of x[4] outside its shape (4,), at i = 1, j = 3",
        loop("s.i", 3, loop("s.j", 4, store("y", COL, x_at(ROW + COL)))),
    ),
    (
        "out-of-bounds",
        "read of x[-1] outside its shape (4,), at i = 0",
        loop("s.i", 4, store("y", ROW, x_at(ROW - 1))),
    ),
    (
        "out-of-bounds",
        "write of y[4] outside its shape (4,), at i = 4",
        loop("s.i", 5, store("y", ROW, Const(1.0))),
    ),
    (
        "out-of-bounds",
        "read of x[0, 0] outside its shape (4,)",
        store("y", var("s.i") * 0, Load("x", (ROW * 0, ROW * 0))),
    ),
    (
        "out-of-bounds",
        "read of x[4] outside its shape (4,), at i = 2, j = 2",
        loop("s.i", 3, loop("s.j", 4, store("y", COL, x_at(ROW + COL)), kind="vector"), lo=2),
    ),
    (
        "uninitialised-read",
        "t[0] is read before it is written, at i = 0",
        loop("s.i", 4, store("y", ROW, Load("t", (ROW,))), store("t", ROW, Const(1.0))),
    ),
    (
        "uninitialised-read",
        "t[3] is read before it is written, at i = 3",
        (
            loop("s.j", 3, store("t", COL, Const(1.0))),
            loop("s.i", 4, store("y", ROW, Load("t", (ROW,)))),
        ),
    ),
    (
        "uninitialised-read",
        "y[0] is read before it is written",
        loop("s.i", 4, Update("s", "y", (ROW,), "add", Const(1.0))),
    ),
    ("write-to-constant", "constant buffers are read-only", store("w", ROW * 0, Const(1.0))),
    ("write-to-constant", "input buffers are read-only", store("x", ROW * 0, Const(1.0))),
]


@pytest.mark.parametrize(("code", "message", "body"), BAD_ACCESSES)
@pytest.mark.parametrize("scope", ["workspace", "stack", "register"])
def test_checked_mode_reports_the_first_bad_access(code, message, body, scope):
    statements = body if isinstance(body, tuple) else (body,)
    with pytest.raises(IRError) as refusal:
        run(program(*statements, scope=scope))
    assert refusal.value.code == code
    assert message in str(refusal.value)


@pytest.mark.parametrize(("rows", "sound"), [(2, False), (3, True)])
def test_checked_mode_reports_a_ring_slot_that_was_reused(rows: int, sound: bool) -> None:
    """Each of 4 rows computes the next row of a window of 3 and reads all of it."""
    at, tap = ROW + var("s.r"), ROW + COL
    fill = loop("s.r", 3, store("t", at % rows, x_at(at)))
    read = loop("s.j", 3, Store("s", "y", (ROW, COL), Load("t", (tap % rows,))))
    shapes = (("x", (6,), "input"), ("t", (rows,), "stack"), ("y", (4, 3), "output"))
    buffers = tuple(Buffer(*shape) for shape in shapes)
    made = Program("p", buffers, (), (loop("s.i", 4, fill, read),))
    arrays = {"x": np.arange(6.0)}
    if sound:
        expected = np.arange(4)[:, None] + np.arange(3)
        np.testing.assert_array_equal(interpret(made, arrays, "checked")["y"], expected)
        return
    with pytest.raises(IRError, match=r"holds row 2 by then, at s\.i = 0, s\.j = 0") as refusal:
        interpret(made, arrays, "checked")
    assert refusal.value.code == "stale-ring"


def test_a_report_ends_with_the_line():
    with pytest.raises(IRError) as refusal:
        run(program(loop("s.i", 5, store("y", ROW, Const(1.0)))))
    assert str(refusal.value).splitlines()[-1] == "  y[i] = 1.0"


def test_guards_keep_accesses_from_happening():
    guarded = Select((ROW - 1,), x_at(ROW - 1), Const(7.0))
    made = program(
        loop("s.i", 4, store("y", ROW, guarded)),
        loop("s.j", 6, If((3 - COL,), (store("t", COL, Const(1.0)),)), kind="vector"),
    )
    assert run(made).tolist() == [7.0, 0.0, 1.0, 2.0]
    assert run(made, "plain").tolist() == [7.0, 0.0, 1.0, 2.0]


def test_a_vector_statement_loads_all_lanes_before_it_stores_any():
    shift = loop("s.j", 3, store("y", COL + 1, Load("y", (COL,))), kind="vector")
    made = program(loop("s.i", 4, store("y", ROW, x_at(ROW))), shift)
    assert run(made, "plain").tolist() == [0.0, 0.0, 0.0, 0.0]
    assert run(made).tolist() == [0.0, 0.0, 1.0, 2.0]


def test_a_vector_loop_runs_statement_by_statement():
    body = (store("t", COL, x_at(COL)), store("y", COL, Load("t", (3 - COL,))))
    made = program(loop("s.j", 4, *body, kind="vector"))
    assert run(made).tolist() == [3.0, 2.0, 1.0, 0.0]
    with pytest.raises(IRError, match="uninitialised-read"):
        run(program(loop("s.j", 4, *body, kind="serial")))


def test_lanes_must_agree_on_the_bounds_of_inner_loops():
    made = program(loop("s.i", 4, loop("s.j", ROW + 1, store("y", COL, Const(1.0))), kind="vector"))
    with pytest.raises(IRError, match="depend on the vector loop") as refusal:
        run(made)
    assert refusal.value.code == "vector-bounds"


def test_parallel_loops_run_in_an_order_that_the_seed_decides():
    last = program(
        loop("s.i", 4, store("t", ROW * 0, x_at(ROW)), kind="parallel"),
        loop("s.j", 4, store("y", COL, Load("t", (COL * 0,)))),
    )
    results = {seed: run(last, seed=seed)[0] for seed in range(8)}
    assert len(set(results.values())) > 1
    assert results == {seed: run(last, seed=seed)[0] for seed in range(8)}


def test_a_tile_inside_a_parallel_loop_is_new_in_each_iteration():
    """A value that the iteration before left there is no value."""
    keep = If((ROW * 0 - ROW,), (store("t", ROW * 0, Const(1.0)),))
    body = (keep, store("y", ROW, Load("t", (ROW * 0,))))
    serial = program(loop("s.i", 4, *body), scope="stack")
    assert run(serial).tolist() == [1.0] * 4
    for scope in ("stack", "register"):
        with pytest.raises(IRError, match=r"t\[0\] is read before it is written"):
            run(program(loop("s.i", 4, *body, kind="parallel"), scope=scope))


def test_a_tile_used_by_two_parallel_loops_outlives_both():
    fill = loop("s.i", 4, store("t", ROW, x_at(ROW)), kind="parallel")
    use = loop("s.j", 4, store("y", COL, Load("t", (COL,))), kind="parallel")
    assert run(program(fill, use, scope="stack")).tolist() == [0.0, 1.0, 2.0, 3.0]


def test_what_nobody_wrote_is_nan():
    assert np.isnan(run(program(), "plain")).all()
    assert np.isnan(run(program())).all()


def test_buffers_store_the_type_asked_for_and_arguments_stay_as_they_are():
    case = matmul(2, 3, 4)
    arrays = {name: array * 0.1 for name, array in integers(case.program).items()}
    before = {name: array.copy() for name, array in arrays.items()}
    exact = interpret(case.program, arrays)["C"]
    rounded = interpret(case.program, arrays, dtype=np.float32)["C"]
    assert exact.dtype == np.float64
    assert rounded.dtype == np.float32
    assert 0 < np.abs(exact - rounded).max() < 1e-5
    assert all((arrays[name] == before[name]).all() for name in arrays)


def test_missing_and_misshapen_arrays_are_refused():
    with pytest.raises(InputError, match="needs an array for input x"):
        interpret(program(loop("s.i", 4, store("y", ROW, x_at(ROW)))), {})
    with pytest.raises(InputError, match=r"x has shape \(3,\), expected \(4,\)"):
        interpret(program(), {"x": np.zeros(3)})


def test_scalars_have_an_empty_index():
    buffers = (Buffer("x", (), "input"), Buffer("y", (), "output"))
    body = (Store("s", "y", (), Const(1.0)), Update("s", "y", (), "add", Load("x", ())))
    made = Program("p", buffers, (), body)
    for mode in ("plain", "checked"):
        assert interpret(made, {"x": np.array(2.0)}, mode)["y"] == 3.0


def test_a_sum_keeps_its_order():
    """Floats do not associate, so the text may not drop parentheses."""
    big, one = Const(1e16), Const(1.0)
    made = program(store("y", ROW * 0, add(Const(-1e16), add(big, one))))
    other = program(store("y", ROW * 0, add(add(Const(-1e16), big), one)))
    assert run(made, "plain")[0] == 0.0
    assert run(other, "plain")[0] == 1.0
