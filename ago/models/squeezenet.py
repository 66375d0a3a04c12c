"""SqueezeNet (Iandola et al., arXiv 1602.07360): version 1.1, with torchvision's architecture.

Read `squeezenet1_1` first. Invariant: convolutions have no padding except the 3x3 ones of the fire
modules, and pools round their output sizes up, so sizes are odd: 111, 55, 27, 13 from 224.
"""

from __future__ import annotations

from ago.frontend.builder import Value
from ago.ir.graph import Graph
from ago.models.layers import Layers

# Squeezed channels, channels of each of the two expansions; a pool stands in front of each group.
_FIRES: tuple[tuple[tuple[int, int], ...], ...] = (
    ((16, 64), (16, 64)),
    ((32, 128), (32, 128)),
    ((48, 192), (48, 192), (64, 256), (64, 256)),
)


def squeezenet1_1(seed: int = 0, batch: int = 1, size: int = 224, classes: int = 1000) -> Graph:
    """Return SqueezeNet 1.1 with random weights.

    Args:
        seed: Seed of the weights.
        batch: Images at a time.
        size: Height and width of an image, in pixels.
        classes: Number of outputs per image.

    Returns:
        A graph from `input: f32[batch,3,size,size]` to `output: f32[batch,classes]`.

    Raises:
        ModelError: The image is too small for the last pool: under 25 pixels.
    """
    layers = Layers("squeezenet1_1", seed)
    b = layers.builder
    x = b.input("input", (batch, 3, size, size))
    x = layers.conv_relu("stem", x, 64, kernel=3, stride=2)
    number = 2
    for group, fires in enumerate(_FIRES):
        x = b.max_pool(x, 3, strides=2, ceil_mode=True, name=f"pool{group}")
        for squeezed, expanded in fires:
            x = _fire(layers, f"fire{number}", x, squeezed, expanded)
            number += 1
    x = layers.conv_relu("classifier", x, classes)
    return b.build(b.flatten(b.global_average_pool(x, name="pool"), name="output"))


def _fire(layers: Layers, name: str, x: Value, squeezed: int, expanded: int) -> Value:
    """Few channels by a 1x1 convolution, then many by a 1x1 and a 3x3 one side by side."""
    x = layers.conv_relu(f"{name}.squeeze", x, squeezed)
    points = layers.conv_relu(f"{name}.expand1x1", x, expanded)
    windows = layers.conv_relu(f"{name}.expand3x3", x, expanded, kernel=3, pad=1)
    return layers.builder.concat((points, windows), 1, name=f"{name}.concat")
