"""Small models of one node whose meaning engines have got wrong, with the results they must have.

Read `SMALL_INPUTS` first. A result is that of onnx's reference implementation and, where the two
agree, of ONNX Runtime; where they do not, the case says whose follows the operator's definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

from tests.support.onnx_models import one_node

Oracle = Literal["both", "reference", "onnxruntime"]
Array = np.ndarray

_RNG = np.random.default_rng(0)
_SPECIAL = np.array([-4, -3, -1, -0.5, 0, 0.5, 1, 3, 4, np.nan, np.inf, -np.inf], np.float32)
_END = np.iinfo(np.int64).max


@dataclass(frozen=True)
class SmallInput:
    """One node and its inputs.

    Attributes:
        name: What is unusual about it.
        op: ONNX's operator.
        inputs: Arrays given at run time; None where an optional input is absent.
        constants: Arrays that are weights, behind them.
        attrs: The node's attributes.
        opset: Its opset version.
        outputs: Number of outputs.
        oracle: Whose result is right: both agree, or only one follows the definition.
        result: The result, where neither computes it.
    """

    name: str
    op: str
    inputs: Sequence[Array | None]
    constants: Sequence[Array | None] = ()
    attrs: dict[str, object] = field(default_factory=dict)
    opset: int = 21
    outputs: int = 1
    oracle: Oracle = "both"
    result: Array | None = None

    def model(self) -> tuple[onnx.ModelProto, dict[str, Array]]:
        """The model, and its inputs by name."""
        names = [f"y{k}" for k in range(self.outputs)]
        model, feeds = one_node(
            self.op, self.inputs, self.constants, self.opset, names, **self.attrs
        )
        del model.graph.output[:]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        return model, feeds

    def results(self) -> list[Array]:
        """The outputs that the operator's definition asks for."""
        if self.result is not None:
            return [self.result]
        model, feeds = self.model()
        if self.oracle == "onnxruntime":
            return _onnxruntime(model, feeds)
        found = ReferenceEvaluator(model).run(None, feeds)
        if self.oracle == "both":
            for ours, theirs in zip(found, _onnxruntime(model, feeds), strict=True):
                scale = np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0)
                np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6 * scale)
        return found


def _onnxruntime(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds)


def normal(*shape: int) -> Array:
    """Standard normal float32 numbers."""
    return _RNG.standard_normal(shape).astype(np.float32)


def f32(*values: float) -> Array:
    """A float32 vector."""
    return np.array(values, np.float32)


def ints(*values: int) -> Array:
    """An int64 vector."""
    return np.array(values, np.int64)


def _cropped_conv() -> SmallInput:
    """Negative pads crop; neither oracle takes them, so the same is computed from a crop."""
    x, w = normal(1, 2, 6, 6), normal(4, 2, 3, 3)
    model, feeds = one_node("Conv", [x[:, :, 1:, :-1]], [w])
    return SmallInput(
        "Conv: negative pads",
        "Conv",
        [x],
        [w],
        {"pads": [-1, 0, 0, -1]},
        result=_onnxruntime(model, feeds)[0],
    )


def _windows() -> list[SmallInput]:
    same = {"auto_pad": "SAME_LOWER", "strides": [2, 2]}
    dilated = {"dilations": [2, 3], "group": 3, "pads": [2, 3, 2, 3]}
    strided = {"pads": [1, 1, 1, 1], "strides": [2, 2]}
    transposed = {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}
    shaped = {"strides": [3, 2], "output_shape": [10, 8]}
    dropped = {"kernel_shape": [3, 3], "strides": [3, 3], "pads": [1, 1, 1, 1], "ceil_mode": 1}
    single = {"kernel_shape": [1, 1], "strides": [2, 2], "ceil_mode": 1}
    counted = {"kernel_shape": [2], "strides": [2], "ceil_mode": 1, "count_include_pad": 1}
    uneven = {"kernel_shape": [2, 2], "strides": [1, 1], "pads": [0, 0, 1, 1]}
    conv, pool = "Conv", "MaxPool"
    return [
        SmallInput(
            "even kernel, SAME_LOWER", conv, [normal(1, 3, 7, 8)], [normal(6, 3, 4, 4)], same
        ),
        _cropped_conv(),
        SmallInput(
            "grouped and dilated",
            conv,
            [normal(2, 6, 10, 9)],
            [normal(9, 2, 3, 3), normal(9)],
            dilated,
        ),
        SmallInput(
            "depthwise 4x4", conv, [normal(1, 17, 26, 26)], [normal(17, 1, 4, 4)], {"group": 17}
        ),
        SmallInput(
            "stride 2 on an even map",
            conv,
            [normal(1, 3, 18, 18)],
            [normal(4, 3, 3, 3), normal(4)],
            strided,
        ),
        SmallInput(
            "one row", conv, [normal(1, 3, 1, 33)], [normal(5, 3, 1, 7)], {"pads": [0, 3, 0, 3]}
        ),
        SmallInput(
            "output padding",
            "ConvTranspose",
            [normal(1, 3, 7, 7)],
            [normal(3, 6, 3, 3), normal(6)],
            transposed,
        ),
        SmallInput(
            "output shape", "ConvTranspose", [normal(1, 1, 3, 3)], [normal(1, 2, 3, 3)], shaped
        ),
        SmallInput("a window in the padding is dropped", pool, [normal(1, 2, 5, 5)], (), dropped),
        SmallInput("1x1, stride 2, ceil", pool, [normal(1, 3, 32, 32)], (), single),
        SmallInput(
            "counts no more than the padding",
            "AveragePool",
            [np.arange(1, 6, dtype=np.float32).reshape(1, 1, 5)],
            (),
            counted,
        ),
        SmallInput("uneven pads", "AveragePool", [np.ones((1, 1, 2, 2), np.float32)], (), uneven),
    ]


