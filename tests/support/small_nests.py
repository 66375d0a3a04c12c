"""Small programs made by hand, for laws that they keep or break."""

from __future__ import annotations

from dataclasses import replace

from ago.ir.extern import CFunction, Extern
from ago.ir.index import Index, minimum, var
from ago.ir.nest import Axis, Buffer, If, Packing, Reduce, Stage, Stmt, Store, Update
from ago.ir.program import Program
from ago.ir.value import Call, Const, Load, Value, mul
from tests.support.programs import loop

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
