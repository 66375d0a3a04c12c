"""Small naive programs of several stages, of every structure that schedules have to cope with."""

from __future__ import annotations

from hypothesis import strategies as st

from ago.ir.examples import chain, depthwise, matmul, pad, smooth
from ago.ir.index import Index, var
from ago.ir.nest import Axis, Buffer, Stage
from ago.ir.program import Program
from ago.ir.value import Call, Condition, Const, Load, Select, Value, add, mul

ZERO = Const(0.0)


def stage(
    name: str,
    axes: dict[str, int],
    buffer: str,
    value: Value,
    *,
    index: tuple[Index, ...] | None = None,
    function: str | None = None,
    init: Value | None = None,
    reduce: tuple[str, ...] = (),
    guard: Condition = (),
) -> Stage:
    """A stage that writes at its spatial axes unless `index` says otherwise."""
    made = tuple(Axis(a, n, "reduce" if a in reduce else "spatial") for a, n in axes.items())
    own = tuple(var(f"{name}.{a.name}") for a in made if a.kind == "spatial")
    return Stage(
        name, made, buffer, own if index is None else index, value, function, init, "", guard
    )


def buffers(**shapes: tuple[str, tuple[int, ...]]) -> tuple[Buffer, ...]:
    """Buffers by name, each a scope and a shape."""
    return tuple(Buffer(name, shape, scope) for name, (scope, shape) in shapes.items())


def two_matmuls(m: int, n: int, k: int, p: int) -> Program:
    """`D = relu(A @ B) @ E + bias`, the bias computed by a stage and read as the init."""
    c = matmul(m, n, k, relu=True)
    bias = stage("H", {"q": p}, "H", mul(Const(2.0), Load("b", (var("H.q"),))))
    i, q, j = var("D.i"), var("D.q"), var("D.j")
    second = stage(
        "D",
        {"i": m, "q": p, "j": n},
        "D",
        mul(Load("R", (i, j)), Load("E", (j, q))),
        function="add",
        init=Load("H", (q,)),
        reduce=("j",),
    )
    made = buffers(
        A=("input", (m, k)),
        B=("constant", (k, n)),
        E=("constant", (n, p)),
        b=("constant", (p,)),
        D=("output", (m, p)),
        C=("workspace", (m, n)),
        R=("workspace", (m, n)),
        H=("workspace", (p,)),
    )
    return Program.naive("two_matmuls", made, (*c.stages, bias, second))


def convolution(
    size: int,
    channels: int,
    filters: int,
    window: int,
    stride: int,
    dilation: int,
    border: int,
    groups: int,
    *,
    pad_stage: bool,
) -> Program | None:
    """A padded grouped convolution and a clamp, the padding a stage or a guarded load.

    With groups the convolution writes `channel = filters * g + o`. None where no output is left.
    """
    reach = (window - 1) * dilation + 1
    out = (size + 2 * border - reach) // stride + 1
    if out < 1:
        return None
    y, x, g, o, ky, kx, c = (var(f"K.{a}") for a in ("y", "x", "g", "o", "ky", "kx", "c"))
    row, column = y * stride + ky * dilation, x * stride + kx * dilation
    channel = g * channels + c
    total = groups * channels

    def padded(at_y: Index, at_x: Index, at_c: Index) -> Value:
        at_y, at_x = at_y - border, at_x - border
        inside = (at_y, size - 1 - at_y, at_x, size - 1 - at_x)
        return Select(inside, Load("X", (at_y, at_x, at_c)), ZERO)

    stages = []
    pixel: Value = padded(row, column, channel)
    extent = size + 2 * border
    if pad_stage:
        at = (var("P.y"), var("P.x"), var("P.c"))
        stages.append(stage("P", {"y": extent, "x": extent, "c": total}, "P", padded(*at)))
        pixel = Load("P", (row, column, channel))
    weight = Load("W", (g, o, ky, kx, c))
    reach_axes = {"ky": window, "kx": window, "c": channels}
    stages.append(
        stage(
            "K",
            {"y": out, "x": out, "g": groups, "o": filters, **reach_axes},
            "K",
            mul(pixel, weight),
            index=(y, x, g * filters + o),
            function="add",
            init=Load("b", (g * filters + o,)),
            reduce=("ky", "kx", "c"),
        )
    )
    at = (var("R.y"), var("R.x"), var("R.c"))
    clamp = Call("max", (ZERO, Load("K", at)))
    last = groups * filters
    stages.append(stage("R", {"y": out, "x": out, "c": last}, "R", clamp))
    made = buffers(
        X=("input", (size, size, total)),
        W=("constant", (groups, filters, window, window, channels)),
        b=("constant", (last,)),
        R=("output", (out, out, last)),
        K=("workspace", (out, out, last)),
        P=("workspace", (extent, extent, total)),
    )
    made = made if pad_stage else made[:-1]
    return Program.naive("convolution", made, tuple(stages))


def pointwise(size: int, channels: int, filters: int) -> Program:
    """A convolution of single pixels, then a clamp: pixels form one axis."""
    y, x, o, c = (var(f"K.{a}") for a in ("y", "x", "o", "c"))
    first = stage(
        "K",
        {"y": size, "x": size, "o": filters, "c": channels},
        "K",
        mul(Load("X", (y, x, c)), Load("W", (c, o))),
        function="add",
        init=Load("b", (o,)),
        reduce=("c",),
    )
    at = (var("R.y"), var("R.x"), var("R.o"))
    second = stage(
        "R", {"y": size, "x": size, "o": filters}, "R", Call("max", (ZERO, Load("K", at)))
    )
    made = buffers(
        X=("input", (size, size, channels)),
        W=("constant", (channels, filters)),
        b=("constant", (filters,)),
        R=("output", (size, size, filters)),
        K=("workspace", (size, size, filters)),
    )
    return Program.naive("pointwise", made, (first, second))


