"""MobileViT (Mehta and Rastegari, arXiv 2110.02178), with the architecture of PyTorch Image Models.

Read `mobilevit_xxs` first. Invariant: a token is one pixel of a 2x2 patch, and attends to the
pixels at the same place of all other patches: `[batch * 4, patches, features]`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ago.errors import InputError
from ago.frontend.builder import Value
from ago.ir.graph import Graph
from ago.models.layers import BRANCH_GAIN, Layers

_PATCH = 2
_HEADS = 4
_STRIDE = 32
"""Pixels of the image per pixel of the last map."""
_EPSILON = 1e-5
_DEPTHS = (2, 4, 3)
"""Transformer layers of the last three stages."""


@dataclass(frozen=True, slots=True)
class _Widths:
    """What the variants differ in.

    Attributes:
        expansion: Expansion factor of the inverted residuals.
        channels: Output channels of the five stages.
        features: Numbers per token in the last three stages.
        head: Channels before the classifier.
    """

    expansion: int
    channels: tuple[int, int, int, int, int]
    features: tuple[int, int, int]
    head: int


_XXS = _Widths(2, (16, 24, 48, 64, 80), (64, 80, 96), 320)
_S = _Widths(4, (32, 64, 96, 128, 160), (144, 192, 240), 640)


def mobilevit_xxs(seed: int = 0, batch: int = 1, size: int = 256, classes: int = 1000) -> Graph:
    """Return MobileViT-XXS with random weights.

    Args:
        seed: Seed of the weights.
        batch: Images at a time.
        size: Height and width of an image, in pixels; a multiple of 64.
        classes: Number of outputs per image.

    Returns:
        A graph from `input: f32[batch,3,size,size]` to `output: f32[batch,classes]`.

    Raises:
        InputError: The last map has no whole number of patches.
    """
    return _build("mobilevit_xxs", _XXS, seed, (batch, 3, size, size), classes)


def mobilevit_s(seed: int = 0, batch: int = 1, size: int = 256, classes: int = 1000) -> Graph:
    """Return MobileViT-S with random weights; see `mobilevit_xxs`."""
    return _build("mobilevit_s", _S, seed, (batch, 3, size, size), classes)


def _build(
    name: str, widths: _Widths, seed: int, shape: tuple[int, int, int, int], classes: int
) -> Graph:
    whole = _STRIDE * _PATCH
    if shape[-1] % whole:
        raise InputError(f"size={shape[-1]}: {name} takes multiples of {whole} pixels")
    network = _Network(name, seed, widths.expansion)
    b = network.builder
    x = b.input("input", shape)
    x = network.conv_norm("stem", x, 16, kernel=3, stride=2, activation="silu")
    first, second, *last = widths.channels
    x = network.block("stages.0.0", x, first)
    for number in range(3):
        x = network.block(f"stages.1.{number}", x, second, stride=2 if number == 0 else 1)
    for number, (channels, features, depth) in enumerate(
        zip(last, widths.features, _DEPTHS, strict=True), 2
    ):
        x = network.block(f"stages.{number}.0", x, channels, stride=2)
        x = network.transformed(f"stages.{number}.1", x, features, depth)
    x = network.conv_norm("head", x, widths.head, activation="silu")
    x = b.flatten(b.global_average_pool(x, name="pool"), name="flatten")
    return network.classify(x, classes)


class _Network(Layers):
    """The two kinds of blocks."""

    def __init__(self, name: str, seed: int, expansion: int) -> None:
        super().__init__(name, seed)
        self._expansion = expansion

    def block(self, name: str, x: Value, channels: int, stride: int = 1) -> Value:
        """An inverted residual with SiLU."""
        return self.inverted_residual(
            name, x, channels, expansion=self._expansion, stride=stride, activation="silu"
        )

    def transformed(self, name: str, x: Value, features: int, depth: int) -> Value:
        """Local filters, a transformer over patches, and both joined with the input."""
        b = self.builder
        channels = x.shape[1]
        y = self.conv_norm(f"{name}.local", x, channels, kernel=3, activation="silu")
        weight = self.weights.scaled(features, channels, 1, 1)
        y = b.conv(y, weight, name=f"{name}.widen")
        tokens = self._unfold(name, y)
        for layer in range(depth):
            tokens = self._layer(f"{name}.layers.{layer}", tokens)
        tokens = self.layer_norm(f"{name}.norm", tokens, _EPSILON)
        y = self._fold(name, tokens, y.shape)
        y = self.conv_norm(f"{name}.narrow", y, channels, activation="silu")
        y = b.concat((x, y), 1, name=f"{name}.concat")
        return self.conv_norm(f"{name}.join", y, channels, kernel=3, activation="silu")

    def _unfold(self, name: str, x: Value) -> Value:
        """From `[N,F,H,W]` to tokens."""
        b, p = self.builder, _PATCH
        n, f, h, w = x.shape
        x = b.reshape(x, (n * f * h // p, p, w // p, p), name=f"{name}.rows")
        x = self._transpose(f"{name}.patches", x, 0, 2, 1, 3)
        x = b.reshape(x, (n, f, h * w // p**2, p**2), name=f"{name}.pixels")
        x = self._transpose(f"{name}.last", x, 0, 3, 2, 1)
        return b.reshape(x, (n * p**2, h * w // p**2, f), name=f"{name}.tokens")

    def _fold(self, name: str, tokens: Value, shape: tuple[int, ...]) -> Value:
        """From tokens to `[N,F,H,W]`."""
        b, p = self.builder, _PATCH
        n, f, h, w = shape
        x = b.reshape(tokens, (n, p**2, h * w // p**2, f), name=f"{name}.untokens")
        x = self._transpose(f"{name}.first", x, 0, 3, 2, 1)
        x = b.reshape(x, (n * f * h // p, w // p, p, p), name=f"{name}.unpixels")
        x = self._transpose(f"{name}.unpatches", x, 0, 2, 1, 3)
        return b.reshape(x, shape, name=f"{name}.map")

    def _layer(self, name: str, x: Value) -> Value:
        """A transformer layer with the normalisation first."""
        b = self.builder
        y = self.layer_norm(f"{name}.norm1", x, _EPSILON)
        y = self._attend(f"{name}.attention", y)
        x = b.add(x, y, name=f"{name}.add1")
        y = self.layer_norm(f"{name}.norm2", x, _EPSILON)
        y = self.dense(f"{name}.wide", y, 2 * x.shape[-1], activation="silu")
        y = self.dense(f"{name}.narrow", y, x.shape[-1], gain=BRANCH_GAIN)
        return b.add(x, y, name=f"{name}.add2")

    def _attend(self, name: str, x: Value) -> Value:
        """Self-attention; queries and keys each get the root of the scale, as in PyTorch."""
        b = self.builder
        n, patches, features = x.shape
        size = features // _HEADS
        x = self.dense(f"{name}.qkv", x, 3 * features)
        x = b.reshape(x, (n, patches, 3, _HEADS, size), name=f"{name}.split")
        x = self._transpose(f"{name}.heads", x, 2, 0, 3, 1, 4)
        query, key, value = (
            self._third(f"{name}.{role}", x, k) for k, role in enumerate(("query", "key", "value"))
        )
        key = self._transpose(f"{name}.key.transpose", key, 0, 1, 3, 2)
        root = size**-0.25
        query = b.mul(query, root, name=f"{name}.query.scaled")
        key = b.mul(key, root, name=f"{name}.key.scaled")
        scores = b.matmul(query, key, name=f"{name}.scores")
        share = b.apply("Softmax", scores, name=f"{name}.softmax", axes=(3,))
        x = b.matmul(share, value, name=f"{name}.mixed")
        x = self._transpose(f"{name}.merge", x, 0, 2, 1, 3)
        x = b.reshape(x, (n, patches, features), name=f"{name}.merged")
        return self.dense(f"{name}.project", x, features, gain=BRANCH_GAIN)

    def _third(self, name: str, x: Value, index: int) -> Value:
        """Return `x[index]`."""
        b = self.builder
        steps = (1,) * len(x.shape)
        starts = (index, *(0 for _ in x.shape[1:]))
        shape = (1, *x.shape[1:])
        part = b.apply("Slice", x, name=f"{name}.part", shape=shape, starts=starts, steps=steps)
        return b.reshape(part, x.shape[1:], name=name)

    def _transpose(self, name: str, x: Value, *perm: int) -> Value:
        return self.builder.apply("Transpose", x, name=name, perm=perm)
