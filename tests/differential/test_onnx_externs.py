"""Operators that become externs, imported from ONNX and compared with ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from ago.errors import ModelError, UnsupportedError
from ago.frontend import load
from tests.support.node_cases import normal
from tests.support.onnx_models import make_model, one_node, run_ago, run_onnxruntime

INT64 = onnx.TensorProto.INT64


def ints(*values):
    return np.array(values, np.int64)


def lengths(*values):
    return np.array(values, np.int32)


X = normal(0, 5, 3, 4)
BOXES = np.random.default_rng(1).random((2, 9, 4)).astype(np.float32)
SCORES = np.random.default_rng(2).random((2, 3, 9)).astype(np.float32)
IMAGE = normal(3, 2, 3, 7, 8)
ROIS = np.array([[0, 0, 6, 6], [1, 2, 3.5, 7], [2, 2, 1, 1]], np.float32)


def cell(gates: int, directions: int = 1, hidden: int = 3, peepholes: bool = False):
    """Weights of a recurrent cell on `X`, and its bias."""
    width = gates * hidden
    return [
        0.5 * normal(1, directions, width, 4),
        0.5 * normal(2, directions, width, hidden),
        normal(3, directions, 2 * width),
    ]


STATE = normal(4, 1, 3, 3)

# Operator, opset, inputs, constants, attributes.
CASES = {
    "rnn": ("RNN", 14, [X], cell(1), {"hidden_size": 3}),
    "rnn activations": (
        "RNN",
        14,
        [X],
        cell(1, 2),
        {
            "hidden_size": 3,
            "direction": "bidirectional",
            "activations": ["Relu", "HardSigmoid"],
            "activation_alpha": [0.3],
            "activation_beta": [0.4],
        },
    ),
    "gru": ("GRU", 14, [X], cell(3), {"hidden_size": 3, "clip": 0.7}),
    "gru linear before reset": (
        "GRU",
        7,
        [X],
        [*cell(3), lengths(5, 2, 4), STATE],
        {"hidden_size": 3, "linear_before_reset": 1, "direction": "reverse"},
    ),
    "lstm": ("LSTM", 22, [X], [*cell(4), lengths(5, 1, 3)], {"hidden_size": 3}),
    "lstm peepholes": (
        "LSTM",
        7,
        [X],
        [*cell(4), None, STATE, STATE, normal(5, 1, 9)],
        {"hidden_size": 3},
    ),
    "lstm coupled": (
        "LSTM",
        14,
        [X],
        cell(4),
        {"hidden_size": 3, "input_forget": 1, "activations": ["Sigmoid", "Softsign", "Elu"]},
    ),
    "top k 1": ("TopK", 1, [X], [], {"k": 2, "axis": 1}),
    "top k 10": ("TopK", 10, [X], [ints(3)], {}),
    "top k least": ("TopK", 11, [X], [ints(4)], {"largest": 0, "axis": 0}),
    "argmax": ("ArgMax", 13, [X.round()], [], {"axis": -1, "select_last_index": 1}),
    "argmin": ("ArgMin", 11, [X.round()], [], {"keepdims": 0}),
    "gather": ("Gather", 13, [X, ints(4, -5, 0)], [], {"axis": 0}),
    "gather 1": ("Gather", 1, [X, ints(2, 0)], [], {"axis": 1}),
    "gather elements": ("GatherElements", 13, [X, ints(0, -1).reshape(1, 1, 2)], [], {"axis": 1}),
    "gather nd": ("GatherND", 12, [X, ints(0, -1, 2, 1).reshape(2, 2)], [], {}),
    "scatter 9": (
        "Scatter",
        9,
        [X, ints(3, 0).reshape(1, 1, 2), normal(6, 1, 1, 2)],
        [],
        {"axis": 2},
    ),
    "scatter elements": (
        "ScatterElements",
        18,
        [X, ints(3, -1, 3).reshape(3, 1, 1), normal(6, 3, 1, 1)],
        [],
        {"axis": 0, "reduction": "max"},
    ),
    "scatter nd": (
        "ScatterND",
        16,
        [X, ints(4, 4, -5).reshape(3, 1), normal(6, 3, 3, 4)],
        [],
        {"reduction": "add"},
    ),
    "one hot": ("OneHot", 11, [ints(2, -1, 7)], [ints(4), np.float32([3, 9])], {"axis": 0}),
    "cumsum": ("CumSum", 14, [X], [np.int32(-1)], {"exclusive": 1, "reverse": 1}),
    "reverse sequence": ("ReverseSequence", 10, [X, ints(5, 2, 1)], [], {}),
    "trilu": ("Trilu", 14, [X, np.array(-1)], [], {"upper": 0}),
    "grid sample 16": (
        "GridSample",
        16,
        [IMAGE, normal(7, 2, 3, 3, 2)],
        [],
        {"mode": "bicubic", "padding_mode": "reflection"},
    ),
    "affine grid of one": ("AffineGrid", 20, [normal(7, 1, 2, 3)], [ints(1, 3, 4, 5)], {}),
    "roi align 10": (
        "RoiAlign",
        10,
        [IMAGE, ROIS, ints(1, 0, 1)],
        [],
        {"output_height": 2, "output_width": 3, "sampling_ratio": 2, "spatial_scale": 0.5},
    ),
    "roi align 16": ("RoiAlign", 16, [IMAGE, ROIS, ints(1, 0, 1)], [], {"output_width": 2}),
    "det": ("Det", 11, [normal(8, 2, 4, 4)], [], {}),
    "dft": ("DFT", 17, [normal(9, 3, 10, 4, 1)], [ints(12)[0]], {"axis": 1, "onesided": 1}),
    "dft inverse": ("DFT", 20, [normal(9, 3, 7, 2)], [None, np.int64(1)], {"inverse": 1}),
    "stft": ("STFT", 17, [normal(9, 2, 40, 1)], [np.int64(8), normal(1, 16)], {}),
}


@pytest.mark.parametrize("name", CASES)
def test_an_operator_means_what_onnx_runtime_computes(name):
    op, opset, inputs, constants, attrs = CASES[name]
    outputs = ("y", "i") if op == "TopK" else ("y",)
    model, feeds = one_node(op, inputs, constants, opset, outputs, **attrs)
    expected = run_onnxruntime(model, feeds)
    found = run_ago(model, feeds)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def test_clipping_bounds_what_every_activation_of_an_lstm_is_applied_to():
    """ONNX Runtime leaves out the last one; ONNX's text says all."""
    clip = 0.3
    w, r, b = (array[0].astype(np.float64) for array in cell(4))
    model, feeds = one_node("LSTM", [X], cell(4), 14, hidden_size=3, clip=clip)

    def bounded(function, values):
        return function(np.clip(values, -clip, clip))

    def sigmoid(values):
        return 1 / (1 + np.exp(-values))

    h = c = np.zeros((3, 3))
    for x, found in zip(X, run_ago(model, feeds)[:, 0], strict=True):
        i, o, f, new = np.split(x @ w.T + h @ r.T + b[:12] + b[12:], 4, axis=1)
        c = bounded(sigmoid, f) * c + bounded(sigmoid, i) * bounded(np.tanh, new)
        h = bounded(sigmoid, o) * bounded(np.tanh, c)
        np.testing.assert_allclose(found, h, rtol=1e-6, atol=1e-7)


