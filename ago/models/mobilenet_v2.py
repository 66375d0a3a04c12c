"""MobileNet-V2 (Sandler et al., arXiv 1801.04381), with torchvision's architecture and names.

Read `mobilenet_v2` first. Invariant: batch normalisation stands as nodes of its own, as in a file
exported without optimisation.
"""

from __future__ import annotations

from collections.abc import Sequence

from ago.frontend.builder import GraphBuilder, Value
from ago.ir.graph import Graph
from ago.models.weights import Weights

# Expansion factor, output channels, blocks, stride of the first block.
Stage = tuple[int, int, int, int]
_STAGES: tuple[Stage, ...] = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
_TINY_STAGES: tuple[Stage, ...] = ((1, 8, 1, 1), (6, 12, 2, 2), (6, 20, 1, 2))


def mobilenet_v2(
    seed: int = 0, batch: int = 1, size: int = 224, width: float = 1.0, classes: int = 1000
) -> Graph:
    """Return MobileNet-V2 with random weights.

    Args:
        seed: Seed of the weights.
        batch: Images at a time.
        size: Height and width of an image, in pixels.
        width: Factor on all channel counts.
        classes: Number of outputs per image.

    Returns:
        A graph from `input: f32[batch,3,size,size]` to `output: f32[batch,classes]`.
    """
    stages = [(t, _scaled(c, width), n, s) for t, c, n, s in _STAGES]
    head = _scaled(1280, max(width, 1.0))
    network = _Network("mobilenet_v2", seed)
    return network.build((batch, 3, size, size), _scaled(32, width), stages, head, classes)


def tiny_mobilenet(seed: int = 0, batch: int = 1, size: int = 32, classes: int = 10) -> Graph:
    """Return a network of four inverted residuals, small enough for tests.

    Args:
        seed: Seed of the weights.
        batch: Images at a time.
        size: Height and width of an image, in pixels.
        classes: Number of outputs per image.

    Returns:
        A graph from `input: f32[batch,3,size,size]` to `output: f32[batch,classes]`.
    """
    network = _Network("tiny_mobilenet", seed)
    return network.build((batch, 3, size, size), 8, _TINY_STAGES, 40, classes)


class _Network:
    """Emits the layers of one network."""

    def __init__(self, name: str, seed: int) -> None:
        self._builder = GraphBuilder(name)
        self._weights = Weights(seed)

    def build(
        self,
        shape: tuple[int, int, int, int],
        stem: int,
        stages: Sequence[Stage],
        head: int,
        classes: int,
    ) -> Graph:
        """Return the graph for an input of `shape`."""
        b = self._builder
        x = b.input("input", shape)
        x = self._layer("features.0", x, stem, kernel=3, stride=2)
        number = 1
        for expansion, channels, blocks, stride in stages:
            for block in range(blocks):
                name = f"features.{number}"
                x = self._block(name, x, channels, stride if block == 0 else 1, expansion)
                number += 1
        x = self._layer(f"features.{number}", x, head, kernel=1)
        x = b.flatten(b.global_average_pool(x, name="pool"), name="flatten")
        weight = self._weights.he(classes, head)
        bias = self._weights.near(0.0, classes)
        return b.build(b.gemm(x, weight, bias, trans_b=True, name="output"))

    def _block(self, name: str, x: Value, channels: int, stride: int, expansion: int) -> Value:
        """Expand, filter each channel, project; add the input where shapes allow it."""
        hidden = x.shape[1] * expansion
        y = x
        if expansion != 1:
            y = self._layer(f"{name}.expand", y, hidden, kernel=1)
        y = self._layer(f"{name}.depthwise", y, hidden, kernel=3, stride=stride, group=hidden)
        y = self._layer(f"{name}.project", y, channels, kernel=1, activation=False)
        if stride == 1 and x.shape[1] == channels:
            y = self._builder.add(x, y, name=f"{name}.add")
        return y

    def _layer(
        self,
        name: str,
        x: Value,
        channels: int,
        *,
        kernel: int,
        stride: int = 1,
        group: int = 1,
        activation: bool = True,
    ) -> Value:
        """Convolution, batch normalisation and, if asked for, ReLU6."""
        b, w = self._builder, self._weights
        weight = w.he(channels, x.shape[1] // group, kernel, kernel)
        x = b.conv(x, weight, strides=stride, pads=kernel // 2, group=group, name=f"{name}.conv")
        x = b.batch_norm(
            x,
            w.near(1.0, channels),
            w.near(0.0, channels),
            w.near(0.0, channels),
            w.near(1.0, channels),
            name=f"{name}.norm",
        )
        return b.relu6(x, name=f"{name}.relu6") if activation else x


def _scaled(channels: int, width: float) -> int:
    """Return `channels * width` as a multiple of 8 that is at least 90 % of it."""
    exact = channels * width
    rounded = max(8, int(exact + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * exact else rounded
