"""The layers that several architectures share, with random weights.

Read `Layers` first. Invariant: every layer keeps the mean square of what it is applied to, about,
so that networks of any depth stay in range without training.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np

from ago.frontend.builder import GraphBuilder, Value
from ago.ir.graph import Graph
from ago.models.weights import Weights

Activation: TypeAlias = Literal["none", "relu", "relu6", "silu", "gelu"]

_GAIN: dict[Activation, float] = {
    "none": 1.0,
    "relu": 2.0,
    "relu6": 2.0,
    "silu": 2.8,
    "gelu": 2.4,
}
"""The mean square of standard normal numbers, divided by that of the activation of them."""

BRANCH_GAIN = 0.25
"""Gain of the last layer of a residual branch, so that a sum of many branches grows slowly."""


class Layers:
    """Appends layers to a graph; nodes are named after their layer, such as `stem.conv`.

    Args:
        name: Name of the graph.
        seed: Seed of the weights.

    Attributes:
        builder: Where the nodes go.
        weights: Where the parameters come from.
    """

    def __init__(self, name: str, seed: int) -> None:
        self.builder = GraphBuilder(name)
        self.weights = Weights(seed)

    def activate(self, name: str, x: Value, activation: Activation) -> Value:
        """Apply an activation; SiLU is two nodes and Gelu five, as exporters write them."""
        b = self.builder
        if activation == "relu":
            return b.relu(x, name=f"{name}.relu")
        if activation == "relu6":
            return b.relu6(x, name=f"{name}.relu6")
        if activation == "silu":
            return b.mul(x, b.apply("Sigmoid", x, name=f"{name}.sigmoid"), name=f"{name}.silu")
        if activation == "gelu":
            y = b.div(x, math.sqrt(2.0), name=f"{name}.div")
            y = b.apply("Erf", y, name=f"{name}.erf")
            y = b.add(y, 1.0, name=f"{name}.shifted")
            y = b.mul(x, y, name=f"{name}.mul")
            return b.mul(y, 0.5, name=f"{name}.gelu")
        return x

    def conv_relu(
        self, name: str, x: Value, channels: int, *, kernel: int = 1, stride: int = 1, pad: int = 0
    ) -> Value:
        """Convolution with a bias, and ReLU, on `x[N,C,H,W]`."""
        weight = self.weights.scaled(channels, x.shape[1], kernel, kernel, gain=_GAIN["relu"])
        bias = self.weights.near(0.0, channels)
        x = self.builder.conv(x, weight, bias, strides=stride, pads=pad, name=f"{name}.conv")
        return self.activate(name, x, "relu")

    def conv_norm(
        self,
        name: str,
        x: Value,
        channels: int,
        *,
        kernel: int = 1,
        stride: int = 1,
        group: int = 1,
        activation: Activation = "none",
        gain: float | None = None,
    ) -> Value:
        """Convolution without a bias, batch normalisation, activation, on `x[N,C,H,W]`.

        Args:
            name: Name of the layer.
            x: The input.
            channels: Number of filters.
            kernel: Height and width of a filter; half of it is the padding.
            stride: Step between windows.
            group: Number of independent groups of channels.
            activation: What follows the normalisation.
            gain: Variance of the weights times their number per filter; by default what makes up
                for the activation.
        """
        b, w = self.builder, self.weights
        gain = _GAIN[activation] if gain is None else gain
        weight = w.scaled(channels, x.shape[1] // group, kernel, kernel, gain=gain)
        x = b.conv(x, weight, strides=stride, pads=kernel // 2, group=group, name=f"{name}.conv")
        x = b.batch_norm(
            x,
            w.near(1.0, channels),
            w.near(0.0, channels),
            w.near(0.0, channels),
            w.near(1.0, channels),
            name=f"{name}.norm",
        )
        return self.activate(name, x, activation)

    def inverted_residual(
        self,
        name: str,
        x: Value,
        channels: int,
        *,
        expansion: int,
        activation: Activation,
        kernel: int = 3,
        stride: int = 1,
    ) -> Value:
        """Expand, filter each channel, project; add the input where shapes allow it.

        The block of MobileNet-V2 (Sandler et al., arXiv 1801.04381), on `x[N,C,H,W]`.
        """
        hidden = x.shape[1] * expansion
        residual = stride == 1 and x.shape[1] == channels
        y = x
        if expansion != 1:
            y = self.conv_norm(f"{name}.expand", y, hidden, activation=activation)
        y = self.conv_norm(
            f"{name}.depthwise",
            y,
            hidden,
            kernel=kernel,
            stride=stride,
            group=hidden,
            activation=activation,
        )
        y = self.conv_norm(f"{name}.project", y, channels, gain=BRANCH_GAIN if residual else None)
        return self.builder.add(x, y, name=f"{name}.add") if residual else y

    def dense(
        self,
        name: str,
        x: Value,
        features: int,
        *,
        activation: Activation = "none",
        gain: float | None = None,
    ) -> Value:
        """Matrix product with weights, a bias, activation, on the last axis of `x`.

        Args:
            name: Name of the layer.
            x: The input.
            features: Extent of the last axis of the result.
            activation: What follows the bias.
            gain: As in `conv_norm`.
        """
        b, w = self.builder, self.weights
        gain = _GAIN[activation] if gain is None else gain
        weight = np.ascontiguousarray(w.scaled(features, x.shape[-1], gain=gain).T)
        y = b.matmul(x, b.constant(weight, f"{name}.weight"), name=f"{name}.matmul")
        bias = b.constant(w.near(0.0, features), f"{name}.bias")
        return self.activate(name, b.add(bias, y, name=f"{name}.add"), activation)

    def layer_norm(self, name: str, x: Value, epsilon: float) -> Value:
        """Layer normalisation over the last axis of `x`."""
        b, w = self.builder, self.weights
        features = x.shape[-1]
        scale = b.constant(w.near(1.0, features), f"{name}.scale")
        bias = b.constant(w.near(0.0, features), f"{name}.bias")
        axes = (len(x.shape) - 1,)
        return b.apply("LayerNormalization", x, scale, bias, name=name, axes=axes, epsilon=epsilon)

    def classify(self, x: Value, classes: int) -> Graph:
        """Return the graph that ends in a dense layer on `x[N,C]`, named `output`."""
        weight = self.weights.scaled(classes, x.shape[1])
        bias = self.weights.near(0.0, classes)
        b = self.builder
        return b.build(b.gemm(x, weight, bias, trans_b=True, name="output"))
