"""Hypothesis strategy for small networks of the blocks that are fused by rows."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ago.frontend import GraphBuilder, Value
from ago.ir.graph import Graph

CHANNELS = st.sampled_from([4, 5, 8, 16, 17, 24])


@st.composite
def block_networks(draw: st.DrawFn) -> Graph:
    """Draw one to three blocks: inverted residuals, separable and plain convolutions, pools."""
    b = GraphBuilder("blocks")
    shape = (draw(st.integers(1, 2)), draw(CHANNELS), *draw(st.tuples(*[st.integers(5, 8)] * 2)))
    y = x = b.input("x", shape)
    for _ in range(draw(st.integers(1, 3))):
        block = draw(st.sampled_from([_inverted, _inverted, _separable, _plain, _pool]))
        y = block(b, draw, y)
    if draw(st.booleans()):
        return b.build(b.global_average_pool(y))
    return b.build(b.relu(y) if y == x or draw(st.booleans()) else y)


def _conv(b: GraphBuilder, x: Value, filters: int, kernel: int, stride: int = 1) -> Value:
    weight = np.ones((filters, x.shape[1], kernel, kernel))
    return b.conv(x, weight, np.ones(filters), strides=stride, pads=kernel // 2)


def _depthwise(b: GraphBuilder, draw: st.DrawFn, x: Value) -> Value:
    kernel, channels = draw(st.sampled_from([3, 5])), x.shape[1]
    weight = np.ones((channels, 1, kernel, kernel))
    stride = draw(st.sampled_from([1, 1, 2]))
    return b.relu6(b.conv(x, weight, group=channels, strides=stride, pads=kernel // 2))


def _inverted(b: GraphBuilder, draw: st.DrawFn, x: Value) -> Value:
    wide = b.relu6(_conv(b, x, draw(CHANNELS), 1))
    y = _conv(b, _depthwise(b, draw, wide), draw(CHANNELS), 1)
    return b.add(y, x) if y.shape == x.shape else y


def _separable(b: GraphBuilder, draw: st.DrawFn, x: Value) -> Value:
    return _conv(b, _depthwise(b, draw, x), draw(CHANNELS), 1)


def _plain(b: GraphBuilder, draw: st.DrawFn, x: Value) -> Value:
    kernel, stride = draw(st.sampled_from([1, 3])), draw(st.sampled_from([1, 2]))
    return b.relu(_conv(b, x, draw(CHANNELS), kernel, stride))


def _pool(b: GraphBuilder, draw: st.DrawFn, x: Value) -> Value:
    return b.max_pool(x, 3, strides=draw(st.sampled_from([1, 2])), pads=1)
