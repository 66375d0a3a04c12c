"""The importer and the references against onnx's reference and ONNX Runtime, version by version."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from ago.errors import ModelError, UnsupportedError
from ago.frontend import load
from tests.support.onnx_models import (
    integers,
    make_model,
    one_node,
    run_ago,
    run_onnxruntime,
    run_reference,
)

NAN, INF = np.nan, np.inf


def ints(*values):
    return np.array(values, np.int64)


def f32(*values):
    return np.array(values, np.float32)


X = integers((2, 6, 9, 7))
W = integers((4, 6, 3, 3), 1)
B = integers((4,), 2)
LINE = integers((2, 3, 11))
SPECIAL = f32(NAN, -INF, -9, -0.5, 0, 3, 9, INF)
NORM = [f32(1, -2), f32(3, 0.5), f32(0.25, -1), f32(1, 4)]
SAME = [(policy, stride) for policy in ("SAME_UPPER", "SAME_LOWER") for stride in (1, 2, 3)]

# Operator, opset, inputs, constants, attributes.
CASES = {
    "conv": ("Conv", 11, [X], [W, B], {}),
    "conv without bias": ("Conv", 22, [X], [W, None], {}),
    "conv everything": (
        "Conv",
        11,
        [X],
        [integers((9, 2, 3, 2), 3), integers((9,), 4)],
        {"group": 3, "strides": [2, 1], "dilations": [1, 3], "pads": [1, 0, 2, 4]},
    ),
    "conv depthwise": ("Conv", 11, [X], [integers((12, 1, 4, 4), 3)], {"group": 6}),
    "conv one axis": ("Conv", 11, [LINE], [integers((5, 3, 4))], {"pads": [2, 1]}),
    "conv three axes": (
        "Conv",
        11,
        [integers((1, 2, 4, 5, 3))],
        [integers((3, 2, 2, 3, 1))],
        {"strides": [1, 2, 1]},
    ),
    "conv same valid": ("Conv", 11, [X], [W], {"auto_pad": "VALID", "strides": [2, 2]}),
    "gemm": ("Gemm", 13, [integers((3, 4))], [integers((4, 5)), integers((5,))], {}),
    "gemm 7": ("Gemm", 7, [integers((3, 4))], [integers((4, 5)), integers((1, 5))], {}),
    "gemm 9": ("Gemm", 9, [integers((3, 4))], [integers((4, 5)), integers((3, 1))], {}),
    "gemm without addend": ("Gemm", 11, [integers((3, 4))], [integers((4, 5))], {"alpha": 0.5}),
    "gemm transposed": (
        "Gemm",
        13,
        [integers((4, 3))],
        [integers((5, 4)), integers((3, 5))],
        {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0},
    ),
    "matmul": ("MatMul", 13, [integers((3, 4)), integers((4, 5), 1)], [], {}),
    "norm 7": ("BatchNormalization", 7, [integers((3, 2, 5))], NORM, {}),
    "norm 9": ("BatchNormalization", 9, [integers((3, 2, 5, 5))], NORM, {"epsilon": 0.5}),
    "norm 14": ("BatchNormalization", 14, [integers((3, 2, 5))], NORM, {}),
    "norm of variables": ("BatchNormalization", 15, [integers((3, 2)), NORM[0]], NORM[1:], {}),
    "norm 15": ("BatchNormalization", 15, [integers((3, 2))], NORM, {"training_mode": 0}),
    "relu": ("Relu", 14, [SPECIAL], [], {}),
    "clip 6": ("Clip", 6, [SPECIAL[1:]], [], {"min": 0.0, "max": 6.0}),
    "clip 11": ("Clip", 11, [SPECIAL[1:]], [np.float32(0), np.float32(6)], {}),
    "clip 13 nan": ("Clip", 13, [SPECIAL], [np.float32(-1), np.float32(6)], {}),
    "clip without max": ("Clip", 13, [SPECIAL[:-1]], [np.float32(0)], {}),
    "clip without min": ("Clip", 13, [SPECIAL[3:]], [None, np.float32(6)], {}),
    "add": ("Add", 7, [X], [integers((6, 1, 1))], {}),
    "sub": ("Sub", 14, [integers((7,)), X], [], {}),
    "mul": ("Mul", 14, [X, integers((1, 7))], [], {}),
    "div": ("Div", 13, [X], [f32(2)], {}),
    "identity": ("Identity", 16, [X], [], {}),
    "clip bounds": (
        "Clip",
        13,
        [SPECIAL[1:], np.array(-1, np.float32), np.array(2, np.float32)],
        [],
        {},
    ),
    "clip bounds of one": ("Clip", 11, [X], [f32(-1.5), f32(2)], {}),
    "clip integers": ("Clip", 12, [ints(-9, 0, 5)], [np.int64(-2), np.int64(3)], {}),
    "relu integers": ("Relu", 14, [ints(-9, 0, 5).astype(np.int32)], [], {}),
    "max 8": ("Max", 8, [X, integers((1, 1, 7), 1), integers((6, 1, 1), 2)], [], {}),
    "min 13": ("Min", 13, [X], [f32(1)], {}),
    "sum 6": ("Sum", 8, [X, X, integers((7,), 3)], [], {}),
    "mean 13 of tensors": ("Mean", 13, [X, integers((7,), 3), f32(3)], [], {}),
    "sum of one": ("Sum", 13, [X], [], {}),
    "pow 7": ("Pow", 7, [X], [f32(2)], {}),
    "pow 12": ("Pow", 12, [X], [np.array([3], np.int64)], {}),
    "cast": ("Cast", 13, [X], [], {"to": TensorProto.INT32}),
    "cast from bool": ("Cast", 9, [X > 0], [], {"to": TensorProto.FLOAT}),
    "where": ("Where", 16, [X > 0, X, integers((7,), 1)], [], {}),
    "and": ("And", 7, [X > 0, X > 1], [], {}),
    "greater 9": ("Greater", 9, [X, integers((7,), 1)], [], {}),
    "equal 11": ("Equal", 11, [X, integers((7,), 1)], [], {}),
    "less integers": ("Less", 13, [ints(1, 2, 3), ints(2)], [], {}),
    "mod": ("Mod", 13, [ints(-7, 7, 5)], [ints(-3, -3, 3)], {}),
    "fmod": ("Mod", 13, [f32(-7.5, 7.5, 5)], [f32(2)], {"fmod": 1}),
    "shift": (
        "BitShift",
        11,
        [np.array([1, 200, 3], np.uint8)],
        [np.array([7, 2, 0], np.uint8)],
        {"direction": "RIGHT"},
    ),
    "leaky 6": ("LeakyRelu", 6, [X], [], {}),
    "leaky 16": ("LeakyRelu", 16, [X], [], {"alpha": 0.5}),
    "prelu 9": ("PRelu", 9, [X], [integers((6, 1, 1))], {}),
    "elu": ("Elu", 6, [X], [], {}),
    "hard sigmoid": ("HardSigmoid", 6, [X], [], {}),
    "hard swish": ("HardSwish", 14, [X], [], {}),
    "selu": ("Selu", 6, [X], [], {}),
    "thresholded": ("ThresholdedRelu", 10, [X], [], {"alpha": 2.0}),
    "shrink": ("Shrink", 9, [X], [], {"bias": 1.5}),
    "gelu tanh": ("Gelu", 20, [X], [], {"approximate": "tanh"}),
    "is inf": ("IsInf", 10, [SPECIAL], [], {"detect_negative": 0}),
    "is nan": ("IsNaN", 13, [SPECIAL], [], {}),
    "sign": ("Sign", 13, [X], [], {}),
    "round": ("Round", 11, [f32(-1.5, -0.5, 0.5, 1.5, 2.5)], [], {}),
    "quantise": ("QuantizeLinear", 10, [X], [np.float32(0.0625), np.uint8(128)], {}),
    "quantise without zero": ("QuantizeLinear", 13, [X], [np.float32(0.5)], {}),
    "quantise axis": (
        "QuantizeLinear",
        13,
        [X],
        [f32(*(0.5, 1, 2, 4, 0.25, 0.125)), np.arange(6, dtype=np.int8)],
        {"axis": -3},
    ),
    "dequantise": (
        "DequantizeLinear",
        13,
        [np.arange(24, dtype=np.uint8).reshape(2, 3, 4)],
        [f32(0.5, 2, 4), np.array([1, 2, 3], np.uint8)],
        {"axis": 1},
    ),
    "dequantise i32": ("DequantizeLinear", 10, [ints(-9, 4).astype(np.int32)], [f32(0.5)], {}),
    "dropout 7": ("Dropout", 7, [X], [], {"ratio": 0.9}),
    "dropout 12": ("Dropout", 12, [X], [np.float32(0.9), np.array(False)], {}),
    "dropout 22": ("Dropout", 22, [X], [], {}),
    "global pool": ("GlobalAveragePool", 1, [integers((2, 3, 4, 4))], [], {}),
    "mean 1": ("ReduceMean", 1, [integers((2, 4, 4))], [], {"axes": [1], "keepdims": 0}),
    "mean 13": ("ReduceMean", 13, [integers((2, 4, 4))], [], {"axes": [-1, 1]}),
    "mean all": ("ReduceMean", 13, [integers((2, 4, 4))], [], {"keepdims": 0}),
    "mean 18": ("ReduceMean", 18, [integers((2, 4, 4))], [ints(-1)], {"keepdims": 0}),
    "mean 18 all": ("ReduceMean", 18, [integers((2, 4, 4))], [], {}),
    "mean 18 nothing": ("ReduceMean", 18, [integers((2, 4))], [], {"noop_with_empty_axes": 1}),
    "reshape": ("Reshape", 13, [integers((2, 3, 4))], [ints(0, -1)], {}),
    "reshape 14": ("Reshape", 14, [integers((2, 3, 4))], [ints(4, -1)], {"allowzero": 1}),
    "flatten": ("Flatten", 9, [integers((2, 3, 4))], [], {}),
    "flatten axis 0": ("Flatten", 13, [integers((2, 3, 4))], [], {"axis": 0}),
    "flatten axis rank": ("Flatten", 13, [integers((2, 3, 4))], [], {"axis": 3}),
    "flatten negative": ("Flatten", 13, [integers((2, 3, 4))], [], {"axis": -1}),
    "squeeze 11": ("Squeeze", 11, [integers((1, 3, 1))], [], {"axes": [0]}),
    "squeeze 13": ("Squeeze", 13, [integers((1, 3, 1))], [ints(-1)], {}),
    "squeeze all": ("Squeeze", 13, [integers((1, 3, 1))], [], {}),
    "unsqueeze 11": ("Unsqueeze", 11, [integers((3,))], [], {"axes": [0, 2]}),
    "unsqueeze 13": ("Unsqueeze", 13, [integers((3,))], [ints(-1, 0)], {}),
    "pad 2": ("Pad", 2, [integers((2, 3))], [], {"pads": [1, 0, 0, 2], "value": 3.0}),
    "pad 11": ("Pad", 11, [integers((2, 3))], [ints(1, -1, 0, 2), np.float32(3)], {}),
    "pad 13 default": ("Pad", 13, [integers((2, 3))], [ints(1, 0, 0, 2)], {}),
    "pad 18 axes": ("Pad", 18, [integers((2, 3))], [ints(1, 2), np.float32(3), ints(-1)], {}),
    "concat": ("Concat", 13, [integers((2, 3)), integers((2, 1))], [], {"axis": -1}),
    "max pool": ("MaxPool", 12, [X], [], {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1]}),
    "max pool ceil": (
        "MaxPool",
        12,
        [X],
        [],
        {"kernel_shape": [2, 3], "strides": [2, 3], "ceil_mode": 1, "pads": [1, 1, 1, 1]},
    ),
    "max pool dilated": ("MaxPool", 11, [X], [], {"kernel_shape": [3, 2], "dilations": [2, 3]}),
    "max pool 1": ("MaxPool", 1, [LINE], [], {"kernel_shape": [4], "strides": [3]}),
    "average pool": ("AveragePool", 7, [X], [], {"kernel_shape": [2, 2], "pads": [1, 0, 0, 1]}),
    "average pool counted": (
        "AveragePool",
        11,
        [X],
        [],
        {"kernel_shape": [4, 2], "pads": [1, 1, 1, 1], "count_include_pad": 1},
    ),
}
for policy, stride in SAME:
    CASES[f"conv {policy} {stride}"] = (
        "Conv",
        11,
        [X],
        [integers((4, 6, 4, 2), 1)],
        {"auto_pad": policy, "strides": [stride, stride]},
    )
    CASES[f"max pool {policy} {stride}"] = (
        "MaxPool",
        12,
        [X],
        [],
        {"auto_pad": policy, "kernel_shape": [4, 3], "strides": [stride, stride]},
    )

# Where onnx's reference fails (negative pads, old batch normalisation, old dequantisation) or is
# wrong: MaxPool with
# asymmetric padding by ONNX's own formula for the extents, BatchNormalization 9 because it mixes in
# the batch's statistics as in training. ONNX Runtime is right in all of these.
REFERENCE_FAILS = {
    "dequantise",
    "dequantise i32",
    "max pool",
    "max pool SAME_LOWER 2",
    "max pool SAME_LOWER 3",
    "norm 7",
    "norm 9",
    "pad 11",
}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_onnx(name):
    op, opset, inputs, constants, attrs = CASES[name]
    model, feeds = one_node(op, inputs, constants, opset, **attrs)
    got = run_ago(model, feeds)
    oracles = [run_onnxruntime] if name in REFERENCE_FAILS else [run_onnxruntime, run_reference]
    for oracle in oracles:
        wanted = oracle(model, feeds)
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6, err_msg=oracle.__name__)


def test_conv_with_negative_pads_crops():
    """No oracle: ONNX Runtime refuses negative pads and onnx's reference goes wrong on them."""
    x, w = integers((1, 2, 6, 6)), integers((4, 2, 3, 3), 1)
    model, feeds = one_node("Conv", [x], [w], pads=[-1, 0, 0, -1])
    cropped, crop_feeds = one_node("Conv", [x[:, :, 1:, :-1]], [w])
    np.testing.assert_array_equal(run_ago(model, feeds), run_reference(cropped, crop_feeds))