def test_indices_of_max_unpool_count_in_the_pooled_map_whatever_the_output_is():
    """As ONNX's own test has it; ONNX Runtime counts in the output."""
    x, places = normal(1, 1, 1, 2, 2), ints(5, 7, 13, 15).reshape(1, 1, 2, 2)
    shape = {"kernel_shape": [2, 2], "strides": [2, 2]}
    model, feeds = one_node("MaxUnpool", [x, places], [ints(1, 1, 5, 5)], 11, **shape)
    expected = np.zeros((1, 1, 5, 5))
    expected[0, 0, [1, 1, 3, 3], [1, 3, 1, 3]] = x.ravel()
    np.testing.assert_array_equal(run_ago(model, feeds), expected)


def test_all_outputs_of_a_recurrent_node_are_made_in_both_layouts():
    weights = dict(zip(("w", "r", "b"), cell(4, 2), strict=True))
    for layout in (0, 1):
        x = np.swapaxes(X, 0, 1) if layout else X
        node = helper.make_node(
            "LSTM",
            ["x", "w", "r", "b"],
            ["y", "", "c"],
            hidden_size=3,
            direction="bidirectional",
            layout=layout,
        )
        model = make_model([node], {"x": x.shape}, ["y", "c"], weights, opset=14)
        node.output[1] = "h"  # onnx's own code does not take an output that is left out
        whole = make_model([node], {"x": x.shape}, ["y", "h", "c"], weights, opset=14)
        graph = load(model)
        assert graph.outputs == ("y", "c")
        expected = onnx.reference.ReferenceEvaluator(whole).run(None, {"x": x})
        assert graph.types["y"].shape == expected[0].shape
        assert graph.types["c"].shape == expected[2].shape
        np.testing.assert_allclose(run_ago(model, {"x": x}), expected[0], rtol=1e-4, atol=1e-5)


