"""Naive programs whose buffers are integers, bools and floats, for the tests of schedules.

Read `TYPED` first. All numbers are small integers, so that any order of a sum is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ago.ir.index import Index, var
from ago.ir.nest import Axis, Buffer, Stage
from ago.ir.program import Program
from ago.ir.value import Call, Const, Load, Position, Select, Value


def call(function: str, *operands: Value | float) -> Call:
    """A call; numbers are f32 constants."""
    return Call(function, tuple(Const(x) if isinstance(x, float) else x for x in operands))


def store(name: str, axes: tuple[Axis, ...], value: Value) -> Stage:
    """A plain stage that writes the buffer of its own name."""
    return Stage(name, axes, name, tuple(var(f"{name}.{a.name}") for a in axes), value)


def at(stage: str, *axes: str) -> tuple[Index, ...]:
    return tuple(var(f"{stage}.{axis}") for axis in axes)


def quantised_product(m: int, n: int, k: int) -> Program:
    """Bytes times bytes in i32, then scaled, rounded and clamped to bytes."""
    axes = (Axis("i", m), Axis("j", n))
    left = call("to_i32", Load("A", at("C", "i", "k")))
    right = call("sub", call("to_i32", Load("B", at("C", "k", "j"))), Const(1, "i32"))
    product = Stage(
        "C",
        (*axes, Axis("k", k, "reduce")),
        "C",
        at("C", "i", "j"),
        call("mul", left, right),
        "add",
        Load("bias", at("C", "j")),
    )
    scaled = call("mul", call("to_f32", Load("C", at("Q", "i", "j"))), 0.5)
    rounded = store("Q", axes, call("to_u8", call("add", call("round", scaled), 128.0)))
    buffers = (
        Buffer("A", (m, k), "input", "i8"),
        Buffer("B", (k, n), "constant", "u8"),
        Buffer("bias", (n,), "constant", "i32"),
        Buffer("Q", (m, n), "output", "u8"),
        Buffer("C", (m, n), "workspace", "i32"),
    )
    return Program.naive("quantised_product", buffers, (product, rounded))


def first_largest(m: int, n: int, k: int) -> Program:
    """The position of the first largest element along the middle axis, as i64."""
    axes = (Axis("i", m), Axis("j", n))
    reduce = Axis("k", k, "reduce")
    largest = Stage(
        "M",
        (*axes, reduce),
        "M",
        at("M", "i", "j"),
        Load("x", at("M", "i", "k", "j")),
        "nanmax",
        Const(float("-inf")),
    )
    here = call("equal", Load("x", at("P", "i", "k", "j")), Load("M", at("P", "i", "j")))
    place = call("where", here, Position(var("P.k")), Const(k, "i64"))
    index = at("P", "i", "j")
    first = Stage("P", (*axes, reduce), "P", index, place, "min", Const(k, "i64"))
    buffers = (
        Buffer("x", (m, k, n), "input"),
        Buffer("P", (m, n), "output", "i64"),
        Buffer("M", (m, n), "workspace"),
    )
    return Program.naive("first_largest", buffers, (largest, first))


def masked(m: int, n: int, k: int) -> Program:
    """Floats from bytes, a stored condition, a choice by it, and a sum over rows."""
    axes = (Axis("i", m), Axis("j", n))
    real = store("D", axes, call("sub", call("to_f32", Load("x", at("D", "i", "j"))), 1.0))
    mask = store("B", axes, call("less", Load("D", at("B", "i", "j")), 1.0))
    here = at("R", "i", "j")
    chosen = call("where", Load("B", here), Load("D", here), call("neg", Load("D", here)))
    choice = store("R", axes, chosen)
    total = Stage(
        "S",
        (Axis("j", n), Axis("i", m, "reduce")),
        "S",
        at("S", "j"),
        Load("R", at("S", "i", "j")),
        "add",
        Const(0.0),
    )
    buffers = (
        Buffer("x", (m, n), "input", "u8"),
        Buffer("S", (n,), "output"),
        Buffer("B", (m, n), "output", "bool"),
        Buffer("D", (m, n), "workspace"),
        Buffer("R", (m, n), "workspace"),
    )
    return Program.naive("masked", buffers, (real, mask, choice, total))


def lane_masks(m: int, n: int, k: int) -> Program:
    """Conditions that become lane masks, behind a product and under a select."""
    axes = (Axis("i", m), Axis("j", n))
    product = Stage(
        "C",
        (*axes, Axis("k", k, "reduce")),
        "C",
        at("C", "i", "j"),
        call("mul", Load("A", at("C", "i", "k")), Load("W", at("C", "k", "j"))),
        "add",
        Const(0.0),
    )
    i, j = at("R", "i", "j")
    x, y = Load("C", (i, j)), Load("y", (i, j))
    condition = call("and", call("less", x, y), call("not", call("equal", y, 0.0)))
    value = call("where", condition, call("mul", x, 2.0), call("abs", y))
    shifted = Select((j - 1,), Load("y", (i, j - 1)), Const(3.0))
    result = store("R", axes, call("where", call("less_equal", value, shifted), value, shifted))
    buffers = (
        Buffer("A", (m, k), "input"),
        Buffer("W", (k, n), "constant"),
        Buffer("y", (m, n), "input"),
        Buffer("R", (m, n), "output"),
        Buffer("C", (m, n), "workspace"),
    )
    return Program.naive("lane_masks", buffers, (product, result))


def numbered(m: int, n: int, k: int) -> Program:
    """Positions as numbers: `y[i, j] = x[i, j] + 3 i + j // 2`, and their parity as bools."""
    axes = (Axis("i", m), Axis("j", n))
    i, j = at("Y", "i", "j")
    place = Position(i * 3 + j // 2)
    total = store("Y", axes, call("add", Load("x", (i, j)), call("to_f32", place)))
    i, j = at("E", "i", "j")
    even = call("equal", call("mod", Position(i * 3 + j // 2), Const(2, "i64")), Const(0, "i64"))
    odd = call("and", call("not", even), call("less", 0.0, Load("Y", (i, j))))
    parity = store("E", axes, odd)
    buffers = (
        Buffer("x", (m, n), "input"),
        Buffer("E", (m, n), "output", "bool"),
        Buffer("Y", (m, n), "workspace"),
    )
    return Program.naive("numbered", buffers, (total, parity))


TYPED: Mapping[str, Callable[[int, int, int], Program]] = {
    made.__name__: made for made in (quantised_product, first_largest, masked, lane_masks, numbered)
}
"""Programs by name, of three extents."""