@pytest.mark.parametrize("opset", [6, 11, 13])
def test_an_absent_bound_of_clip_is_the_largest_finite_number(opset):
    model, feeds = one_node("Clip", [f32(-INF, NAN, INF)], opset=opset)
    limit = np.finfo(np.float32).max
    np.testing.assert_array_equal(run_ago(model, feeds), [-limit, NAN, limit])


def test_clip_with_crossed_bounds():
    model, feeds = one_node("Clip", [f32(-9, 1, 9)], [np.float32(5), np.float32(2)])
    np.testing.assert_array_equal(run_ago(model, feeds), [2, 2, 2])


TRUE = np.array(True)
REFUSED = {
    "add 6": ("Add", 6, [X], [integers((7,))], {"broadcast": 1}, "opset 6; .* since opset 7"),
    "gemm 6": ("Gemm", 6, [integers((2, 2))] * 2, [integers((2,))], {}, "since opset 7"),
    "norm 6": ("BatchNormalization", 6, [integers((3, 2, 5))], NORM, {}, "since opset 7"),
    "norm 7": ("BatchNormalization", 7, [integers((3, 2))], NORM, {"spatial": 0}, "spatial=0"),
    "dropout 6": ("Dropout", 6, [X], [], {}, "since opset 7"),
    "dropout": ("Dropout", 13, [X], [np.float32(0.5), TRUE], {}, "training_mode is true"),
    "clip 6 nan": ("Clip", 6, [X], [], {"max": NAN}, "NaN is no bound"),
    "pad mode": ("Pad", 13, [X], [ints(0, 0, 1, 1) * 2], {"mode": "mirror"}, "mode='mirror'"),
    "conv four axes": ("Conv", 11, [np.ones((1,) * 6, np.float32)] * 2, [], {}, "4 spatial axes"),
    "reshape dynamic": ("Reshape", 13, [X, f32(1)], [], {}, "shape 'x1' is not constant"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_with_the_attribute_at_fault(name):
    op, opset, inputs, constants, attrs, message = REFUSED[name]
    model, _ = one_node(op, inputs, constants, opset, **attrs)
    with pytest.raises(UnsupportedError, match=message) as error:
        load(model)
    assert error.value.problems[0].startswith(f"node 'node' ({op}): ")


def test_training_mode_is_refused():
    node = helper.make_node(
        "BatchNormalization", ["x", "s", "b", "m", "v"], ["y", "m2", "v2"], training_mode=1
    )
    weights = dict(zip("sbmv", NORM, strict=True))
    model = make_model([node], {"x": (3, 2, 5)}, ["y"], weights, opset=15)
    with pytest.raises(UnsupportedError, match="training_mode=1"):
        load(model)


BROKEN = {
    "conv kernel": ("Conv", 11, [X], [W], {"kernel_shape": [5, 5]}, "differs from the weight's"),
    "conv strides": ("Conv", 11, [X], [W], {"strides": [1]}, "do not fit 2 spatial axes"),
    "conv auto_pad": ("Conv", 11, [X], [W], {"auto_pad": "SOME"}, "auto_pad 'SOME' is unknown"),
    "pool kernel": ("MaxPool", 12, [X], [], {}, "'kernel_shape' is missing"),
    "mean axis": ("ReduceMean", 13, [X], [], {"axes": [4]}, "axis 4 is out of range"),
    "reshape": ("Reshape", 13, [X], [ints(5, -1)], {}, "cannot take the shape"),
    "reshape copies": ("Reshape", 13, [f32(1, 2)], [ints(2, 0)], {}, "copies axis 1"),
    "squeeze": ("Squeeze", 13, [X], [ints(0)], {}, "not all of extent 1"),
    "concat": ("Concat", 13, [X, X], [], {}, "'axis' is missing"),
    "clip": ("Clip", 13, [X], [f32(1, 2)], {}, "must be one number"),
    "attribute kind": ("Concat", 13, [X, X], [], {"axis": 1.5}, "must be an integer, not 1.5"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_nodes_are_model_errors(name):
    op, opset, inputs, constants, attrs, message = BROKEN[name]
    model, _ = one_node(op, inputs, constants, opset, **attrs)
    with pytest.raises(ModelError, match=message):
        load(model)
