"""Indices that look up a constant table, through everything that knows the kinds of atoms."""

import numpy as np
import pytest

from ago.codegen.ctext import table_lines, table_name
from ago.ir.bounds import extremes, interval, simplify
from ago.ir.index import Index, Table, evaluate, lookup, substitute, tables, var, variables
from ago.ir.interpreter import interpret
from ago.ir.nest import Axis, Buffer, For, Packing, Stage
from ago.ir.packing import pack_array
from ago.ir.program import Program
from ago.ir.value import Load
from ago.ir.verify import verify

TABLE = (4, 0, 2, 9, 9)
AT = lookup(TABLE, var("s.i") + 1)


def test_a_constant_place_is_folded():
    assert lookup(TABLE, 3) == Index((), 9)
    assert substitute(AT, {"s.i": Index((), 1)}) == Index((), 2)
    assert lookup(Table(TABLE), var("s.i") + 1) == AT


def test_what_an_index_says_of_itself():
    assert str(AT) == "(4, 0, 2, 9, 9,)[s.i + 1]"
    assert variables(AT) == {"s.i"}
    assert [table.entries for table in tables(AT * 2 + var("s.k"))] == [TABLE]
    assert [evaluate(AT, {"s.i": i}) for i in range(4)] == [0, 2, 9, 9]


def test_intervals_are_those_of_the_places_in_reach():
    assert interval(AT, {"s.i": (0, 1)}) == (0, 2)
    assert interval(AT, {"s.i": (0, 3)}) == (0, 9)
    assert simplify(AT, {"s.i": (2, 2)}) == Index((), 9)
    loop = For("s.i", Index(), Index((), 4), "serial", ())
    assert extremes(AT + var("n"), [loop]) == (var("n"), var("n") + 9)
    assert extremes(AT, [For("other", Index(), Index((), 4), "serial", ())]) == (AT, AT)


def gathering(extent: int) -> Program:
    """`y[i] = x[table[i + 1]]`."""
    buffers = (Buffer("x", (extent,), "input"), Buffer("y", (4,), "output"))
    stage = Stage("s", (Axis("i", 4),), "y", (var("s.i"),), Load("x", (AT,)))
    return Program.naive("gathering", buffers, (stage,))


def test_programs_run_and_are_verified():
    verify(gathering(10))
    with pytest.raises(Exception, match="out-of-bounds"):
        verify(gathering(9))
    x = np.arange(10, dtype=np.float32)
    for mode in ("plain", "checked"):
        assert interpret(gathering(10), {"x": x}, mode)["y"].tolist() == [0, 2, 9, 9]


def test_constants_are_packed_through_a_table():
    recipe = Packing("w", ("s.i",), (AT,))
    buffers = (Buffer("w", (10,), "constant"), Buffer("p", (4,), "constant", packing=recipe))
    program = Program.naive("packed", buffers, ())
    assert pack_array(program, "p", {"w": np.arange(10.0)}).tolist() == [0, 2, 9, 9]


def test_tables_in_c():
    head, *entries, end = table_lines(Table(tuple(range(100))))
    assert head == f"static const int32_t {table_name(Table(tuple(range(100))))}[100] = {{"
    assert "".join(entries).split(",")[-1].strip() == "99"
    assert max(map(len, entries)) <= 90
    assert end == "};"
    assert "int64_t" in table_lines(Table((2**40,)))[0]
