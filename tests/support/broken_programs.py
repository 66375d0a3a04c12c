"""For each law programs that break it, and near-identical ones that keep it."""

from __future__ import annotations

from dataclasses import replace

from ago.ir.index import minimum, var
from ago.ir.nest import Buffer, If, Update
from ago.ir.program import Program
from ago.ir.value import Call, Const, Position, Select
from tests.support.programs import loop
from tests.support.small_nests import (
    LANE_ROW,
    LESS,
    O_L,
    ONE,
    OUT,
    RING_OF_2,
    SI,
    SJ,
    SK,
    TILE,
    TILE_OF_3,
    X,
    accumulated,
    by_tiles,
    calling,
    doubled,
    element,
    extern,
    packed,
    program,
    registers,
    square,
    store,
    total,
    window,
)

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
