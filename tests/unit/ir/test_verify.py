"""Each law has a program that breaks it and a near-identical one that keeps it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ago.errors import IRError
from ago.ir.extern import CFunction, Extern
from ago.ir.index import Index, maximum, minimum, var
from ago.ir.interpreter import interpret
from ago.ir.nest import Axis, Buffer, If, Packing, Reduce, Stage, Stmt, Store, Update
from ago.ir.program import Program
from ago.ir.value import Call, Const, Load, Position, Select, Value, add, mul
from ago.ir.verify import LAWS, verify
from tests.support.programs import convolution, depthwise, integers, loop, matmul

SI, SJ, SK = var("s.i"), var("s.j"), var("s.k")
X = Buffer("x", (8, 8), "input")
OUT = Buffer("out", (8, 8), "output")
TILE = Buffer("tile", (8, 8), "stack")
ONE = Const(1.0)
LESS = Call("less", (ONE, ONE))


def program(*body: Stmt, buffers: tuple[Buffer, ...] = (), stages: tuple[str, ...] = ()) -> Program:
    """A program of `x`, `out`, `tile` and others."""
    made = tuple(Stage(name, (), "out", (), ONE) for name in stages)
    return Program("p", (X, OUT, TILE, *buffers), made, body)


def store(*index: Index | int, value: Value = ONE, buffer: str = "out", stage: str = "s") -> Store:
    return Store(stage, buffer, tuple(Index() + i for i in index), value)


def element(buffer: str, *index: Index | int) -> Load:
    return Load(buffer, tuple(Index() + i for i in index))


def square(*body: Stmt, i: str = "serial", j: str = "serial") -> Stmt:
    return loop("s.i", 8, loop("s.j", 8, *body, kind=j), kind=i)


def total(value: Value, *index: Index | int, loops: tuple[str, ...] = ("s.k",)) -> Reduce:
    return Reduce("s", "out", tuple(Index() + i for i in index), "add", Const(0.0), value, loops)


def registers(
    *index: Index, i: str = "unrolled", j: str = "vector", lo: Index | int = 0
) -> Program:
    """A store into registers `acc[8, 8]` inside a serial loop `s.k` and loops `s.i` and `s.j`."""
    body = loop("s.i", lo + 8, loop("s.j", 8, store(*index, buffer="acc"), kind=j), kind=i, lo=lo)
    return program(loop("s.k", 4, body), buffers=(Buffer("acc", (8, 8), "register"),))


def extern(read: str, written: str) -> Extern:
    function = CFunction("ago_relu", "ago_relu", "ago_relu_args", {})
    return Extern("relu", "Relu", {}, (read,), (written,), (), function)


def calling(read: str, written: str) -> Program:
    return replace(program(), extern=extern(read, written))


def packed(source: str, *index: Index, condition: tuple[Index, ...] = ()) -> Program:
    recipe = Packing(source, ("o", "l"), index, condition)
    weights = Buffer("w", (10,), "constant")
    return program(buffers=(weights, Buffer("wp", (3, 4), "constant", packing=recipe)))


O_L = var("o") * 4 + var("l")
LANE_ROW = loop("s.i", 8, loop("s.j", SI + 1, store(SJ, SI)), kind="vector")

RING = Buffer("ring", (3, 8), "stack")
RING_OF_2 = replace(RING, shape=(2, 8))


def window(
    rows: int, *, first: Index | int = 0, ring: Buffer = RING, swap: bool = False
) -> Program:
    """For each of 5 rows: compute rows `[first, 3)` of a window into a ring, then read all 3."""
    at, tap = SI + var("r"), SI + SK
    fill = loop("r", 3, store(at % rows, 0, buffer="ring", value=element("x", at, 0)), lo=first)
    read = loop("s.k", 3, store(SI, SK, value=element("ring", tap % rows, 0), stage="t"))
    body = (read, fill) if swap else (fill, read)
    return program(loop("s.i", 5, *body), buffers=(ring,))


SUM = Stage(
    "s",
    (Axis("i", 5), Axis("k", 5, "reduce")),
    "out",
    (SI, Index()),
    element("x", SI, SK),
    "add",
    Const(0.0),
)
TILE_OF_3 = minimum(var("s.k.0") * 3, 2)


def summed(*body: Stmt) -> Program:
    """A program of the stage `s`: the sum of the first 5 elements in each of 5 rows."""
    return replace(program(*body), stages=(SUM,))


def by_tiles(first: Index, *, guard: tuple[Index, ...] = ()) -> Program:
    """The sum with its reduction in two tiles of 3, the second beginning at `first`."""
    at = first + var("s.k.1")
    whole = Reduce(
        "s",
        "out",
        (SI, Index()),
        "add",
        Const(0.0),
        element("x", SI, at),
        ("s.k.0", "s.k.1"),
    )
    body = If(guard, (whole,)) if guard else whole
    return summed(loop("s.i", 5, loop("s.k.0", 2, loop("s.k.1", 3, body))))


def accumulated(tiles: Index, extent: int) -> Program:
    """The sum decomposed: rows start once each, and accumulate in two tiles of rows."""
    start = loop("s.i", 5, store(SI, 0, value=Const(0.0)))
    row = tiles + var("s.i.1")
    add_one = Update("s", "out", (row, Index()), "add", element("x", row, SK))
    rows = loop("s.i.1", extent, loop("s.k", 5, add_one))
    return summed(start, loop("s.i.0", 2, rows))


def doubled(first: Index, extent: int) -> Program:
    """Fill `out`, then double its rows in place, in two tiles."""
    row = first + var("d.1")
    double = store(row, 0, value=mul(Const(2.0), element("out", row, 0)), stage="d")
    fill = loop("s.i", 8, store(SI, 0))
    return program(fill, loop("d.0", 2, loop("d.1", extent, double)))


BROKEN_AND_KEPT: list[tuple[str, str, Program, Program]] = [
    # law, part of the message, the program that breaks it, one that does not
    (
        "duplicate-name",
        "2 loops are called s.i",
        program(loop("s.i", 8, store(SI, 0)), loop("s.i", 8, store(SI, 1))),
        program(loop("s.i", 8, store(SI, 0)), loop("s.j", 8, store(SJ, 1))),
    ),
    ("duplicate-name", "2 buffers are called x", program(buffers=(X,)), program()),
    (
        "duplicate-name",
        "2 stages are called a",
        program(stages=("a", "a")),
        program(stages=("a", "b")),
    ),
    (
        "unknown-buffer",
        "there is no buffer y",
        program(square(store(SI, SJ, value=element("y", SI, SJ)))),
        program(square(store(SI, SJ, value=element("x", SI, SJ)))),
    ),
    ("unknown-buffer", "there is no buffer y", packed("y", O_L), program()),
    (
        "unknown-function",
        "there is no function sinc",
        program(square(store(SI, SJ, value=Call("sinc", (ONE,))))),
        program(square(store(SI, SJ, value=Call("max", (ONE, ONE))))),
    ),
    (
        "unknown-function",
        "max takes 2 operands, not 1",
        program(square(store(SI, SJ, value=Call("max", (ONE,))))),
        program(square(store(SI, SJ, value=Call("max", (ONE, ONE))))),
    ),
    (
        "wrong-type",
        "the operands of max are f32 and i64; cast one of them",
        program(square(store(SI, SJ, value=Call("max", (ONE, Position(SI)))))),
        program(square(store(SI, SJ, value=Call("max", (ONE, Call("to_f32", (Position(SI),))))))),
    ),
    (
        "wrong-type",
        "the condition of where is f32, not bool",
        program(square(store(SI, SJ, value=Call("where", (ONE, ONE, ONE))))),
        program(square(store(SI, SJ, value=Call("where", (LESS, ONE, ONE))))),
    ),
    (
        "wrong-type",
        "and takes bool, i16, i32, i64, i8, u16, u32, u64, u8, not f32",
        program(square(store(SI, SJ, value=Call("and", (ONE, ONE))))),
        program(square(store(SI, SJ, value=Call("where", (LESS, ONE, ONE))))),
    ),
    (
        "wrong-type",
        "out holds f32, the value is bool",
        program(square(store(SI, SJ, value=LESS))),
        program(square(store(SI, SJ, value=Call("to_f32", (LESS,))))),
    ),
    (
        "wrong-type",
        "the branches of a select are f32 and i64",
        program(square(store(SI, SJ, value=Select((SI,), ONE, Position(SI))))),
        program(square(store(SI, SJ, value=Select((SI,), ONE, ONE)))),
    ),
    (
        "unbound-variable",
        "s.k uses s.k",
        program(square(store(SI, SJ, value=Call("to_f32", (Position(SK),))))),
        program(square(store(SI, SJ, value=Call("to_f32", (Position(SI),))))),
    ),
    (
        "unbound-variable",
        "s.k + 1 uses s.k",
        program(square(store(SI, SJ, value=element("x", SK + 1, SJ)))),
        program(loop("s.k", 7, square(store(SI, SJ, value=element("x", SK + 1, SJ))))),
    ),
    (
        "unbound-variable",
        "uses s.k",
        program(square(If((SK,), (store(SI, SJ),)))),
        program(square(If((SJ,), (store(SI, SJ),)))),
    ),
    (
        "unbound-variable",
        "uses s.j",
        program(loop("s.i", SJ, store(SI, 0))),
        program(loop("s.j", 8, loop("s.i", SJ, store(SI, 0)))),
    ),
    (
        "unbound-variable",
        "k is none of its loops",
        packed("w", var("k")),
        packed("w", var("l")),
    ),
    (
        "wrong-rank",
        "out has shape (8, 8)",
        program(square(store(SI))),
        program(square(store(SI, SJ))),
    ),
    ("wrong-rank", "does not fit", packed("w", O_L, O_L), packed("w", var("o") + var("l"))),
    (
        "out-of-bounds",
        "may reach 1 to 8 in dimension 1, which has 8 elements",
        program(square(store(SI, SJ + 1))),
        program(square(store(SI, SJ))),
    ),
    (
        "out-of-bounds",
        "may reach -1 to 6 in dimension 0",
        program(square(store(SI, SJ, value=element("x", SI - 1, SJ)))),
        program(
            square(store(SI, SJ, value=Select((SI - 1,), element("x", SI - 1, SJ), Const(0.0))))
        ),
    ),
    (
        "out-of-bounds",
        "may reach 0 to 14 in dimension 0",
        program(square(If((7 - SI - SJ,), (store(SI + SJ, SJ),)), store(SI + SJ, SJ))),
        program(square(If((7 - SI - SJ,), (store(SI + SJ, SJ),)))),
    ),
    (
        "out-of-bounds",
        "may reach 0 to 9",
        program(loop("s.i", 4, loop("s.j", SI * 2 + 4, store(SJ, SI), lo=SI * 2))),
        program(loop("s.i", 3, loop("s.j", SI * 2 + 4, store(SJ, SI), lo=SI * 2))),
    ),
    (
        "out-of-bounds",
        "0 to 11, outside 10",
        packed("w", O_L),
        packed("w", O_L, condition=(9 - O_L,)),
    ),
    (
        "write-to-constant",
        "stores x[s.i, s.j], an input",
        program(square(store(SI, SJ, buffer="x"))),
        program(square(store(SI, SJ, buffer="tile"))),
    ),
    ("write-to-constant", "both must be constants", packed("x", O_L, O_L), program()),
    (
        "read-before-write",
        "reads tile[s.i, s.j] before tile is written",
        program(square(store(SI, SJ, value=element("tile", SI, SJ)), store(SI, SJ, buffer="tile"))),
        program(square(store(SI, SJ, buffer="tile"), store(SI, SJ, value=element("tile", SI, SJ)))),
    ),
    (
        "read-before-write",
        "before out is written",
        program(square(Update("s", "out", (SI, SJ), "add", ONE))),
        program(square(store(SI, SJ), Update("s", "out", (SI, SJ), "add", ONE))),
    ),
    (
        "reduce-loops",
        "runs over s.k, which is no loop around it",
        program(square(total(ONE, SI, SJ))),
        program(loop("s.k", 4, square(total(ONE, SI, SJ)))),
    ),
    (
        "reduce-loops",
        "starts at s.k, which uses its loop s.k",
        program(loop("s.k", 8, square(total(ONE, SI, SK)))),
        program(loop("s.k", 8, square(total(ONE, SI, SJ)))),
    ),
    (
        "reduce-loops",
        "bounds of s.j use s.k",
        program(loop("s.k", 8, loop("s.j", SK + 1, total(ONE, 0, SJ)))),
        program(loop("s.k", 8, loop("s.j", 8, total(ONE, 0, SJ)))),
    ),
    (
        "incomplete-reduction",
        "stage next reads out[0, 0] inside loop s.k",
        program(
            loop(
                "s.k",
                8,
                total(element("x", SK, 0), 0, 0),
                store(SK, 0, buffer="tile", stage="next", value=element("out", 0, 0)),
            )
        ),
        program(
            loop("s.k", 8, total(element("x", SK, 0), 0, 0)),
            store(0, 0, buffer="tile", stage="next", value=element("out", 0, 0)),
        ),
    ),
    (
        "stale-ring",
        "stage t reads row 0 of ring, a ring of 2 in dimension 0, whose slot 0 holds row 2 by then"
        ", at s.i = 0, s.k = 0",
        window(2, first=minimum(2, SI * 2), ring=RING_OF_2),
        window(3, first=minimum(2, SI * 2)),
    ),
    (
        "stale-ring",
        "reads row 0 of ring, a ring of 3 in dimension 0, whose slot 0 is empty",
        window(3, first=2),
        window(3, first=0),
    ),
    (
        "computed-twice",
        "stage s accumulates 30 terms into out, which it starts 5 times; with 5 terms each it "
        "should be 25",
        by_tiles(TILE_OF_3),
        by_tiles(var("s.k.0") * 3, guard=(4 - var("s.k.0") * 3 - var("s.k.1"),)),
    ),
    (
        "computed-twice",
        "should be 25",
        accumulated(minimum(var("s.i.0") * 3, 2), 3),
        replace(accumulated(var("s.i.0") * 3, 3), stages=()),
    ),
    (
        "computed-twice",
        "out is updated in place, by tiles that may overlap",
        doubled(minimum(var("d.0") * 5, 3), 5),
        doubled(var("d.0") * 4, 4),
    ),
    (
        "race",
        "parallel loop s.i: its iterations may touch the same elements of out",
        program(square(store(0, SJ), i="parallel")),
        program(square(store(SI, 0), i="parallel")),
    ),
    (
        "race",
        "may touch the same elements of out",
        program(square(store(SI // 2, SJ), i="parallel")),
        program(square(store(SI // 2, SI % 2), i="parallel")),
    ),
    (
        "race",
        "may touch the same elements of out",
        program(loop("s.i", 3, loop("s.j", 3, store(SI * 2 + SJ, 0)), kind="parallel")),
        program(loop("s.i", 3, loop("s.j", 2, store(SI * 2 + SJ, 0)), kind="parallel")),
    ),
    (
        "race",
        "may touch the same elements of out",
        program(
            loop("s.i", 4, loop("s.j", SI * 2 + 3, store(SJ, 0), lo=SI * 2), kind="parallel")
        ).with_buffer(replace(OUT, shape=(9, 8))),
        program(loop("s.i", 4, loop("s.j", SI * 2 + 2, store(SJ, 0), lo=SI * 2), kind="parallel")),
    ),
    (
        "race",
        "reduction of out runs over it",
        program(loop("s.k", 8, square(total(element("x", SK, SJ), SI, SJ)), kind="vector")),
        program(loop("s.k", 8, square(total(element("x", SK, SJ), SI, SJ)), kind="unrolled")),
    ),
    (
        "race",
        "vector loop t.j: its iterations may touch the same elements of tile",
        program(
            square(store(SI, SJ, buffer="tile")),
            loop(
                "t.j",
                7,
                store(var("t.j"), 0, buffer="tile", value=element("tile", var("t.j") + 1, 0)),
                kind="vector",
            ),
        ),
        program(
            square(store(SI, SJ, buffer="tile")),
            loop(
                "t.j",
                7,
                store(var("t.j"), 0, buffer="tile", value=element("tile", var("t.j"), 0)),
                kind="vector",
            ),
        ),
    ),
    (
        "race",
        "may touch the same elements of tile",
        program(
            square(
                store(SJ, 0, buffer="tile"),
                store(SI, SJ, value=element("tile", SJ, 0)),
                i="parallel",
            ),
        ).with_buffer(replace(TILE, scope="workspace")),
        program(
            square(
                store(SJ, 0, buffer="tile"),
                store(SI, SJ, value=element("tile", SJ, 0)),
                i="parallel",
            ),
        ),
    ),
    (
        "vector-bounds",
        "bounds of loop s.j differ between lanes",
        program(LANE_ROW),
        program(replace(LANE_ROW, kind="serial")),
    ),
    (
        "vector-bounds",
        "vector loop s.j is inside another vector loop",
        program(square(store(SI, SJ), i="vector", j="vector")),
        program(square(store(SI, SJ), i="unrolled", j="vector")),
    ),
    (
        "register-index",
        "its index uses s.k, which is not unrolled",
        registers(SK, SJ),
        registers(SI, SJ),
    ),
    ("register-index", "which is not unrolled", registers(SI, SJ, i="serial"), registers(SI, SJ)),
    ("register-index", "must stand in the last index", registers(SJ, SI), registers(SI, SJ)),
    ("register-index", "must stand in the last index", registers(SI, 7 - SJ), registers(SI, SJ)),
    (
        "register-index",
        "its index uses s.k",
        registers(SI - SK, SJ, lo=SK * 2).with_buffer(Buffer("acc", (16, 8), "register")),
        registers(SI - SK * 2, SJ, lo=SK * 2),
    ),
]


BROKEN_AND_KEPT += [
    (
        "extern-alone",
        "extern relu (Relu) shares program p with loop nests",
        replace(program(square(store(SI, SJ))), extern=extern("x", "out")),
        calling("x", "out"),
    ),
    ("unknown-buffer", "there is no buffer nowhere", calling("nowhere", "out"), calling("", "out")),
    ("write-to-constant", "writes x, an input", calling("out", "x"), calling("x", "out")),
]


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
