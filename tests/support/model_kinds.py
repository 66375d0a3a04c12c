"""Small models of the kinds that people bring, with random weights.

Read `KINDS` first. Each has the operators and the glue of its kind as exporters write them: shape
arithmetic, masks made from ranges, branches on constants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.support.onnx_models import make_model

Array = np.ndarray


@dataclass
class Writer:
    """Nodes and weights, as they are written.

    Attributes:
        seed: Of the weights.
        nodes: The nodes so far.
        weights: The weights so far.
    """

    seed: int = 0
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)

    def node(self, op: str, *inputs: object, outputs: int = 1, **attrs: object) -> str:
        """Append a node; inputs are values or arrays. Several outputs are `name`, `name_1`, ..."""
        name = f"{op.lower()}_{len(self.nodes)}"
        values = [value if isinstance(value, str) else self.weight(value) for value in inputs]
        made = [name, *(f"{name}_{k}" for k in range(1, outputs))]
        self.nodes.append(helper.make_node(op, values, made, name=name, **attrs))
        return name

    def weight(self, array: object) -> str:
        """Append a weight."""
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def normal(self, *shape: int) -> Array:
        """Weights that keep the size of what they are applied to."""
        scale = 1 / np.sqrt(max(np.prod(shape[1:]), 1))
        return (self._rng.standard_normal(shape) * scale).astype(np.float32)

    def conv(self, x: str, channels: int, filters: int, kernel: int, **attrs: object) -> str:
        """A convolution with a bias whose output is as large as its input, divided by strides."""
        weight, bias = self.normal(filters, channels, kernel, kernel), self.normal(filters)
        pads = [kernel // 2] * 4
        return self.node("Conv", x, weight, bias, pads=pads, **attrs)


def ints(*values: int) -> Array:
    """An int64 vector."""
    return np.array(values, np.int64)


def detector() -> tuple[onnx.ModelProto, dict[str, Array]]:
    """YOLO-style: split and joined channels, a pyramid of pools, resizing, boxes from bins."""
    w = Writer(1)

    def silu(x: str) -> str:
        return w.node("Mul", x, w.node("Sigmoid", x))

    stem = silu(w.conv("image", 3, 8, 3, strides=[2, 2]))
    halves = w.node("Split", stem, ints(4, 4), axis=1, outputs=2)
    inner = silu(w.conv(f"{halves}_1", 4, 4, 3))
    wide = silu(w.conv(w.node("Concat", halves, f"{halves}_1", inner, axis=1), 12, 8, 1))
    small = silu(w.conv(wide, 8, 8, 3, strides=[2, 2]))
    pools = [small]
    for _ in range(3):
        pools.append(w.node("MaxPool", pools[-1], kernel_shape=[5, 5], pads=[2] * 4))
    neck = silu(w.conv(w.node("Concat", *pools, axis=1), 32, 8, 1))
    scales = np.array([1, 1, 2, 2], np.float32)
    up = w.node("Resize", neck, "", scales, mode="nearest",
                coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    head = w.conv(w.node("Concat", up, wide, axis=1), 16, 4 * 4 + 3, 1)
    shape = w.node("Shape", head)
    batch = w.node("Gather", shape, np.array(0, np.int64), axis=0)
    batch = w.node("Unsqueeze", batch, ints(0))
    flat = w.node("Reshape", head, w.node("Concat", batch, ints(19, -1), axis=0))
    boxes = w.node("Slice", flat, ints(0), ints(16), ints(1))
    classes = w.node("Sigmoid", w.node("Slice", flat, ints(16), ints(2**62), ints(1)))
    bins = w.node("Reshape", boxes, ints(0, 4, 4, -1))
    share = w.node("Softmax", w.node("Transpose", bins, perm=[0, 2, 1, 3]), axis=1)
    spread = np.arange(4, dtype=np.float32).reshape(1, 4, 1, 1)
    distance = w.node("Reshape", w.node("Conv", share, spread), ints(0, 4, -1))
    side = w.node("Gather", shape, np.array(2, np.int64), axis=0)
    steps = w.node("Range", np.array(0, np.int64), side, np.array(1, np.int64))
    steps = w.node("Add", w.node("Cast", steps, to=TensorProto.FLOAT), np.array(0.5, np.float32))
    grid = w.node("Concat", w.node("Unsqueeze", side, ints(0)), ints(8), axis=0)
    columns = w.node("Reshape", w.node("Expand", steps, grid), ints(1, 1, -1))
    rows = w.node(
        "Reshape", w.node("Expand", w.node("Unsqueeze", steps, ints(1)), grid), ints(1, 1, -1)
    )
    anchors = w.node("Concat", columns, rows, axis=1)
    near = w.node("Sub", anchors, w.node("Slice", distance, ints(0), ints(2), ints(1)))
    far = w.node("Add", anchors, w.node("Slice", distance, ints(2), ints(4), ints(1)))
    result = w.node("Concat", near, far, classes, axis=1)
    return make_model(w.nodes, {"image": ("batch", 3, 16, 16)}, [result], w.weights), {
        "image": np.random.default_rng(2).standard_normal((2, 3, 16, 16)).astype(np.float32)
    }


def byte_classifier() -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Bytes embedded, convolved along the text, normalised by primitive operators."""
    w = Writer(3)
    x = w.node("Transpose", w.node("Gather", w.normal(256, 8), "bytes"), perm=[0, 2, 1])
    for dilation in (1, 2):
        pads = [dilation, dilation]
        y = w.node("Conv", x, w.normal(8, 8, 3), w.normal(8), pads=pads, dilations=[dilation])
        mean = w.node("ReduceMean", y, axes=[1], keepdims=1)
        centred = w.node("Sub", y, mean)
        square = w.node("Pow", centred, np.array(2, np.float32))
        variance = w.node("ReduceMean", square, axes=[1], keepdims=1)
        small = w.node("Add", variance, np.array(1e-5, np.float32))
        y = w.node("Div", centred, w.node("Sqrt", small))
        y = w.node("Add", w.node("Mul", y, w.normal(8, 1)), w.normal(8, 1))
        half = w.node("Mul", y, np.array(0.5, np.float32))
        erf = w.node("Erf", w.node("Div", y, np.array(np.sqrt(2), np.float32)))
        y = w.node("Mul", half, w.node("Add", erf, np.array(1, np.float32)))
        x = w.node("Add", x, y)
    pooled = w.node("Flatten", w.node("GlobalMaxPool", x))
    result = w.node("LogSoftmax", w.node("Gemm", pooled, w.normal(5, 8), w.normal(5), transB=1))
    dtypes = {"bytes": TensorProto.UINT8}
    text = np.frombuffer(b"several words", np.uint8)
    cast = helper.make_node("Cast", ["text"], ["bytes"], to=TensorProto.INT64)
    model = make_model(
        [cast, *w.nodes],
        {"text": (1, "length")},
        [result],
        w.weights,
        13,
        {"text": dtypes["bytes"]},
    )
    return model, {"text": text[None]}