def suppression(shape: list[int | str]) -> onnx.ModelProto:
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores", "most"], ["y"], name="nms")
    info = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, array.shape)
        for name, array in (("boxes", BOXES), ("scores", SCORES))
    ]
    result = helper.make_tensor_value_info("y", INT64, shape)
    most = onnx.numpy_helper.from_array(ints(4), "most")
    graph = helper.make_graph([node], "net", info, [result], [most])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)


def test_suppression_fills_the_rows_that_the_file_states():
    feeds = {"boxes": BOXES, "scores": SCORES}
    expected = run_onnxruntime(suppression(["n", 3]), feeds)
    found = run_ago(suppression([len(expected) + 2, 3]), feeds)
    np.testing.assert_array_equal(found[:-2], expected)
    np.testing.assert_array_equal(found[-2:], -1)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (suppression(["n", 3]), "the number of selected boxes depends on data"),
        (one_node("Compress", [X, X[0, 0] > 0], axis=2)[0], "the shape depends on data"),
        (
            one_node("RNN", [X], cell(1), 14, hidden_size=3, activations=["Swish"])[0],
            "activation 'Swish' is unknown",
        ),
        (
            one_node("RNN", [X], cell(1), 14, hidden_size=3, activations=["ScaledTanh"])[0],
            "ScaledTanh without activation_alpha",
        ),
        (
            one_node("TopK", [X, ints(2)], opset=11, outputs=("y", "i"))[0],
            "K 'x1' is not constant",
        ),
    ],
)
def test_what_depends_on_data_is_refused_with_the_reason(model, reason):
    with pytest.raises(UnsupportedError, match=reason):
        load(model)


def test_a_wrong_number_of_activations_is_an_error_of_the_model():
    model, _ = one_node("LSTM", [X], cell(4), 14, hidden_size=3, activations=["Tanh"])
    with pytest.raises(ModelError, match="'activations' must list 3"):
        load(model)


@pytest.mark.parametrize(("opset", "mode"), [(16, "cubic"), (20, "bicubic")])
def test_names_of_modes_belong_to_an_opset(opset, mode):
    model, _ = one_node("GridSample", [IMAGE, normal(7, 2, 3, 3, 2)], [], opset, ("y",), mode=mode)
    with pytest.raises(UnsupportedError, match=f"mode='{mode}'; expected one of"):
        load(model)
