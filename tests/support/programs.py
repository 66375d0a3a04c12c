"""Naive programs of a few operators, each with the numpy function that defines it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ago.ir.index import Index, as_index, var
from ago.ir.nest import Axis, Buffer, For, Packing, Stage, Stmt
from ago.ir.program import Program
from ago.ir.tensor import numpy_dtype
from ago.ir.value import Call, Const, Load, Select, add, mul

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A program, and its output from its parameters by numpy."""

    program: Program
    reference: Callable[[Mapping[str, Array]], Array]
    output: str


def integers(program: Program, seed: int = 0) -> dict[str, Array]:
    """Small integers for every input and unpacked constant, so that all sums are exact."""
    random = np.random.default_rng(seed)
    return {
        b.name: _of_type(random.integers(-4, 5, b.shape), b.dtype)
        for b in program.buffers
        if b.scope in ("input", "constant") and b.packing is None
    }


def _of_type(numbers: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers in an element type, float64 for f32; where it has no negative ones, from 0 on."""
    if dtype == "f32":
        return numbers.astype(np.float64)
    kind = numpy_dtype(dtype)
    return (
        numbers > 0 if kind.kind == "b" else np.abs(numbers) if kind.kind == "u" else numbers
    ).astype(kind)


def matmul(m: int, n: int, k: int) -> Case:
    i, j, r = var("mm.i"), var("mm.j"), var("mm.k")
    stage = Stage(
        "mm",
        (Axis("i", m), Axis("j", n), Axis("k", k, "reduce")),
        "C",
        (i, j),
        mul(Load("A", (i, r)), Load("B", (r, j))),
        "add",
        Const(0.0),
        "/MatMul",
    )
    buffers = (
        Buffer("A", (m, k), "input"),
        Buffer("B", (k, n), "constant"),
        Buffer("C", (m, n), "output"),
    )
    return Case(Program.naive("matmul", buffers, (stage,)), lambda p: p["A"] @ p["B"], "C")


def convolution(
    size: int, channels: int, filters: int, kernel: int, stride: int, *, lanes: int = 4
) -> Case:
    """A zero-padded convolution of a square NHWC map, its weights packed in blocks of `lanes`."""
    pad = kernel // 2
    out = (size + 2 * pad - kernel) // stride + 1
    y, x, o, ky, kx, c = (var(f"conv.{axis}") for axis in ("y", "x", "o", "ky", "kx", "c"))
    at_y, at_x = y * stride + ky - pad, x * stride + kx - pad
    inside = (at_y, size - 1 - at_y, at_x, size - 1 - at_x)
    pixel = Select(inside, Load("X", (at_y, at_x, c)), Const(0.0))
    weight = Load("Wp", (o // lanes, ky, kx, c, o % lanes))
    axes = (
        Axis("y", out),
        Axis("x", out),
        Axis("o", filters),
        Axis("ky", kernel, "reduce"),
        Axis("kx", kernel, "reduce"),
        Axis("c", channels, "reduce"),
    )
    stage = Stage(
        "conv", axes, "Y", (y, x, o), mul(pixel, weight), "add", Load("B", (o,)), "/features.0"
    )
    blocks = -(-filters // lanes)
    block, lane = var("block"), var("lane")
    filter_ = block * lanes + lane
    recipe = Packing(
        "W",
        ("block", "ky", "kx", "c", "lane"),
        (filter_, var("c"), var("ky"), var("kx")),
        (filters - 1 - filter_,),
    )
    buffers = (
        Buffer("X", (size, size, channels), "input"),
        Buffer("W", (filters, channels, kernel, kernel), "constant"),
        Buffer("Wp", (blocks, kernel, kernel, channels, lanes), "constant", packing=recipe),
        Buffer("B", (filters,), "constant"),
        Buffer("Y", (out, out, filters), "output"),
    )

    def reference(p: Mapping[str, Array]) -> Array:
        padded = np.pad(p["X"], ((pad, pad), (pad, pad), (0, 0)))
        result = np.zeros((out, out, filters)) + p["B"]
        for row in range(kernel):
            for column in range(kernel):
                rows = slice(row, row + stride * (out - 1) + 1, stride)
                columns = slice(column, column + stride * (out - 1) + 1, stride)
                result += padded[rows, columns] @ p["W"][:, :, row, column].T
        return result

    return Case(Program.naive("conv", buffers, (stage,)), reference, "Y")


def depthwise(size: int, channels: int, kernel: int) -> Case:
    """A depthwise convolution without padding, then a clamp to at least 0."""
    out = size - kernel + 1
    y, x, c, ky, kx = (var(f"dw.{axis}") for axis in ("y", "x", "c", "ky", "kx"))
    axes = (
        Axis("y", out),
        Axis("x", out),
        Axis("c", channels),
        Axis("ky", kernel, "reduce"),
        Axis("kx", kernel, "reduce"),
    )
    product = mul(Load("X", (y + ky, x + kx, c)), Load("W", (ky, kx, c)))
    window = Stage("dw", axes, "T", (y, x, c), product, "add", Const(0.0), "/dw")
    at = (var("relu.y"), var("relu.x"), var("relu.c"))
    clamp = Call("max", (Const(0.0), Load("T", at)))
    relu = Stage("relu", axes[:3], "Y", at, clamp, origin="/relu")
    buffers = (
        Buffer("X", (size, size, channels), "input"),
        Buffer("W", (kernel, kernel, channels), "constant"),
        Buffer("T", (out, out, channels), "workspace"),
        Buffer("Y", (out, out, channels), "output"),
    )

    def reference(p: Mapping[str, Array]) -> Array:
        taps = [
            p["X"][row : row + out, column : column + out] * p["W"][row, column]
            for row in range(kernel)
            for column in range(kernel)
        ]
        return np.maximum(sum(taps, np.zeros((out, out, channels))), 0.0)

    return Case(Program.naive("depthwise", buffers, (window, relu)), reference, "Y")


def max_pool(size: int, channels: int, kernel: int) -> Case:
    out = size // kernel
    y, x, c, ky, kx = (var(f"pool.{axis}") for axis in ("y", "x", "c", "ky", "kx"))
    axes = (
        Axis("y", out),
        Axis("x", out),
        Axis("c", channels),
        Axis("ky", kernel, "reduce"),
        Axis("kx", kernel, "reduce"),
    )
    element = Load("X", (y * kernel + ky, x * kernel + kx, c))
    stage = Stage("pool", axes, "Y", (y, x, c), element, "max", Const(float("-inf")))
    buffers = (
        Buffer("X", (size, size, channels), "input"),
        Buffer("Y", (out, out, channels), "output"),
    )

    def reference(p: Mapping[str, Array]) -> Array:
        whole = p["X"][: out * kernel, : out * kernel]
        return whole.reshape(out, kernel, out, kernel, channels).max(axis=(1, 3))

    return Case(Program.naive("pool", buffers, (stage,)), reference, "Y")


def residual(rows: int, columns: int) -> Case:
    """`2 - (x + y) / 4`, element by element."""
    at = (var("add.i"), var("add.j"))
    total = Call("div", (add(Load("x", at), Load("y", at)), Const(4.0)))
    value = Call("sub", (Const(2.0), total))
    stage = Stage("add", (Axis("i", rows), Axis("j", columns)), "z", at, value)
    buffers = tuple(
        Buffer(name, (rows, columns), scope)
        for name, scope in (("x", "input"), ("y", "input"), ("z", "output"))
    )
    program = Program.naive("residual", buffers, (stage,))
    return Case(program, lambda p: 2.0 - (p["x"] + p["y"]) / 4.0, "z")


def chain_of(stmt: Stmt) -> list[For]:
    """The perfectly nested loops from `stmt` down."""
    loops: list[For] = []
    while isinstance(stmt, For):
        loops.append(stmt)
        if len(stmt.body) != 1:
            break
        (stmt,) = stmt.body
    return loops


def rebuilt(loops: list[For], body: tuple[Stmt, ...]) -> Stmt:
    """`loops`, outermost first, around `body`."""
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    return body[0]


def loop(name: str, extent: Index | int, *body: Stmt, kind: str = "serial", lo: Index | int = 0):
    """A loop over `[lo, extent)`."""
    return For(name, as_index(lo), as_index(extent), kind, body)