def _resizes() -> list[SmallInput]:
    x = np.arange(26, dtype=np.float32).reshape(1, 1, 1, 26)
    cases = [
        SmallInput(
            f"{coordinates}, {rounding}",
            "Resize",
            [x],
            [None, None, ints(1, 1, 1, 64)],
            {
                "mode": "nearest",
                "coordinate_transformation_mode": coordinates,
                "nearest_mode": rounding,
            },
            # ONNX Runtime rounds a coordinate that is whole down to the one before
            oracle="reference" if coordinates == "asymmetric" else "both",
        )
        for coordinates, rounding in [
            ("half_pixel", "round_prefer_floor"),
            ("asymmetric", "floor"),
            ("align_corners", "round_prefer_ceil"),
            ("pytorch_half_pixel", "ceil"),
        ]
    ]
    linear = {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}
    to_one = [None, None, ints(1, 1, 1, 1)]
    return [
        *cases,
        SmallInput("linear to one pixel", "Resize", [normal(1, 1, 4, 4)], to_one, linear),
    ]


def _products() -> list[SmallInput]:
    x, w = normal(3, 4), normal(5, 3)
    attrs = {"alpha": 0.5, "beta": 2.0, "transA": 1, "transB": 1}
    addends = {
        "[N]": normal(5),
        "[M,1]": normal(4, 1),
        "[1,N]": normal(1, 5),
        "[]": np.float32(0.5),
    }
    gemms = [
        SmallInput(f"addend {shape}", "Gemm", [x], [w, np.asarray(c)], attrs)
        for shape, c in addends.items()
    ]
    return [
        *gemms,
        SmallInput("no addend", "Gemm", [x], [w], attrs),
        SmallInput("vector by matrix", "MatMul", [normal(3)], [normal(3, 1)]),
        SmallInput("vector by vector", "MatMul", [normal(3)], [normal(3)]),
        SmallInput("batches broadcast", "MatMul", [normal(2, 1, 4, 3)], [normal(1, 5, 3, 2)]),
    ]


def _reductions() -> list[SmallInput]:
    noop = {"noop_with_empty_axes": 1, "keepdims": 0}
    x = normal(2, 3, 4)
    return [
        SmallInput("negative axes", "ReduceMean", [x], [ints(-1, 1)], {"keepdims": 0}),
        SmallInput("no axes: only squares", "ReduceSumSquare", [normal(3, 2)], [ints()], noop, 18),
        SmallInput("all axes", "ReduceMean", [normal(2, 3)], (), {"keepdims": 1}),
        # before opset 13 the axes from `axis` on are one; onnx's reference knows only the newer
        SmallInput("opset 11", "Softmax", [x], (), {"axis": 1}, 11, oracle="onnxruntime"),
        SmallInput("opset 13", "Softmax", [x], (), {"axis": 1}, 13),
        SmallInput("large scores", "Softmax", [f32(1000, 1000, -1000)[None]], (), {"axis": -1}),
        SmallInput(
            "no bias", "LayerNormalization", [normal(2, 3, 4, 5)], [normal(3, 4, 5)], {"axis": 1}
        ),
        SmallInput(
            "one spatial axis", "InstanceNormalization", [normal(2, 5, 33)], [normal(5), normal(5)]
        ),
    ]


