"""Loop nests of kernels as schedules make them, built by hand, with the arrays to run them on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ago.ir.index import Index, as_index, minimum, var
from ago.ir.nest import Buffer, For, If, LoopKind, Reduce, Stmt, Store
from ago.ir.program import Program
from ago.ir.value import Call, Const, Load, Select, Value, add, mul

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Kernel:
    """A program, arrays for its parameters but the output, and the output they give."""

    program: Program
    arrays: Arrays
    expected: np.ndarray

    def check(self, output: np.ndarray) -> None:
        np.testing.assert_array_equal(output, self.expected)


def loop(name: str, extent: Index | int, kind: LoopKind, *body: Stmt, lo: Index | int = 0) -> For:
    """A loop over `[lo, lo + extent)`."""
    return For(name, as_index(lo), as_index(lo) + extent, kind, body)


def clamp(value: Value) -> Value:
    return Call("min", (Const(6.0), Call("max", (Const(0.0), value))))


def integers(*shape: int, seed: int = 0) -> np.ndarray:
    """Small integers, so that float32 sums are exact in any order."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def pointwise(
    height: int,
    width: int,
    channels: int,
    filters: int,
    rows: int,
    vectors: int,
    lanes: int,
    unroll: int = 4,
    order: Literal["xc", "cx"] = "xc",
) -> Kernel:
    """A pointwise convolution with clamp and residual.

    Register tiles of `rows` pixels by `vectors` vectors, weights and bias packed, the reduction
    unrolled `unroll` times; all sizes divide.
    """
    y, xo, co = var("out.y"), var("out.x.0"), var("out.c.0")
    k0, k1 = var("conv.k.0"), var("conv.k.1")
    cx, c0, c1 = var("conv.x"), var("conv.c.0"), var("conv.c.1")
    x1, o1, o2 = var("out.x.1"), var("out.c.1"), var("out.c.2")
    pixel = Load("x", (y, xo * rows + cx, k0 * unroll + k1))
    weight = Load("w", (co, k0, k1, c0, c1))
    leaf = Reduce(
        "conv",
        "conv",
        (cx, c0 * lanes + c1),
        "add",
        Load("b", (co, c0, c1)),
        mul(pixel, weight),
        ("conv.k.0", "conv.k.1"),
    )
    inner: Stmt = loop("conv.c.1", lanes, "vector", leaf)
    for axis in reversed(order):
        name, extent = ("conv.x", rows) if axis == "x" else ("conv.c.0", vectors)
        inner = loop(name, extent, "unrolled", inner)
    reduction = loop(
        "conv.k.0", channels // unroll, "serial", loop("conv.k.1", unroll, "unrolled", inner)
    )
    at = (y, xo * rows + x1, co * (vectors * lanes) + o1 * lanes + o2)
    result = add(clamp(Load("conv", (x1, o1 * lanes + o2))), Load("r", at))
    epilogue: Stmt = loop("out.c.2", lanes, "vector", Store("out", "out", at, result))
    epilogue = loop("out.x.1", rows, "unrolled", loop("out.c.1", vectors, "unrolled", epilogue))
    blocks = filters // (vectors * lanes)
    body = loop("out.c.0", blocks, "serial", reduction, epilogue)
    body = loop("out.y", height, "serial", loop("out.x.0", width // rows, "serial", body))
    buffers = (
        Buffer("x", (height, width, channels), "input"),
        Buffer("r", (height, width, filters), "input"),
        Buffer("w", (blocks, channels // unroll, unroll, vectors, lanes), "constant"),
        Buffer("b", (blocks, vectors, lanes), "constant"),
        Buffer("out", (height, width, filters), "output"),
        Buffer("conv", (rows, vectors * lanes), "register"),
    )
    x, w, b = (
        integers(height, width, channels),
        integers(channels, filters, seed=1),
        integers(filters),
    )
    r = integers(height, width, filters, seed=2)
    packed = w.reshape(channels // unroll, unroll, blocks, vectors, lanes).transpose(2, 0, 1, 3, 4)
    arrays = {"x": x, "r": r, "w": packed, "b": b}
    return Kernel(Program("pointwise", buffers, (), (body,)), arrays, np.clip(x @ w + b, 0, 6) + r)


Tail = Literal["balance", "shift", "guard"]


def _tile(size: int, tile: int, tail: Tail) -> tuple[int, Index, Index]:
    """Number of tiles, symbolic extent of tile `out.x.0`, and where it starts."""
    tiles = -(-size // tile)
    o = var("out.x.0")
    if tail == "guard":
        return tiles, minimum(tile, as_index(size) - o * tile), o * tile
    small, larger = divmod(size, tiles)
    if tail == "shift":
        whole = small + (larger > 0)
        return tiles, as_index(whole), minimum(o * whole, size - whole)
    extra = minimum(1, -minimum(o - larger, 0))
    return tiles, extra + small, o * small + minimum(o, larger)


def depthwise(size: int, channels: int, kernel: int, tile: int, lanes: int, tail: Tail) -> Kernel:
    """A zero-padded depthwise convolution, its window unrolled, any tail along a row.

    Padding is a guarded load and channels are masked: borders and tails are left to codegen.
    """
    pad = kernel // 2
    y, co, i, c = var("out.y"), var("out.c.0"), var("dw.x"), var("dw.c")
    ky, kx = var("dw.ky"), var("dw.kx")
    tiles, extent, start = _tile(size, tile, tail)
    at_y, at_x, channel = y + ky - pad, start + i + kx - pad, co * lanes + c
    inside = (at_y, size - 1 - at_y, at_x, size - 1 - at_x)
    leaf = Reduce(
        "dw",
        "acc",
        (i, c),
        "add",
        Load("b", (channel,)),
        mul(
            Select(inside, Load("x", (at_y, at_x, channel)), Const(0.0)),
            Load("w", (ky, kx, channel)),
        ),
        ("dw.ky", "dw.kx"),
    )
    masked = If((channels - 1 - channel,), (leaf,))
    nest: Stmt = loop("dw.x", extent, "unrolled", loop("dw.c", lanes, "vector", masked))
    nest = loop("dw.ky", kernel, "unrolled", loop("dw.kx", kernel, "unrolled", nest))
    x1, o1 = var("out.x.1"), var("out.c.1")
    at = (y, start + x1, co * lanes + o1)
    store = If(
        (channels - 1 - co * lanes - o1,), (Store("out", "out", at, clamp(Load("acc", (x1, o1)))),)
    )
    copy = loop("out.x.1", extent, "unrolled", loop("out.c.1", lanes, "vector", store))
    body = loop("out.c.0", -(-channels // lanes), "serial", nest, copy)
    body = loop("out.y", size, "serial", loop("out.x.0", tiles, "serial", body))
    buffers = (
        Buffer("x", (size, size, channels), "input"),
        Buffer("w", (kernel, kernel, channels), "constant"),
        Buffer("b", (channels,), "constant"),
        Buffer("out", (size, size, channels), "output"),
        Buffer("acc", (tile, lanes), "register"),
    )
    x, w, b = integers(size, size, channels), integers(kernel, kernel, channels), integers(channels)
    padded = np.pad(x, ((pad, pad), (pad, pad), (0, 0)))
    total = b + sum(
        padded[row : row + size, column : column + size] * w[row, column]
        for row in range(kernel)
        for column in range(kernel)
    )
    program = Program("depthwise", buffers, (), (body,))
    return Kernel(program, {"x": x, "w": w, "b": b}, np.clip(total, 0, 6))


def named(kernel: Kernel, name: str) -> Program:
    """The kernel's program under another name."""
    return replace(kernel.program, name=name)
