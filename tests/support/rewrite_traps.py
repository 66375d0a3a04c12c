"""Models on which a careless rewrite changes the result.

Read `TRAPS` first. Each is a few nodes around one rewrite: batch norm folded into a convolution
that something else reads as well, padding merged where it is no zero, a pattern that looks like
another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

from tests.support.onnx_models import make_model

Array = np.ndarray

_RNG = np.random.default_rng(1)


@dataclass(frozen=True)
class Trap:
    """A model and what is special about it.

    Attributes:
        name: What must not be rewritten, or not without care.
        nodes: The nodes; they read `x`.
        shape: Extents of `x`.
        outputs: The graph's outputs.
        weights: Constants by name.
    """

    name: str
    nodes: Sequence[onnx.NodeProto]
    shape: tuple[int, ...]
    outputs: Sequence[str]
    weights: dict[str, Array]

    def model(self) -> tuple[onnx.ModelProto, dict[str, Array]]:
        """The model, and its input by name."""
        model = make_model(self.nodes, {"x": self.shape}, self.outputs, self.weights)
        return model, {"x": normal(*self.shape)}


def normal(*shape: int) -> Array:
    """Standard normal float32 numbers."""
    return _RNG.standard_normal(shape).astype(np.float32)


def statistics(channels: int, name: str = "n") -> dict[str, Array]:
    """Scale, bias, mean and variance of a batch norm, named `n.scale` and so on."""
    variance = np.abs(normal(channels)) + np.float32(0.5)
    arrays = {"scale": normal(channels), "bias": normal(channels), "mean": normal(channels)}
    return {f"{name}.{key}": array for key, array in {**arrays, "var": variance}.items()}


def batch_norm(source: str, output: str, name: str = "n") -> onnx.NodeProto:
    """A batch norm with the weights of `statistics`."""
    weights = [f"{name}.{key}" for key in ("scale", "bias", "mean", "var")]
    return helper.make_node("BatchNormalization", [source, *weights], [output])


def node(op: str, inputs: str, output: str, **attrs: object) -> onnx.NodeProto:
    """A node whose inputs are words of one text."""
    return helper.make_node(op, inputs.split(), [output], **attrs)


def _batch_norms() -> list[Trap]:
    conv = node("Conv", "x w", "c", pads=[1, 1, 1, 1])
    weights = {"w": normal(5, 3, 3, 3), **statistics(5)}
    shape = (2, 3, 7, 6)
    return [
        Trap(
            "a convolution that is an output",
            [conv, batch_norm("c", "y")],
            shape,
            ["c", "y"],
            weights,
        ),
        Trap(
            "a convolution that is read twice",
            [conv, batch_norm("c", "b"), node("Add", "b c", "y")],
            shape,
            ["y"],
            weights,
        ),
        Trap(
            "a shared weight",
            [conv, batch_norm("c", "y"), node("Conv", "x w", "z")],
            shape,
            ["y", "z"],
            weights,
        ),
        Trap(
            "two batch norms on one weight",
            [
                conv,
                batch_norm("c", "y"),
                node("Conv", "x w", "d", strides=[2, 2]),
                batch_norm("d", "z", "m"),
            ],
            shape,
            ["y", "z"],
            {**weights, **statistics(5, "m")},
        ),
        Trap(
            "an activation between",
            [conv, node("Relu", "c", "r"), batch_norm("r", "y")],
            shape,
            ["y"],
            weights,
        ),
        Trap(
            "depthwise with a bias",
            [node("Conv", "x w b", "c", group=3, pads=[1, 1, 1, 1]), batch_norm("c", "y")],
            shape,
            ["y"],
            {"w": normal(3, 1, 3, 3), "b": normal(3), **statistics(3)},
        ),
        Trap(
            "behind a Concat",
            [conv, node("Concat", "x c", "j", axis=1), batch_norm("j", "y")],
            shape,
            ["y"],
            {"w": weights["w"], **statistics(8)},
        ),
        Trap(
            "ahead of a padded convolution",
            [batch_norm("x", "b"), node("Conv", "b w", "y", pads=[1, 1, 1, 1])],
            shape,
            ["y"],
            {"w": weights["w"], **statistics(3)},
        ),
        Trap(
            "ahead of a convolution without padding",
            [batch_norm("x", "b"), node("Conv", "b w", "y")],
            shape,
            ["y"],
            {"w": weights["w"], **statistics(3)},
        ),
    ]


def _paddings() -> list[Trap]:
    weights = {"p": np.array([0, 0, 1, 2, 0, 0, 1, 0], np.int64), "w": normal(4, 3, 3, 3)}
    one = {"v": np.array(1, np.float32)}
    conv, pool = node("Conv", "q w", "y"), node("MaxPool", "q", "y", kernel_shape=[2, 2])
    return [
        Trap(
            "padding of ones",
            [node("Pad", "x p v", "q"), conv],
            (1, 3, 6, 5),
            ["y"],
            {**weights, **one},
        ),
        Trap("padding of zeros", [node("Pad", "x p", "q"), conv], (1, 3, 6, 5), ["y"], weights),
        Trap(
            "zeros in front of a maximum",
            [node("Pad", "x p", "q"), pool],
            (1, 3, 6, 5),
            ["y"],
            {"p": weights["p"]},
        ),
        Trap(
            "padding that is an output",
            [node("Pad", "x p", "q"), conv],
            (1, 3, 6, 5),
            ["q", "y"],
            weights,
        ),
    ]


def _patterns() -> list[Trap]:
    gelu = [
        node("Div", "x root", "a"),
        node("Erf", "a", "b"),
        node("Add", "b one", "c"),
        node("Mul", "x c", "d"),
        node("Mul", "d half", "y"),
    ]
    scalars = {"root": np.float32(np.sqrt(2)), "one": np.float32(1), "half": np.float32(0.5)}
    shuffle = [
        node("Reshape", "x five", "a"),
        node("Transpose", "a", "b", perm=[0, 2, 1, 3, 4]),
        node("Reshape", "b four", "s"),
        node("Conv", "s w", "y"),
    ]
    shapes = {
        "five": np.array([1, 2, 3, 5, 4], np.int64),
        "four": np.array([1, 6, 5, 4], np.int64),
        "w": normal(4, 6, 1, 1),
    }
    chain = [node("Conv", "x w", "a"), node("Relu", "a", "b"), node("Conv", "b v", "y")]
    pair = {"w": normal(4, 6, 1, 1), "v": normal(5, 4, 1, 1)}
    return [
        Trap("Gelu by erf is not the one by tanh", gelu, (3, 40), ["y"], scalars),
        Trap("channels shuffled", shuffle, (1, 6, 5, 4), ["y"], shapes),
        Trap("channels shuffled, an output", shuffle, (1, 6, 5, 4), ["s", "y"], shapes),
        Trap("values in between are outputs", chain, (1, 6, 5, 4), ["b", "a", "y"], pair),
        Trap(
            "a clip of a clip",
            [node("Relu", "x", "a"), node("Clip", "a low high", "y")],
            (4, 5),
            ["y"],
            {"low": np.float32(-1), "high": np.float32(0.5)},
        ),
    ]


TRAPS = [*_batch_norms(), *_paddings(), *_patterns()]
"""All of them."""