def pool(size: int, channels: int, window: int, stride: int) -> Program | None:
    """An element-wise stage, then a maximum over windows."""
    out = (size - window) // stride + 1
    if out < 1:
        return None
    at = (var("E.y"), var("E.x"), var("E.c"))
    first = stage(
        "E", {"y": size, "x": size, "c": channels}, "E", add(Load("X", at), Load("s", (at[2],)))
    )
    y, x, c, ky, kx = (var(f"M.{a}") for a in ("y", "x", "c", "ky", "kx"))
    second = stage(
        "M",
        {"y": out, "x": out, "c": channels, "ky": window, "kx": window},
        "M",
        Load("E", (y * stride + ky, x * stride + kx, c)),
        function="max",
        init=Const(float("-inf")),
        reduce=("ky", "kx"),
    )
    made = buffers(
        X=("input", (size, size, channels)),
        s=("constant", (channels,)),
        M=("output", (out, out, channels)),
        E=("workspace", (size, size, channels)),
    )
    return Program.naive("pool", made, (first, second))


def diamond(m: int, n: int) -> Program:
    """`R = relu(S) + S^T's neighbours`: one stage read by two, one of them an output as well."""
    s = (var("S.i"), var("S.j"))
    a = (var("A.i"), var("A.j"))
    b = (var("B.i"), var("B.j"))
    r = (var("R.i"), var("R.j"))
    axes = {"i": m, "j": n}
    shape = (m, n)
    stages = (
        stage("S", axes, "S", mul(Const(3.0), Load("x", s))),
        stage("A", axes, "A", Call("max", (ZERO, Load("S", a)))),
        stage("B", axes, "B", add(Load("S", b), Load("v", (b[1],)))),
        stage("R", axes, "R", add(Load("A", r), Load("B", r))),
    )
    made = buffers(
        x=("input", shape),
        v=("constant", (n,)),
        R=("output", shape),
        B=("output", shape),
        S=("workspace", shape),
        A=("workspace", shape),
    )
    return Program.naive("diamond", made, stages)


def mirrored(n: int) -> Program:
    """`R[i, j] = S[n - 1 - i, j] + S[j, i] + (i >= 1)`: indices that few primitives accept."""
    s, r = (var("S.i"), var("S.j")), (var("R.i"), var("R.j"))
    axes = {"i": n, "j": n}
    step = Select((r[0] - 1,), Const(1.0), ZERO)
    flipped = add(Load("S", (n - 1 - r[0], r[1])), Load("S", (r[1], r[0])))
    made = buffers(x=("input", (n, n)), R=("output", (n, n)), S=("workspace", (n, n)))
    first = stage("S", axes, "S", mul(Const(2.0), Load("x", s)), index=(s[0], s[1]))
    second = stage("R", axes, "R", add(flipped, step), index=(r[0], n - 1 - r[1]))
    last = stage("T", axes, "T", Load("R", (var("T.i"), var("T.j"))))
    made = (*made[:1], Buffer("T", (n, n), "output"), made[2], Buffer("R", (n, n), "workspace"))
    return Program.naive("mirrored", made, (first, second, last))


_sizes = st.sampled_from([1, 2, 3, 5, 7])
_small = st.sampled_from([1, 2, 3])
subgraphs: st.SearchStrategy[Program] = st.one_of(
    st.builds(matmul, _sizes, _sizes, _sizes, relu=st.booleans()),
    st.builds(two_matmuls, _small, _sizes, _small, _small),
    st.builds(chain, _sizes, _sizes),
    st.builds(diamond, _sizes, _sizes),
    st.builds(mirrored, _sizes),
    st.builds(depthwise, _small, _sizes, _small, _small),
    st.builds(smooth, st.integers(3, 7), _small),
    st.builds(pad, _sizes, st.integers(0, 2)),
    st.builds(pointwise, _small, _small, _sizes),
    st.builds(pool, st.sampled_from([2, 4, 5]), _small, _small, _small),
    st.builds(
        convolution,
        st.sampled_from([2, 4, 5]),
        st.integers(1, 2),
        _small,
        _small,
        st.integers(1, 2),
        st.integers(1, 2),
        st.integers(0, 2),
        st.integers(1, 2),
        pad_stage=st.booleans(),
    ),
).filter(lambda program: program is not None)
"""Any of the programs above, at small odd sizes."""

windows: st.SearchStrategy[Program] = st.one_of(
    st.builds(smooth, st.integers(3, 9), _small),
    st.builds(pool, st.integers(5, 8), st.just(1), st.integers(2, 4), st.integers(1, 3)),
    st.builds(
        convolution,
        st.integers(3, 6),
        st.just(1),
        st.integers(1, 2),
        st.integers(2, 3),
        st.integers(1, 2),
        st.integers(1, 2),
        st.integers(0, 1),
        st.just(1),
        pad_stage=st.just(True),
    ),
).filter(lambda program: program is not None)
"""Programs whose consumers read overlapping rows and columns."""