def voice_detector() -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A spectrum by a convolution, magnitudes, an LSTM with state, a branch on the sample rate."""
    w = Writer(4)
    pad = w.node("Pad", "samples", ints(0, 0, 0, 8), mode="reflect")
    signal = w.node("Unsqueeze", pad, ints(1))
    turns = np.exp(-2j * np.pi * np.outer(np.arange(9), np.arange(16)) / 16) * np.hanning(16)
    kernel = np.concatenate([turns.real, turns.imag])[:, None].astype(np.float32)
    spectrum = w.node("Conv", signal, kernel, strides=[8])
    real = w.node("Slice", spectrum, ints(0), ints(9), ints(1))
    imaginary = w.node("Slice", spectrum, ints(9), ints(18), ints(1))
    squares = [w.node("Mul", part, part) for part in (real, imaginary)]
    size = w.node("Sqrt", w.node("Add", *squares))
    x = w.node("Relu", w.node("Conv", size, w.normal(8, 9, 3), w.normal(8), pads=[1, 1]))
    steps = w.node("Transpose", x, perm=[2, 0, 1])
    weights = (w.normal(1, 24, 8), w.normal(1, 24, 6), w.normal(1, 48))
    lstm = w.node("LSTM", steps, *weights, "", "state", "cell", hidden_size=6, outputs=3)
    fast = w.node("Equal", "rate", np.array(16000, np.int64))
    last = w.node("Squeeze", f"{lstm}_1", ints(0))
    branches = {}
    for name, factor in (("then_branch", 1.0), ("else_branch", 0.5)):
        inner = Writer(5)
        scaled = inner.node("Mul", last, np.array(factor, np.float32))
        score = inner.node("Gemm", scaled, inner.normal(1, 6), transB=1)
        output = helper.make_tensor_value_info(score, TensorProto.FLOAT, None)
        tensors = [onnx.numpy_helper.from_array(a, n) for n, a in inner.weights.items()]
        branches[name] = helper.make_graph(inner.nodes, name, [], [output], tensors)
    score = w.node("Sigmoid", w.node("If", fast, **branches))
    shapes = {"samples": (1, 64), "state": (1, 1, 6), "cell": (1, 1, 6), "rate": ()}
    outputs = [score, f"{lstm}_1", f"{lstm}_2"]
    model = make_model(w.nodes, shapes, outputs, w.weights, 16, {"rate": TensorProto.INT64})
    rng = np.random.default_rng(6)
    shapes.pop("rate")
    feeds = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return model, {**feeds, "rate": np.array(16000, np.int64)}


def recogniser() -> tuple[onnx.ModelProto, dict[str, Array]]:
    """MobileNetV3-style: hard swish, squeeze and excite, a transposed convolution, open sizes."""
    w = Writer(7)
    x = w.node("HardSwish", w.conv("image", 3, 8, 3, strides=[2, 2]))
    weights = (w.normal(8), w.normal(8), w.normal(8), np.abs(w.normal(8)) + np.float32(0.5))
    y = w.node("Conv", x, w.normal(8, 1, 5, 5), group=8, pads=[2] * 4)
    y = w.node("BatchNormalization", y, *weights)
    gate = w.node("Relu", w.conv(w.node("GlobalAveragePool", y), 8, 4, 1))
    gate = w.node("HardSigmoid", w.conv(gate, 4, 8, 1), alpha=0.2, beta=0.5)
    x = w.node("Add", x, w.node("Mul", y, gate))
    up = w.node("ConvTranspose", x, w.normal(8, 4, 2, 2), w.normal(4), strides=[2, 2])
    shape = w.node("Shape", "image")
    size = w.node("Concat", w.node("Slice", w.node("Shape", up), ints(0), ints(2)),
                  w.node("Slice", shape, ints(2), ints(4)), axis=0)  # fmt: skip
    same = w.node("Resize", up, "", "", size, mode="linear")
    column = w.node("ReduceMean", same, axes=[2], keepdims=0)
    steps = w.node("Transpose", column, perm=[0, 2, 1])
    result = w.node("Softmax", w.node("Add", w.node("MatMul", steps, w.normal(4, 6)), w.normal(6)))
    model = make_model(w.nodes, {"image": (1, 3, "height", "width")}, [result], w.weights, 14)
    return model, {
        "image": np.random.default_rng(8).standard_normal((1, 3, 12, 20)).astype(np.float32)
    }


KINDS: dict[str, Callable[[], tuple[onnx.ModelProto, dict[str, Array]]]] = {
    "detector": detector,
    "byte classifier": byte_classifier,
    "voice detector": voice_detector,
    "recogniser": recogniser,
}
"""All of them: a model, and inputs for it."""
