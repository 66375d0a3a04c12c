"""MNASNet (Tan et al., arXiv 1807.11626): its variant B1, with torchvision's architecture.

Read `mnasnet1_0` first. Invariant: batch normalisation stands as nodes of its own, as in a file
exported without optimisation.
"""

from __future__ import annotations

from ago.ir.graph import Graph
from ago.models.layers import Layers

# Expansion factor, output channels, blocks, stride of the first block, kernel of the depthwise.
_STAGES: tuple[tuple[int, int, int, int, int], ...] = (
    (3, 24, 3, 2, 3),
    (3, 40, 3, 2, 5),
    (6, 80, 3, 2, 5),
    (6, 96, 2, 1, 3),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)


def mnasnet1_0(seed: int = 0, batch: int = 1, size: int = 224, classes: int = 1000) -> Graph:
    """Return MNASNet-B1 of width 1 with random weights.

    Args:
        seed: Seed of the weights.
        batch: Images at a time.
        size: Height and width of an image, in pixels.
        classes: Number of outputs per image.

    Returns:
        A graph from `input: f32[batch,3,size,size]` to `output: f32[batch,classes]`.
    """
    layers = Layers("mnasnet1_0", seed)
    b = layers.builder
    x = b.input("input", (batch, 3, size, size))
    x = layers.conv_norm("stem", x, 32, kernel=3, stride=2, activation="relu")
    x = layers.conv_norm("stem.depthwise", x, 32, kernel=3, group=32, activation="relu")
    x = layers.conv_norm("stem.project", x, 16)
    for number, (expansion, channels, blocks, stride, kernel) in enumerate(_STAGES):
        for block in range(blocks):
            x = layers.inverted_residual(
                f"stages.{number}.{block}",
                x,
                channels,
                expansion=expansion,
                kernel=kernel,
                stride=stride if block == 0 else 1,
                activation="relu",
            )
    x = layers.conv_norm("head", x, 1280, activation="relu")
    return layers.classify(b.reduce_mean(x, (2, 3), keepdims=False, name="pool"), classes)
