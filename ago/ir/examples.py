"""Small programs for documentation, doctests and tests."""

from __future__ import annotations

from ago.ir.index import var
from ago.ir.nest import Axis, Buffer, Stage
from ago.ir.program import Program
from ago.ir.value import Call, Const, Load, Select, add, mul


def matmul(m: int, n: int, k: int, *, relu: bool = False) -> Program:
    """The naive program of `C[m, n] = A[m, k] @ B[k, n]`, as stage `C`.

    Args:
        m: Rows of A and C.
        n: Columns of B and C.
        k: Columns of A, rows of B.
        relu: Whether a second stage `R[i, j] = max(0, C[i, j])` follows.

    Returns:
        A program whose loops are `C.i`, `C.j`, `C.k` (and `R.i`, `R.j`).
    """
    i, j, reduce = var("C.i"), var("C.j"), var("C.k")
    product = mul(Load("A", (i, reduce)), Load("B", (reduce, j)))
    axes = (Axis("i", m), Axis("j", n), Axis("k", k, "reduce"))
    contraction = Stage("C", axes, "C", (i, j), product, "add", Const(0.0))
    operands = (Buffer("A", (m, k), "input"), Buffer("B", (k, n), "constant"))
    if not relu:
        return Program.naive("matmul", (*operands, Buffer("C", (m, n), "output")), (contraction,))
    i, j = var("R.i"), var("R.j")
    clamp = Stage(
        "R",
        (Axis("i", m), Axis("j", n)),
        "R",
        (i, j),
        Call("max", (Const(0.0), Load("C", (i, j)))),
    )
    buffers = (*operands, Buffer("R", (m, n), "output"), Buffer("C", (m, n), "workspace"))
    return Program.naive("matmul_relu", buffers, (contraction, clamp))


def chain(m: int, n: int) -> Program:
    """The naive program of `R[i, j] = max(0, 2 * x[i, j])` in two element-wise stages, `S` and `R`.

    Args:
        m: Rows.
        n: Columns.

    Returns:
        A program whose loops are `S.i`, `S.j`, `R.i`, `R.j`.
    """
    axes = (Axis("i", m), Axis("j", n))
    at_s, at_r = (var("S.i"), var("S.j")), (var("R.i"), var("R.j"))
    double = Stage("S", axes, "S", at_s, mul(Const(2.0), Load("x", at_s)))
    clamp = Stage("R", axes, "R", at_r, Call("max", (Const(0.0), Load("S", at_r))))
    shape = (m, n)
    buffers = (
        Buffer("x", shape, "input"),
        Buffer("R", shape, "output"),
        Buffer("S", shape, "workspace"),
    )
    return Program.naive("chain", buffers, (double, clamp))


def fork(m: int, n: int) -> Program:
    """The naive program of `L = max(0, S)` and `R = S + x` with `S = 2 * x`: two results.

    Args:
        m: Rows.
        n: Columns.

    Returns:
        A program whose loops are `i` and `j` of the stages `S`, `L` and `R`.
    """
    axes = (Axis("i", m), Axis("j", n))
    at_s, at_l, at_r = ((var(f"{name}.i"), var(f"{name}.j")) for name in "SLR")
    double = Stage("S", axes, "S", at_s, mul(Const(2.0), Load("x", at_s)))
    clamp = Stage("L", axes, "L", at_l, Call("max", (Const(0.0), Load("S", at_l))))
    total = Stage("R", axes, "R", at_r, add(Load("S", at_r), Load("x", at_r)))
    shape = (m, n)
    buffers = (
        Buffer("x", shape, "input"),
        Buffer("L", shape, "output"),
        Buffer("R", shape, "output"),
        Buffer("S", shape, "workspace"),
    )
    return Program.naive("fork", buffers, (double, clamp, total))


def depthwise(height: int, width: int, channels: int, window: int) -> Program:
    """The naive program of a biased depthwise convolution without padding, as stage `D`.

    Args:
        height: Rows of the output.
        width: Columns of the output.
        channels: Channels, the innermost dimension.
        window: Rows and columns of the window.

    Returns:
        A program whose loops are `D.y`, `D.x`, `D.c`, `D.ky`, `D.kx`.
    """
    y, x, c, ky, kx = (var(f"D.{axis}") for axis in ("y", "x", "c", "ky", "kx"))
    value = mul(Load("X", (y + ky, x + kx, c)), Load("W", (c, ky, kx)))
    axes = (
        Axis("y", height),
        Axis("x", width),
        Axis("c", channels),
        Axis("ky", window, "reduce"),
        Axis("kx", window, "reduce"),
    )
    stage = Stage("D", axes, "D", (y, x, c), value, "add", add(Const(0.0), Load("B", (c,))))
    buffers = (
        Buffer("X", (height + window - 1, width + window - 1, channels), "input"),
        Buffer("W", (channels, window, window), "constant"),
        Buffer("B", (channels,), "constant"),
        Buffer("D", (height, width, channels), "output"),
    )
    return Program.naive("depthwise", buffers, (stage,))


def pad(n: int, border: int) -> Program:
    """The naive program of a square map with a border of zeros, as stage `P`.

    Args:
        n: Rows and columns of the map.
        border: Width of the border.

    Returns:
        A program whose loops are `P.y` and `P.x`.
    """
    y, x = var("P.y"), var("P.x")
    inside = (y - border, n - 1 + border - y, x - border, n - 1 + border - x)
    value = Select(inside, Load("X", (y - border, x - border)), Const(0.0))
    extent = n + 2 * border
    stage = Stage("P", (Axis("y", extent), Axis("x", extent)), "P", (y, x), value)
    buffers = (Buffer("X", (n, n), "input"), Buffer("P", (extent, extent), "output"))
    return Program.naive("pad", buffers, (stage,))


def smooth(rows: int, columns: int) -> Program:
    """The naive program of `S[y, x] = P[y, x] + P[y+1, x] + P[y+2, x]` with `P = 2 * X`.

    Args:
        rows: Rows of `P`; `S` has two fewer.
        columns: Columns of both.

    Returns:
        A program whose loops are `P.y`, `P.x`, `S.y`, `S.x`.
    """
    at_p, y, x = (var("P.y"), var("P.x")), var("S.y"), var("S.x")
    double = Stage(
        "P",
        (Axis("y", rows), Axis("x", columns)),
        "P",
        at_p,
        mul(Const(2.0), Load("X", at_p)),
    )
    total = add(Load("P", (y, x)), add(Load("P", (y + 1, x)), Load("P", (y + 2, x))))
    smoothed = Stage("S", (Axis("y", rows - 2), Axis("x", columns)), "S", (y, x), total)
    buffers = (
        Buffer("X", (rows, columns), "input"),
        Buffer("S", (rows - 2, columns), "output"),
        Buffer("P", (rows, columns), "workspace"),
    )
    return Program.naive("smooth", buffers, (double, smoothed))
