"""MobileNet-V2 (Sandler et al., arXiv 1801.04381), with torchvision's architecture and names.

Read `mobilenet_v2` first. Invariant: batch normalisation stands as nodes of its own, as in a file
exported without optimisation.
"""

from __future__ import annotations

from collections.abc import Sequence

from ago.ir.graph import Graph
from ago.models.layers import Layers

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
    layers = Layers("mobilenet_v2", seed)
    return _build(layers, (batch, 3, size, size), _scaled(32, width), stages, head, classes)


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
    layers = Layers("tiny_mobilenet", seed)
    return _build(layers, (batch, 3, size, size), 8, _TINY_STAGES, 40, classes)


def _build(
    layers: Layers,
    shape: tuple[int, int, int, int],
    stem: int,
    stages: Sequence[Stage],
    head: int,
    classes: int,
) -> Graph:
    b = layers.builder
    x = b.input("input", shape)
    x = layers.conv_norm("features.0", x, stem, kernel=3, stride=2, activation="relu6")
    number = 1
    for expansion, channels, blocks, stride in stages:
        for block in range(blocks):
            x = layers.inverted_residual(
                f"features.{number}",
                x,
                channels,
                expansion=expansion,
                stride=stride if block == 0 else 1,
                activation="relu6",
            )
            number += 1
    x = layers.conv_norm(f"features.{number}", x, head, activation="relu6")
    x = b.flatten(b.global_average_pool(x, name="pool"), name="flatten")
    return layers.classify(x, classes)


def _scaled(channels: int, width: float) -> int:
    """Return `channels * width` as a multiple of 8 that is at least 90 % of it."""
    exact = channels * width
    rounded = max(8, int(exact + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * exact else rounded
