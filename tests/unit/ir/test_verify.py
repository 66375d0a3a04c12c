"""Each law has a program that breaks it and a near-identical one that keeps it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ago.errors import IRError
from ago.ir.index import maximum, minimum, var
from ago.ir.interpreter import interpret
from ago.ir.nest import Buffer, Packing, Reduce, Store
from ago.ir.program import Program
from ago.ir.value import Call, Const, Load, add, mul
from ago.ir.verify import LAWS, verify
from tests.support.broken_programs import BROKEN_AND_KEPT
from tests.support.programs import convolution, depthwise, integers, loop, matmul
from tests.support.small_nests import (
    ONE,
    SI,
    SJ,
    element,
    program,
    square,
    store,
)


@pytest.mark.parametrize(("law", "message", "broken", "kept"), BROKEN_AND_KEPT)
def test_a_law_refuses_the_program_that_breaks_it_and_no_other(law, message, broken, kept):
    with pytest.raises(IRError) as refusal:
        verify(broken)
    assert refusal.value.code == law
    assert message in str(refusal.value)
    verify(kept)


def test_every_law_is_tested():
    assert {law for law, *_ in BROKEN_AND_KEPT} == set(LAWS)


def test_a_refusal_prints_the_nest_and_marks_the_loop():
    with pytest.raises(IRError) as refusal:
        verify(program(square(store(SI, SJ + 1), i="parallel")))
    assert str(refusal.value) == (
        "[out-of-bounds] store of out[s.i, s.j + 1] may reach 1 to 8 in dimension 1, "
        "which has 8 elements (in loop s.j)\n"
        "  for i in range(8):  # parallel\n"
        "      for j in range(8):  # <--- s.j\n"
        "          out[i, j + 1] = 1.0"
    )


@pytest.mark.parametrize(
    "case",
    [matmul(3, 5, 2), convolution(5, 3, 5, 3, 2), depthwise(5, 3, 3)],
    ids=lambda c: c.output,
)
def test_naive_programs_are_well_formed(case):
    verify(case.program)


def test_a_loop_that_never_runs_accesses_nothing():
    verify(program(loop("s.i", 0, store(SI + 100, 0))))


def test_inside_a_loop_that_may_be_empty_its_extent_is_known():
    verify(program(loop("s.i", 20, loop("s.j", 8 - SI, store(SI, 0)))))
    with pytest.raises(IRError) as refusal:
        verify(program(loop("s.i", 20, loop("s.j", 9 - SI, store(SI, 0)))))
    assert refusal.value.code == "out-of-bounds"


def tiled_matmul(rows: int, *, height: int = 4, lanes: int = 4) -> Program:
    """Row tiles shifted to overlap at the end, accumulators in registers, a clamp as epilogue."""
    depth, blocks = 3, 2
    block, tile, k, m, lane = (var(name) for name in ("r.o", "r.m.0", "c.k", "c.m", "c.o"))
    first = minimum(tile * height, rows - height)
    accumulate = Reduce(
        "c",
        "acc",
        (m - first, lane),
        "add",
        Const(0.0),
        mul(Load("A", (m, k)), Load("Bp", (block, k, lane))),
        ("c.k",),
    )
    row, out_lane = var("r.m.1"), var("r.o.1")
    clamp = Call("max", (Const(0.0), Load("acc", (row, out_lane))))
    write = Store("r", "C", (first + row, block * lanes + out_lane), clamp)
    lanes_of_c = loop("c.o", lanes, accumulate, kind="vector")
    contraction = loop(
        "c.k", depth, loop("c.m", first + height, lanes_of_c, kind="unrolled", lo=first)
    )
    epilogue = loop("r.m.1", height, loop("r.o.1", lanes, write, kind="vector"), kind="unrolled")
    recipe = Packing("B", ("o", "k", "l"), (var("k"), var("o") * lanes + var("l")))
    buffers = (
        Buffer("A", (rows, depth), "input"),
        Buffer("B", (depth, blocks * lanes), "constant"),
        Buffer("Bp", (blocks, depth, lanes), "constant", packing=recipe),
        Buffer("acc", (height, lanes), "register"),
        Buffer("C", (rows, blocks * lanes), "output"),
    )
    tiles = loop("r.m.0", -(-rows // height), contraction, epilogue)
    return Program("tiled", buffers, (), (loop("r.o", blocks, tiles, kind="parallel"),))


@pytest.mark.parametrize("rows", [4, 5, 7, 8, 9])
def test_a_register_tile_is_accepted_and_computes_the_product(rows):
    made = tiled_matmul(rows)
    verify(made)
    arrays = integers(made)
    for mode in ("plain", "checked"):
        result = interpret(made, arrays, mode)["C"]
        assert (result == (arrays["A"] @ arrays["B"]).clip(min=0)).all()


def test_shifted_tiles_overlap_so_they_are_no_parallel_loop():
    made = tiled_matmul(9)
    (outer,) = made.body
    (tiles,) = outer.body
    swapped = replace(tiles, kind="parallel")
    with pytest.raises(IRError, match="same elements of C") as refusal:
        verify(made.with_body((replace(outer, kind="serial", body=(swapped,)),)))
    assert refusal.value.code == "race"
    verify(made)


@pytest.mark.parametrize("longer", ["difference", "clamp"])
def test_balanced_tiles_are_accepted_as_a_parallel_loop(longer):
    """11 rows in 3 tiles of 4, 4 and 3."""
    tile, row = var("t"), var("r")
    first = tile * 3 + minimum(tile, 2)
    extra = {
        "difference": minimum(tile + 1, 2) - minimum(tile, 2),
        "clamp": minimum(1, maximum(0, 2 - tile)),
    }[longer]
    body = loop("r", extra + 3, Store("s", "y", (first + row,), ONE))
    rows = Buffer("y", (11,), "output")
    verify(Program("p", (rows,), (), (loop("t", 3, body, kind="parallel"),)))
    with pytest.raises(IRError, match="out-of-bounds"):
        verify(Program("p", (replace(rows, shape=(10,)),), (), (loop("t", 3, body),)))


def test_a_ring_of_rows_is_accepted():
    """Rows of `x` go through a ring of 3, each once, and are read as windows of 3 rows."""
    y, row = var("c.y"), var("p.y")
    first = minimum(y * 3, y + 2)
    fill = loop(
        "p.y", y + 3, store(row % 3, 0, buffer="tile", value=element("x", row, 0)), lo=first
    )
    window = [element("tile", (y + k) % 3, 0) for k in range(3)]
    use = store(y, 0, value=add(add(window[0], window[1]), window[2]))
    made = program(loop("c.y", 6, fill, use))
    verify(made)
    arrays = integers(made)
    result = interpret(made, arrays, "checked")["out"][:6, 0]
    column = arrays["x"][:, 0]
    assert (result == column[:-2] + column[1:-1] + column[2:]).all()
