"""Cases of every compiled operator on odd sizes, in tables by kind.

Read `TABLES` first. Extents are drawn from 1, 3, 5, 17 channels, maps of 1, 7, 9 and 14, batches of
1, 2 and 5, kernels of 1 to 7 and strides of 1 to 3: nearly none is a multiple of a vector.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from ago.frontend import GraphBuilder, Value
from tests.support.cases import Body, Case, make_case, special
from tests.support.movement_cases import MOVEMENT_TABLES
from tests.support.normalise_cases import normalisations
from tests.support.pointwise_cases import pointwise_bodies

Tail = Callable[[GraphBuilder, np.random.Generator, Value], Value]


def conv(
    shape: Sequence[int],
    filters: int,
    kernel: int | Sequence[int],
    *,
    tail: Tail | None = None,
    bias: bool = True,
    group: int = 1,
    **attrs: object,
) -> Body:
    """A convolution, and what `tail` adds to it."""
    rank = len(shape) - 2
    extents = (kernel,) * rank if isinstance(kernel, int) else tuple(kernel)

    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        weight = rng.standard_normal((filters, shape[1] // group, *extents))
        addend = rng.standard_normal(filters) if bias else None
        y = b.conv(b.input("x", shape), weight, addend, group=group, **attrs)
        return y if tail is None else tail(b, rng, y)

    return body


def relu(b: GraphBuilder, rng: np.random.Generator, y: Value) -> Value:
    return b.relu(y)


def norm_relu6(b: GraphBuilder, rng: np.random.Generator, y: Value) -> Value:
    channels = y.shape[1]
    scale, shift, mean = rng.standard_normal((3, channels))
    return b.relu6(b.batch_norm(y, scale, shift, mean, rng.random(channels) + 0.5))


def residual(b: GraphBuilder, rng: np.random.Generator, y: Value) -> Value:
    return b.relu(b.add(y, b.input("residual", y.shape)))


def next_conv(b: GraphBuilder, rng: np.random.Generator, y: Value) -> Value:
    """Another convolution behind a clamp, so that the first result is not an output."""
    return b.conv(b.relu(y), rng.standard_normal((5, y.shape[1], *[1] * (len(y.shape) - 2))))


def border(b: GraphBuilder, rng: np.random.Generator, y: Value) -> Value:
    rank = len(y.shape) - 2
    return b.pad(b.relu(y), (0, 0, *[1] * rank, 0, 0, *[2] * rank), 3.0)


def _convolutions() -> Iterator[tuple[str, Body]]:
    yield "1x1", conv((1, 17, 7, 7), 5, 1)
    yield "1x1 one channel", conv((2, 1, 7, 9), 1, 1)
    yield "1x1 on one pixel", conv((5, 17, 1, 1), 17, 1, tail=relu)
    yield "1x1 stride 2", conv((1, 16, 9, 14), 24, 1, strides=2, tail=next_conv)
    yield "1x1 residual", conv((2, 17, 7, 7), 17, 1, tail=residual)
    yield "3x3 of an image", conv((1, 3, 14, 14), 8, 3, strides=2, pads=1, tail=norm_relu6)
    yield "3x3 batch 5", conv((5, 5, 9, 9), 17, 3, pads=1, bias=False)
    yield "3x3 one filter", conv((1, 17, 9, 9), 1, 3, pads=1, tail=relu)
    yield "3x3 border", conv((1, 5, 7, 9), 17, 3, pads=1, tail=border)
    yield "uneven pads", conv((1, 5, 7, 9), 3, 3, pads=(0, 1, 2, 3), tail=next_conv)
    yield "pads wider than the map", conv((1, 3, 1, 1), 5, 3, pads=3)
    yield "dilated", conv((1, 5, 14, 9), 17, 3, pads=2, dilations=2, tail=relu)
    yield "dilated unevenly", conv((2, 3, 14, 14), 5, 3, dilations=(1, 3), strides=(2, 1))
    yield "kernel of the map", conv((2, 17, 7, 7), 17, 7)
    yield "1x7 then 7x1", conv((1, 5, 9, 9), 8, (1, 7), pads=(0, 3, 0, 3), tail=next_conv)
    yield "7x1", conv((1, 5, 9, 9), 8, (7, 1), pads=(3, 0, 3, 0))
    for kernel, stride in itertools.product((2, 4, 5, 6, 7), (1, 3)):
        yield f"kernel {kernel} stride {stride}", conv((1, 3, 14, 9), 5, kernel, strides=stride)
    yield "one axis", conv((2, 5, 14), 17, 3, pads=1, tail=relu)
    yield "one axis, stride, dilation", conv((1, 3, 17), 8, 4, strides=2, dilations=2, pads=(1, 4))
    yield "one axis, one element", conv((1, 1, 1), 1, 1)


def _grouped() -> Iterator[tuple[str, Body]]:
    for channels in (1, 3, 8, 17):
        yield (
            f"depthwise {channels}",
            conv((1, channels, 9, 9), channels, 3, group=channels, pads=1),
        )
    yield "depthwise relu6", conv((2, 17, 14, 14), 17, 3, group=17, pads=1, tail=norm_relu6)
    yield "depthwise stride 2", conv((1, 16, 9, 14), 16, 3, group=16, pads=1, strides=2, tail=relu)
    yield "depthwise 5x5", conv((1, 24, 7, 7), 24, 5, group=24, pads=2, tail=next_conv)
    yield "depthwise 7x7 dilated", conv((1, 5, 14, 14), 5, 7, group=5, dilations=2, pads=6)
    yield "depthwise 4x4", conv((1, 17, 9, 9), 17, 4, group=17, strides=3)
    yield "depthwise 1x1", conv((1, 5, 7, 7), 5, 1, group=5, tail=relu)
    yield "depthwise residual", conv((1, 17, 7, 7), 17, 3, group=17, pads=1, tail=residual)
    yield "depthwise one axis", conv((2, 9, 17), 9, 5, group=9, pads=2, tail=relu)
    for multiplier in (2, 3, 8):
        body = conv((1, 5, 7, 9), 5 * multiplier, 3, group=5, pads=1, tail=norm_relu6)
        yield f"multiplier {multiplier}", body
    yield "multiplier one axis", conv((2, 3, 14), 6, 3, group=3)
    yield "groups 2", conv((1, 6, 9, 9), 10, 3, group=2, pads=1, tail=next_conv)
    yield "groups of 8", conv((1, 32, 7, 7), 32, 3, group=4, pads=1, tail=relu)
    yield "groups of 16", conv((1, 8, 7, 7), 64, 1, group=4, tail=residual)
    yield "groups to one", conv((2, 15, 7, 7), 3, 2, group=3)
    yield "groups one axis", conv((1, 6, 14), 9, 4, group=3, strides=2, dilations=2)


def _matrix_products() -> Iterator[tuple[str, Body]]:
    sizes = [(1, 17, 5), (5, 1, 17), (3, 8, 1), (1, 1, 1), (7, 33, 9), (16, 24, 32), (9, 14, 65)]
    for m, n, k in sizes:
        yield f"matmul {m} {n} {k}", _gemm(m, n, k)
    for trans_a, trans_b in itertools.product((False, True), repeat=2):
        transposed = f"{'At' if trans_a else 'A'} {'Bt' if trans_b else 'B'}"
        flags = {"trans_a": trans_a, "trans_b": trans_b}
        yield f"gemm {transposed}", _gemm(5, 17, 9, (17,), alpha=0.5, beta=2.0, **flags)
        yield f"gemm {transposed} variable", _gemm(5, 17, 9, (17,), variable=True, **flags)
    for addend in ((), (1,), (1, 17), (5, 1), (5, 17)):
        yield f"gemm addend {addend}", _gemm(5, 17, 9, addend, beta=-1.5)
        yield f"gemm addend {addend} variable", _gemm(5, 17, 9, addend, variable=True)
    yield "gemm chain", _gemm_chain


def _gemm(
    m: int,
    n: int,
    k: int,
    addend: Sequence[int] | None = None,
    *,
    variable: bool = False,
    **attrs: object,
) -> Body:
    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        def operand(name: str, shape: Sequence[int]) -> Value:
            return b.input(name, shape) if variable else b.constant(rng.standard_normal(shape))

        x = b.input("x", (k, m) if attrs.get("trans_a") else (m, k))
        weight = operand("w", (n, k) if attrs.get("trans_b") else (k, n))
        if addend is None:
            return b.matmul(x, weight)
        return b.gemm(x, weight, operand("c", addend), **attrs)

    return body


def _gemm_chain(b: GraphBuilder, rng: np.random.Generator) -> Value:
    x = b.relu(b.gemm(b.input("x", (2, 9)), rng.standard_normal((9, 17)), rng.standard_normal(17)))
    y = b.batch_norm(b.matmul(x, rng.standard_normal((17, 5))), *rng.random((4, 5)))
    return b.gemm(b.clip(y, -1.0, 1.0), rng.standard_normal((3, 5)), trans_b=True)


def _reductions() -> Iterator[tuple[str, Body]]:
    for shape in ((1, 17, 7, 7), (5, 3, 1, 9), (2, 5, 14), (1, 8, 1, 1)):
        yield f"pool {shape}", _mean(shape, None)
        yield f"pool {shape} of a map", _mean(shape, None, inner=True)
    shape = (2, 3, 5, 7)
    for count in (1, 2, 3, 4):
        for axes in itertools.combinations(range(4), count):
            keepdims = sum(axes) % 2 == 0
            yield f"mean {axes}", _mean(shape, axes, keepdims=keepdims)
            yield f"mean {axes} of a map", _mean(shape, axes, keepdims=not keepdims, inner=True)
    yield "mean of a line", _mean((17,), (0,), keepdims=False)
    yield "mean rank 3", _mean((5, 17, 9), (-1,))
    yield "mean rank 5", _mean((2, 3, 2, 9, 4), (1, 3), inner=True)
    yield "pool and classify", _classify


def _mean(
    shape: Sequence[int], axes: Sequence[int] | None, *, keepdims: bool = True, inner: bool = False
) -> Body:
    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        x = b.input("x", shape)
        x = b.relu(x) if inner else x
        mean = (
            b.global_average_pool(x) if axes is None else b.reduce_mean(x, axes, keepdims=keepdims)
        )
        return b.mul(mean, 2.0) if inner else mean

    return body


def _classify(b: GraphBuilder, rng: np.random.Generator) -> Value:
    x = b.conv(b.input("x", (2, 3, 7, 9)), rng.standard_normal((17, 3, 1, 1)))
    flat = b.flatten(b.global_average_pool(b.relu6(x)))
    return b.gemm(flat, rng.standard_normal((9, 17)), rng.standard_normal(9), trans_b=True)


def _elementwise() -> Iterator[tuple[str, Body]]:
    shapes = [(17,), (5, 9), (2, 5, 7), (1, 17, 7, 9), (2, 3, 1, 5, 3), ()]
    for shape in shapes:
        yield f"relu {shape}", lambda b, rng, s=shape: b.relu(b.input("x", s))
        yield f"norm {shape}", _norm(shape) if len(shape) > 1 else _clip(shape, -0.5, 0.5)
    bounds = [(-math.inf, 0.5), (0.0, math.inf), (0.0, 6.0), (1.0, -1.0), (-math.inf, math.inf)]
    for low, high in bounds:
        yield f"clip {low} {high}", _clip((2, 5, 9), low, high)
    pairs = [
        ((2, 5, 7, 9), (2, 5, 7, 9)),
        ((2, 5, 7, 9), (1, 5, 1, 1)),
        ((2, 5, 7, 9), (9,)),
        ((2, 5, 7, 9), (7, 1)),
        ((2, 5, 7, 9), ()),
        ((1, 5, 1, 9), (2, 1, 7, 1)),
        ((5, 1), (17,)),
        ((17,), (3, 5, 17)),
    ]
    for function, (left, right) in itertools.product(("add", "sub", "mul", "div"), pairs):
        yield f"{function} {left} {right}", _binary(function, left, right, constant=False)
        yield f"{function} {left} constant {right}", _binary(function, left, right, constant=True)


def _norm(shape: Sequence[int]) -> Body:
    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        scale, shift, mean = rng.standard_normal((3, shape[1]))
        return b.batch_norm(b.relu(b.input("x", shape)), scale, shift, mean, rng.random(shape[1]))

    return body


def _clip(shape: Sequence[int], low: float, high: float) -> Body:
    return lambda b, rng: b.clip(b.input("x", shape), low, high)


def _binary(function: str, left: Sequence[int], right: Sequence[int], *, constant: bool) -> Body:
    def body(b: GraphBuilder, rng: np.random.Generator) -> Value:
        other = rng.standard_normal(right) if constant else b.input("y", right)
        return getattr(b, function)(b.input("x", left), other)

    return body


def _movements() -> Iterator[tuple[str, Body]]:
    for axis in range(5):
        yield f"flatten {axis}", _reshape((2, 3, 5, 7), lambda b, x, a=axis: b.flatten(x, a))
    for target in ((210,), (6, 35), (2, 105), (7, 5, 3, 2), (2, 15, 7, 1, 1), (1, 2, 3, 5, 7)):
        shape = (2, 3, 5, 7)
        yield f"reshape {target}", _reshape(shape, lambda b, x, t=target: b.reshape(x, t))
        yield (
            f"reshape {target} of a map",
            _reshape(shape, lambda b, x, t=target: b.mul(b.reshape(b.relu(x), t), 2.0)),
        )
    yield "identity", _reshape((2, 3, 5), lambda b, x: b.identity(x))
    yield "identity of a map", _reshape((2, 3, 5, 7), lambda b, x: b.identity(b.relu(x)))
    pads = {
        "all sides": (1, 2, 0, 3, 2, 1, 1, 0),
        "channels": (0, 3, 0, 0, 0, 2, 0, 0),
        "crop": (0, 0, -1, -2, 0, 0, -1, 0),
        "crop and border": (0, -1, 2, -1, 0, 1, -3, 2),
        "nothing": (0,) * 8,
    }
    for name, amounts in pads.items():
        shape = (2, 5, 7, 9)
        yield f"pad {name}", _reshape(shape, lambda b, x, p=amounts: b.pad(x, p, -1.5))
        yield f"pad {name} of a map", _reshape(shape, lambda b, x, p=amounts: b.pad(b.relu(x), p))
    yield "pad of a line", _reshape((5,), lambda b, x: b.pad(x, (2, 3), 1.0))


def _reshape(shape: Sequence[int], change: Callable[[GraphBuilder, Value], Value]) -> Body:
    return lambda b, rng: change(b, b.input("x", shape))


def _table(bodies: Iterator[tuple[str, Body]]) -> tuple[Case, ...]:
    """Cases of some bodies; every fifth reads NaN and infinities."""
    cases = [make_case(name, body, seed) for seed, (name, body) in enumerate(bodies)]
    return (*cases, *(special(case) for case in cases[::5]))


TABLES: Mapping[str, tuple[Case, ...]] = {
    "convolutions": _table(_convolutions()),
    "grouped convolutions": _table(_grouped()),
    "matrix products": _table(_matrix_products()),
    "reductions": _table(_reductions()),
    "elementwise": _table(_elementwise()),
    "pointwise": _table(pointwise_bodies()),
    "movements": _table(_movements()),
    "normalisations": _table(normalisations()),
    **MOVEMENT_TABLES,
}
"""Cases by the kind of their operator."""