def _slices() -> list[SmallInput]:
    ten, twenty = np.arange(10, dtype=np.float32), np.arange(20, dtype=np.float32)
    zero, back = ints(0), ints(-1)
    return [
        SmallInput("backwards", "Slice", [ten], [ints(9), zero, zero, back]),
        SmallInput("backwards by three", "Slice", [twenty], [ints(19), zero, zero, ints(-3)]),
        # an end behind the last element is clamped to it, so that nothing is left
        SmallInput(
            "backwards to the end",
            "Slice",
            [ten],
            [back, ints(_END), zero, back],
            oracle="reference",
        ),
        SmallInput("nothing", "Slice", [ten], [ints(1), ints(1), zero]),
        SmallInput(
            "a smaller last part", "Split", [ten], (), {"num_outputs": 3, "axis": 0}, outputs=3
        ),
        SmallInput("an empty part", "Split", [ten[:5]], [ints(1, 0, 4)], {"axis": 0}, outputs=3),
    ]


def _pads() -> list[SmallInput]:
    x = np.array([[1.0, 1.2], [2.3, 3.4], [4.5, 5.7]], np.float32)
    nine = np.array(9, np.float32)
    return [
        # ONNX Runtime refuses to reflect more than once
        SmallInput(
            "reflects twice",
            "Pad",
            [x],
            [ints(0, 2, 0, 0)],
            {"mode": "reflect"},
            oracle="reference",
        ),
        SmallInput("wraps", "Pad", [x], [ints(2, 1, 1, 1)], {"mode": "wrap"}),
        SmallInput("absent value", "Pad", [x], [ints(0, 1, 0, 0), None], {"mode": "constant"}),
        SmallInput("negative axis", "Pad", [x], [ints(1, 1), nine, ints(-1)], {"mode": "constant"}),
    ]


def _movements() -> list[SmallInput]:
    table = np.arange(12, dtype=np.float32).reshape(3, 4)
    crd = {"blocksize": 2, "mode": "CRD"}
    return [
        SmallInput("negative index", "Gather", [table], [ints(0, -1)], {"axis": 0}),
        SmallInput("scalar index", "Gather", [table], [np.array(-1, np.int64)], {"axis": 1}),
        SmallInput(
            "five axes", "Transpose", [normal(1, 2, 29, 4, 4)], (), {"perm": [0, 2, 1, 3, 4]}
        ),
        SmallInput(
            "negative axis", "Concat", [normal(1, 6, 1, 8), normal(1, 6, 1, 5)], (), {"axis": -1}
        ),
        SmallInput(
            "odd channels", "Concat", [normal(1, 6, 1, 8), normal(1, 3, 1, 8)], (), {"axis": 1}
        ),
        SmallInput("copies and infers", "Reshape", [normal(2, 3, 4)], [ints(0, -1)]),
        SmallInput("a scalar to a vector", "Reshape", [np.array(3, np.float32)], [ints(1)]),
        SmallInput("columns first", "DepthToSpace", [normal(1, 8, 2, 3)], (), crd),
    ]


def _elementwise() -> list[SmallInput]:
    slopes = f32(0.1, 0.2, 0.3)
    six, five, two = (np.array(value, np.float32) for value in (6, 5, 2))
    halves = f32(0.5, 1.5, 2.5, -0.5, -1.5, 300, -300)
    one, zero = np.array(1, np.float32), np.array(0, np.int8)
    return [
        SmallInput("no lower bound", "Clip", [f32(-9, 1, 9, np.nan)], [None, six]),
        SmallInput("bounds in the wrong order", "Clip", [f32(-9, 1, 9)], [five, two]),
        SmallInput("slopes along the last axis", "PRelu", [normal(1, 3, 2, 3)], [slopes]),
        SmallInput("slopes of channels", "PRelu", [normal(1, 3, 2, 5)], [slopes.reshape(3, 1, 1)]),
        SmallInput("default slope", "HardSigmoid", [_SPECIAL]),
        SmallInput("special values", "HardSwish", [_SPECIAL]),
        SmallInput("special values", "Gelu", [_SPECIAL], opset=20),
        SmallInput("special values", "Relu", [_SPECIAL]),
        SmallInput("NaN wins", "Max", [f32(np.nan, 1)], [f32(10, 10)]),
        SmallInput("halves to even", "QuantizeLinear", [halves], [one, zero]),
    ]


SMALL_INPUTS = [
    *_windows(),
    *_resizes(),
    *_products(),
    *_reductions(),
    *_slices(),
    *_pads(),
    *_movements(),
    *_elementwise(),
]
"""All of them."""
