"""Hypothesis strategies for fusion: networks of every kind of operator, and nests on them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ago.frontend import GraphBuilder, Value
from ago.fuse.footprint import footprints, outer_axes
from ago.fuse.pieces import Piece, reads_of
from ago.fuse.plan import Nest, Placement
from ago.fuse.runs import find_runs
from ago.ir.graph import Graph
from ago.ir.program import Program
from tests.support.dependences import divisors

CHANNELS = st.sampled_from([8, 8, 3, 4, 16])


@st.composite
def networks(draw: st.DrawFn) -> Graph:
    """Two to five operators after an input, each reading one or two of the results so far."""
    if draw(st.integers(0, 4)) == 0:
        return _products(draw)
    b = GraphBuilder("network")
    shape = (
        draw(st.integers(1, 2)),
        draw(CHANNELS),
        draw(st.integers(4, 7)),
        draw(st.integers(3, 5)),
    )
    made = [b.input("x", shape)]
    for _ in range(draw(st.integers(2, 5))):
        x = made[-1] if draw(st.integers(0, 3)) else draw(st.sampled_from(made))
        kinds = [_pointwise, _depthwise, _convolution, _pool, _clip]
        kind = draw(st.sampled_from([*kinds, *kinds[:3], _join]))
        made.append(_join(b, draw, x, made) if kind is _join else kind(b, draw, x))
    if draw(st.booleans()):
        return b.build(b.global_average_pool(made[-1]))
    return b.build(*dict.fromkeys([made[-1], draw(st.sampled_from(made[1:]))]))


@st.composite
def chains(draw: st.DrawFn) -> Graph:
    """Two to four operators one after the other, most of them depthwise or pointwise."""
    b = GraphBuilder("chain")
    shape = 1, draw(st.sampled_from([4, 8, 16])), draw(st.integers(4, 7)), draw(st.integers(3, 5))
    y = b.input("x", shape)
    kinds = [_depthwise, _depthwise, _pointwise, _pointwise, _pool, _convolution, _clip]
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=2, max_size=4)):
        y = kind(b, draw, y)
    return b.build(y)


@st.composite
def wide_chains(draw: st.DrawFn) -> Graph:
    """Pointwise to several blocks of channels, windows over them, pointwise again; all exact."""
    b = GraphBuilder("wide")
    shape = draw(st.integers(1, 2)), 8, draw(st.integers(5, 8)), draw(st.integers(4, 7))
    middle = draw(st.sampled_from([32, 48, 64, 72]))
    y = b.conv(b.input("x", shape), _weights(middle, 8, 1, 1), _bias(draw, middle))
    for kind in draw(
        st.lists(st.sampled_from([_depthwise, _depthwise, _peak, _clip]), min_size=1, max_size=3)
    ):
        y = kind(b, draw, y)
    return b.build(_pointwise(b, draw, y))


def _products(draw: st.DrawFn) -> Graph:
    b = GraphBuilder("products")
    y = b.input("x", (draw(st.sampled_from([4, 6, 12])), draw(st.integers(1, 5))))
    for _ in range(draw(st.integers(2, 3))):
        y = b.matmul(y, _weights(y.shape[1], draw(st.sampled_from([8, 16, 5]))))
        y = b.relu(y) if draw(st.booleans()) else y
    return b.build(y)


def _weights(*shape: int) -> np.ndarray:
    array = np.ones(shape, np.float32)
    array.ravel()[::3] = -1.0
    return array


def _bias(draw: st.DrawFn, filters: int) -> np.ndarray | None:
    return np.arange(filters, dtype=np.float32) if draw(st.booleans()) else None


def _pointwise(b: GraphBuilder, draw: st.DrawFn, x: Value) -> Value:
    filters, stride = draw(CHANNELS), draw(st.sampled_from([1, 1, 2]))
    return b.conv(x, _weights(filters, x.shape[1], 1, 1), _bias(draw, filters), strides=stride)


def _window(draw: st.DrawFn, x: Value) -> dict[str, object]:
    """Kernel, stride, dilation and pads that leave an output."""
    kernel = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    dilations = [draw(st.integers(1, 2)) for _ in range(2)]
    pads = [draw(st.integers(0, 2)) for _ in range(4)]
    for d, k in enumerate(kernel):
        reach = (k - 1) * dilations[d] + 1
        if x.shape[2 + d] + pads[d] + pads[d + 2] < reach:
            pads[d] = pads[d + 2] = k
    strides = [draw(st.sampled_from([1, 1, 2])) for _ in range(2)]
    return {"kernel": kernel, "strides": strides, "dilations": dilations, "pads": pads}


def _depthwise(b: GraphBuilder, draw: st.DrawFn, x: Value) -> Value:
    window, channels = _window(draw, x), x.shape[1]
    weight = _weights(channels, 1, *window.pop("kernel"))
    return b.conv(x, weight, _bias(draw, channels), group=channels, **window)


def _convolution(b: GraphBuilder, draw: st.DrawFn, x: Value) -> Value:
    window, channels = _window(draw, x), x.shape[1]
    group = draw(st.sampled_from([1, 1, 2])) if channels % 2 == 0 else 1
    filters = group * draw(st.sampled_from([4, 8, 3]))
    weight = _weights(filters, channels // group, *window.pop("kernel"))
    return b.conv(x, weight, _bias(draw, filters), group=group, **window)


def _pool(b: GraphBuilder, draw: st.DrawFn, x: Value) -> Value:
    """A pool; means are of 1, 2 or 4 numbers, so that they are exact."""
    kernel = min(draw(st.integers(2, 3)), *x.shape[2:])
    stride = draw(st.integers(1, 2))
    if draw(st.booleans()):
        return b.max_pool(x, kernel, strides=stride, pads=kernel // 2)
    return b.average_pool(x, min(kernel, 2), strides=stride)


def _peak(b: GraphBuilder, draw: st.DrawFn, x: Value) -> Value:
    return b.max_pool(x, draw(st.integers(2, 3)), strides=draw(st.integers(1, 2)), pads=1)


def _clip(b: GraphBuilder, draw: st.DrawFn, x: Value) -> Value:
    return b.clip(x, 0.0, 60.0) if draw(st.booleans()) else b.relu(x)


def _join(b: GraphBuilder, draw: st.DrawFn, x: Value, made: list[Value]) -> Value:
    """A sum with an earlier result of the same shape, itself if there is no other."""
    return b.add(x, draw(st.sampled_from([v for v in made if v.shape == x.shape])))


@st.composite
def forks(draw: st.DrawFn) -> Graph:
    """A convolution that two or three others read, whose results are outputs or are read later."""
    b = GraphBuilder("fork")
    shape = (draw(st.integers(1, 2)), draw(CHANNELS), draw(st.integers(4, 7)), 4)
    y = _convolution(b, draw, _clip(b, draw, b.input("x", shape)))
    y = _clip(b, draw, y) if draw(st.booleans()) else y
    made = []
    for _ in range(draw(st.integers(2, 3))):
        kind = draw(st.sampled_from([_square, _square, _pointwise, _depthwise]))
        branch = kind(b, draw, y)
        made.append(_clip(b, draw, branch) if draw(st.booleans()) else branch)
    if draw(st.integers(0, 2)) == 0:
        made.append(_pool(b, draw, made[0]) if min(made[0].shape[2:]) > 2 else b.relu(made[0]))
    if draw(st.booleans()) and all(v.shape[2:] == made[0].shape[2:] for v in made):
        return b.build(b.concat(made, axis=1))
    return b.build(*made)


def _square(b: GraphBuilder, draw: st.DrawFn, x: Value) -> Value:
    """A convolution that keeps the map's size."""
    kernel, filters = draw(st.sampled_from([1, 3])), draw(CHANNELS)
    weight = _weights(filters, x.shape[1], kernel, kernel)
    return b.conv(x, weight, _bias(draw, filters), pads=kernel // 2)


@st.composite
def nests(draw: st.DrawFn, program: Program, pieces: list[Piece]) -> Nest:
    """A nest that is legal more often than not: a run of pieces, or any set of them.

    Pieces of it that no other one reads are results beside the last, mostly.
    """
    names = [piece.output for piece in pieces]
    last = draw(st.integers(1, len(names) - 1))
    stages = names[draw(st.integers(0, last - 1)) : last + 1]
    runs = [run for run in find_runs(program, pieces) if run.beside]
    kind = draw(st.integers(0, 5))
    if kind == 0:
        stages = draw(st.lists(st.sampled_from(names), min_size=2, max_size=4, unique=True))
    elif kind > 2 and runs:
        stages = [piece.output for piece in draw(st.sampled_from(runs)).pieces]
    output = program.stage(stages[-1])
    axis = draw(st.sampled_from([a for a in output.axes if a.extent > 1] or list(output.axes)))
    block = draw(st.sampled_from(list(divisors(axis.extent))))
    members = [p for s in stages for p in pieces if p.output == s]
    beside = draw_beside(draw, program, members)
    rings = _rings(program, members, (axis.name, block, beside))
    inner = [stage for stage in stages[:-1] if stage not in beside]
    drawn = [Placement(s, _ring(draw, rings.get(s, 1))) for s in inner]
    return Nest(tuple(drawn), output.name, axis.name, block, beside=beside)


def draw_beside(draw: st.DrawFn, program: Program, members: list[Piece]) -> tuple[str, ...]:
    """Results beside the last piece: those that no member reads, rarely others or none."""
    read = set().union(*(reads_of(program, piece) for piece in members))
    inner = [piece.output for piece in members[:-1]]
    unread = [s for s in inner if program.stage(s).buffer not in read]
    kind = draw(st.integers(0, 9))
    if kind == 0 or len(inner) == 1 or (kind > 1 and unread == inner):
        return ()
    return tuple(inner[:1] if kind == 1 else unread)


def _ring(draw: st.DrawFn, right: int) -> int:
    return draw(st.sampled_from([right, right, right, right, 0, right + 1, max(right - 1, 0)]))


def _rings(
    program: Program, run: list[Piece], place: tuple[str, int, tuple[str, ...]]
) -> dict[str, int]:
    """The rings that the windows ask for, where there are windows."""
    axis, block, beside = place
    try:
        outer = outer_axes(program, run, axis, beside)
        found = footprints(program, run, axis, block, outer, beside)
    except Exception:  # the plan is to be refused, whatever its rings
        return {}
    return {name: f.moving.window for name, f in found.items() if f.dimension is not None}
