"""The graphs on which fusion is measured: pairs of operators, attention, fire modules.

Read `CASES` first. Each graph is one subgraph between two element-wise steps, which change the
layout of what they read and write, so that the subgraph's own time is of its operators alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ago.frontend import GraphBuilder, Value
from ago.ir.graph import Graph
from ago.partition import Partition
from ago.partition.partition import make_partition

Case = tuple[str, Graph]
"""What is measured, and its graph."""

_SIZES = ((56, 16), (56, 32), (28, 96), (14, 384))
_BATCHES = (1, 4)
_PRODUCTS = ((196, 64, 256), (784, 96, 384), (3136, 32, 128))
_SEQUENCES = (32, 64, 128)
_FIRES = (
    (55, 64, 16, 64),
    (55, 128, 16, 64),
    (27, 128, 32, 128),
    (27, 256, 32, 128),
    (13, 256, 48, 192),
    (13, 384, 48, 192),
    (13, 384, 64, 256),
    (13, 512, 64, 256),
)
"""Map, channels in, squeezed, and of each expansion: the fire modules of SqueezeNet 1.1."""


def conv(b: GraphBuilder, x: Value, kernel: int, filters: int, *, depthwise: bool = False) -> Value:
    """A convolution with a clamp, weights that keep its results near one."""
    channels = x.shape[1]
    per_group = 1 if depthwise else channels
    rng = np.random.default_rng(filters)
    weight = rng.standard_normal((filters, per_group, kernel, kernel)) / (kernel * per_group**0.5)
    group = channels if depthwise else 1
    return b.relu6(b.conv(x, weight.astype(np.float32), pads=kernel // 2, group=group))


def pointwise(b: GraphBuilder, x: Value) -> Value:
    """1x1, as many channels as it reads."""
    return conv(b, x, 1, x.shape[1])


def depthwise(b: GraphBuilder, x: Value) -> Value:
    """Depthwise 3x3."""
    return conv(b, x, 3, x.shape[1], depthwise=True)


def general(b: GraphBuilder, x: Value) -> Value:
    """3x3."""
    return conv(b, x, 3, x.shape[1])


Layer = Callable[[GraphBuilder, Value], Value]

PAIRS: dict[str, tuple[Layer, Layer]] = {
    "depthwise → pointwise": (depthwise, pointwise),
    "pointwise → depthwise": (pointwise, depthwise),
    "pointwise → pointwise": (pointwise, pointwise),
    "depthwise → depthwise": (depthwise, depthwise),
    "3x3 → 3x3": (general, general),
    "3x3 → pointwise": (general, pointwise),
}


def pair_graphs() -> Iterator[Case]:
    """The paper's pairs."""
    for name, layers in PAIRS.items():
        for size, channels in _SIZES:
            for batch in _BATCHES:
                b = GraphBuilder("pair")
                y = b.relu(b.input("x", (batch, channels, size, size)))
                for layer in layers:
                    y = layer(b, y)
                yield f"{name}, {channels} at {size}x{size}, batch {batch}", b.build(b.relu(y))


def product_graphs() -> Iterator[Case]:
    """Two matrix products one after the other."""
    for rows, inner, middle in _PRODUCTS:
        b = GraphBuilder("products")
        rng = np.random.default_rng(0)
        first, second = (
            rng.standard_normal(shape).astype(np.float32)
            for shape in ((inner, middle), (middle, inner))
        )
        y = b.relu(b.input("x", (rows, inner)))
        y = b.matmul(b.relu(b.matmul(y, first)), second)
        yield f"matmul → matmul, {rows}x{inner}x{middle}x{inner}", b.build(b.relu(y))


def attention_graphs(heads: int = 4, width: int = 64) -> Iterator[Case]:
    """Scores, softmax, and the weighted sum of values, of several heads."""
    for tokens in _SEQUENCES:
        b = GraphBuilder("attention")
        queries = b.relu(b.input("q", (heads, tokens, width)))
        keys, values = b.input("k", (heads, width, tokens)), b.input("v", (heads, tokens, width))
        scores = b.apply("Softmax", b.mul(b.matmul(queries, keys), width**-0.5), axes=(2,))
        y = b.matmul(scores, values)
        yield f"attention, {heads} heads of {width}, {tokens} tokens", b.build(b.relu(y))


def fire_graphs() -> Iterator[Case]:
    """Fire modules: a squeeze that two expansions read, whose results are side by side."""
    for size, channels, squeezed, expanded in _FIRES:
        b = GraphBuilder("fire")
        x = conv(b, b.relu(b.input("x", (1, channels, size, size))), 1, squeezed)
        y = b.concat([conv(b, x, kernel, expanded) for kernel in (1, 3)], axis=1)
        label = f"fire, {size}x{size}, {channels}→{squeezed}→{expanded}+{expanded}"
        yield label, b.build(b.relu(y))


CASES: dict[str, Callable[[], Iterator[Case]]] = {
    "pairs of convolutions": pair_graphs,
    "products": product_graphs,
    "attention": attention_graphs,
    "fire modules": fire_graphs,
}
"""Where the graphs of each kind come from."""


def middle_together(graph: Graph) -> Partition:
    """One subgraph of all nodes but the first and the last."""
    ends = {graph.nodes[0].name, graph.nodes[-1].name}
    names = [node.name for node in graph.nodes]
    return make_partition(graph, {n: i if n in ends else -1 for i, n in enumerate(names)})
