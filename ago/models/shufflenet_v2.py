"""ShuffleNet-V2 (Ma et al., arXiv 1807.11164), with torchvision's architecture.

Read `shufflenet_v2_x1_0` first. Invariant: the two halves of a unit's channels are mixed after
every unit, by a reshape, a transpose and a reshape.
"""

from __future__ import annotations

from ago.frontend.builder import Value
from ago.ir.graph import Graph
from ago.models.layers import Layers

# Output channels and units of each stage; the first unit has stride 2.
_STAGES: tuple[tuple[int, int], ...] = ((116, 4), (232, 8), (464, 4))


def shufflenet_v2_x1_0(
    seed: int = 0, batch: int = 1, size: int = 224, classes: int = 1000
) -> Graph:
    """Return ShuffleNet-V2 of width 1 with random weights.

    Args:
        seed: Seed of the weights.
        batch: Images at a time.
        size: Height and width of an image, in pixels.
        classes: Number of outputs per image.

    Returns:
        A graph from `input: f32[batch,3,size,size]` to `output: f32[batch,classes]`.
    """
    network = _Network("shufflenet_v2_x1_0", seed)
    b = network.builder
    x = b.input("input", (batch, 3, size, size))
    x = network.conv_norm("stem", x, 24, kernel=3, stride=2, activation="relu")
    x = b.max_pool(x, 3, strides=2, pads=1, name="stem.pool")
    for number, (channels, units) in enumerate(_STAGES, 2):
        x = network.reducing_unit(f"stage{number}.0", x, channels)
        for unit in range(1, units):
            x = network.unit(f"stage{number}.{unit}", x)
    x = network.conv_norm("head", x, 1024, activation="relu")
    return network.classify(b.reduce_mean(x, (2, 3), keepdims=False, name="pool"), classes)


class _Network(Layers):
    """The two kinds of units."""

    def reducing_unit(self, name: str, x: Value, channels: int) -> Value:
        """Halve the map: both branches read all channels and make half of the new ones."""
        half = channels // 2
        inputs = x.shape[1]
        short = self.conv_norm(
            f"{name}.short.depthwise", x, inputs, kernel=3, stride=2, group=inputs
        )
        short = self.conv_norm(f"{name}.short.project", short, half, activation="relu")
        return self._shuffle(name, short, self._branch(name, x, half, stride=2))

    def unit(self, name: str, x: Value) -> Value:
        """Keep half of the channels as they are and filter the others."""
        half = x.shape[1] // 2
        kept, filtered = (self._part(f"{name}.half{k}", x, k * half, half) for k in range(2))
        return self._shuffle(name, kept, self._branch(name, filtered, half, stride=1))

    def _branch(self, name: str, x: Value, half: int, stride: int) -> Value:
        """A pointwise, a depthwise and a pointwise convolution."""
        x = self.conv_norm(f"{name}.expand", x, half, activation="relu")
        x = self.conv_norm(f"{name}.depthwise", x, half, kernel=3, stride=stride, group=half)
        return self.conv_norm(f"{name}.project", x, half, activation="relu")

    def _part(self, name: str, x: Value, start: int, channels: int) -> Value:
        """Return `channels` channels of `x` from `start` on."""
        shape = (x.shape[0], channels, *x.shape[2:])
        starts = (0, start, 0, 0)
        return self.builder.apply(
            "Slice", x, name=name, shape=shape, starts=starts, steps=(1, 1, 1, 1)
        )

    def _shuffle(self, name: str, first: Value, second: Value) -> Value:
        """Return the channels of both by turns."""
        b = self.builder
        x = b.concat((first, second), 1, name=f"{name}.concat")
        batch, channels, height, width = x.shape
        x = b.reshape(x, (batch, 2, channels // 2, height, width), name=f"{name}.grouped")
        x = b.apply("Transpose", x, name=f"{name}.transpose", perm=(0, 2, 1, 3, 4))
        return b.reshape(x, (batch, channels, height, width), name=f"{name}.shuffled")
