"""Shapes that no model has, each as a small graph: what general rules must be good at.

Read `grid` first. A convolution stands between an activation and a pool, so that it reads and
writes the layouts that it would inside a model.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ago import GraphBuilder
from ago.frontend.builder import PerAxis, Value
from ago.ir.graph import Graph

_CHANNELS = (17, 58, 116)
_MAPS = (7, 13, 33)


def grid() -> Iterator[Graph]:
    """All shapes: convolutions of every kind, products of matrices."""
    for channels in _CHANNELS:
        for size in _MAPS:
            yield _conv(channels, channels, size, 1)
            yield _conv(channels, channels, size, 3)
            for kernel in (3, 4, 5, 7):
                yield _conv(channels, channels, size, kernel, group=channels)
    for size in (13, 33):
        yield _conv(58, 116, size, 1, strides=2)
        yield _conv(58, 58, size, 3, strides=2)
        yield _conv(58, 58, size, 3, dilations=2)
        yield _conv(116, 116, size, 3, group=4)
        yield _conv(64, 64, size, 3, group=8)
        for kernel in (3, 5):
            yield _conv(116, 116, size, kernel, group=116, strides=2)
            yield _conv(116, 116, size, kernel, group=116, dilations=2)
        for multiplier in (2, 3, 5):
            yield _conv(58, 58 * multiplier, size, 3, group=58)
        for group in (2, 4):
            yield _conv(116, 116, size, 3, group=116 // group)
    yield _conv(3, 32, 97, 3, strides=2)
    yield _conv(1, 16, 65, 5)
    yield _conv(4, 24, 65, 7, strides=2)
    yield _conv(58, 116, (400,), 3)
    yield _conv(40, 40, (1000,), 5, group=40)
    for rows, depth, columns in ((64, 192, 576), (49, 300, 77), (128, 512, 512), (5, 1000, 100)):
        yield _gemm(rows, depth, columns)
    for depth, columns in ((192, 576), (1280, 1000), (300, 77)):
        yield _gemm(1, depth, columns)


def plain() -> Iterator[Graph]:
    """Shapes without multiply-adds: pools, reductions, chains of element-wise operators."""
    for channels, size in ((58, 33), (116, 13), (128, 56)):
        b = GraphBuilder(f"pools_{channels}_{size}")
        x = b.relu(b.input("x", (1, channels, size, size)))
        pooled = b.max_pool(x, 3, strides=2), b.average_pool(x, 2, strides=2)
        yield b.build(*(b.global_average_pool(each) for each in pooled))
        b = GraphBuilder(f"chain_{channels}_{size}")
        x = b.relu(b.input("x", (1, channels, size, size)))
        scaled = b.add(b.mul(x, _random(channels, 1, 1)), _random(channels, 1, 1))
        yield b.build(b.reduce_mean(b.relu6(b.add(scaled, x)), (2, 3)))


def _conv(
    channels: int,
    filters: int,
    size: PerAxis,
    kernel: int,
    *,
    group: int = 1,
    strides: int = 1,
    dilations: int = 1,
) -> Graph:
    spatial = (size, size) if isinstance(size, int) else tuple(size)
    window = (kernel,) * len(spatial)
    b = GraphBuilder(f"conv_{channels}_{filters}_{spatial[-1]}_{kernel}_{group}")
    x = b.relu(b.input("x", (1, channels, *spatial)))
    weight = _random(filters, channels // group, *window)
    reach = dilations * (kernel - 1)
    pads = [reach // 2] * len(spatial) + [reach - reach // 2] * len(spatial)
    y = b.conv(
        x,
        weight,
        _random(filters),
        group=group,
        strides=strides,
        dilations=dilations,
        pads=pads,
    )
    return _behind(b, b.relu(y))


def _gemm(rows: int, depth: int, columns: int) -> Graph:
    b = GraphBuilder(f"gemm_{rows}_{depth}_{columns}")
    x = b.relu(b.input("x", (rows, depth)))
    y = b.gemm(x, _random(depth, columns), _random(columns))
    return b.build(b.reduce_mean(y, 1))


def _behind(b: GraphBuilder, y: Value) -> Graph:
    """The graph with a reader behind `y`, so that `y` is no output of it."""
    return b.build(b.global_average_pool(y))


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)
