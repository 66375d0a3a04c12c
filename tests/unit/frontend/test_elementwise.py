"""Element-wise operators of ONNX whose meaning takes several nodes, or a decision."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from ago.errors import UnsupportedError
from ago.frontend import load
from ago.ir.evaluate import evaluate
from ago.ir.ops import OPERATORS
from tests.support.onnx_models import make_model, one_node, run_ago

NAN, INF = np.nan, np.inf


def f32(*values):
    return np.array(values, np.float32)


def result(op, inputs, constants=(), opset=21, **attrs):
    return run_ago(*one_node(op, inputs, constants, opset, **attrs))


def test_a_clip_with_a_bound_of_nan_is_nan():
    bounds = [np.array(NAN, np.float32), np.array(2, np.float32)]
    np.testing.assert_array_equal(result("Clip", [f32(-1, 3)], bounds), [NAN, NAN])


def test_a_clip_without_a_bound_makes_infinity_finite():
    low = np.array(0, np.float32)
    expected = [0, np.finfo(np.float32).max]
    np.testing.assert_array_equal(result("Clip", [f32(-1, INF), low]), expected)
    np.testing.assert_array_equal(result("Clip", [f32(-1, INF)], [low]), expected)


def test_a_clip_of_integers_keeps_large_ones_exact():
    x = np.array([2**62 + 1, -5], np.int64)
    got = result("Clip", [x], [np.array(0, np.int64)])
    np.testing.assert_array_equal(got, [2**62 + 1, 0])


@pytest.mark.parametrize("op", ["Max", "Min", "Sum", "Mean"])
def test_operators_of_any_number_of_operands(op):
    x = [f32(1, -2, NAN), f32(3, 0, 1), f32(-1, 5, 2), f32(7)]
    stack = np.stack(np.broadcast_arrays(*x)).astype(np.float64)
    wanted = {"Max": np.max, "Min": np.min, "Sum": np.sum, "Mean": np.mean}[op](stack, 0)
    np.testing.assert_allclose(result(op, x), wanted)
    np.testing.assert_array_equal(result(op, x[:1]), x[0])


def test_the_mask_of_dropout_is_true_everywhere():
    node = helper.make_node("Dropout", ["x"], ["y", "mask"])
    model = make_model([node], {"x": (2,)}, ["y", "mask"], dtypes={"mask": TensorProto.BOOL})
    outputs = evaluate(load(model), {"x": f32(1, 2)})
    np.testing.assert_array_equal(outputs["y"], [1, 2])
    np.testing.assert_array_equal(outputs["mask"], [True, True])


def test_quantisation_rounds_half_to_even_and_saturates():
    scale, zero = np.array(2, np.float32), np.array(10, np.uint8)
    got = result("QuantizeLinear", [f32(1, 3, 5, -100, 1e9)], [scale, zero])
    np.testing.assert_array_equal(got, [10, 12, 12, 0, 255])
    assert got.dtype == np.uint8


def test_blocks_share_a_scale():
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    scale = f32(1, 2, 1, 4).reshape(2, 2)
    got = result("QuantizeLinear", [x], [scale], axis=1, block_size=2)
    np.testing.assert_array_equal(got, [[0, 1, 1, 2], [4, 5, 2, 2]])
    back = result("DequantizeLinear", [got], [scale], axis=1, block_size=2)
    np.testing.assert_array_equal(back, [[0, 1, 2, 4], [4, 5, 8, 8]])
    with pytest.raises(UnsupportedError, match="only whole ones"):
        result("QuantizeLinear", [x], [scale], axis=1, block_size=3)


@pytest.mark.parametrize(
    ("op", "dtypes", "attrs", "arrays", "wanted"),
    [
        ("ThresholdedRelu", "f", {"alpha": 1.0}, [[NAN, 2.0, 1.0]], [0, 2, 0]),
        ("Shrink", "f", {"lambd": 0.5, "bias": 0.0}, [[NAN, 0.5, -1.0]], [0, 0, -1]),
        ("HardSwish", "f", {}, [[-INF, -4.0, INF]], [NAN, 0, INF]),
        ("Max", "ff", {}, [[NAN, 1.0], [1.0, NAN]], [NAN, NAN]),
        ("Div", "bb", {}, [[-7, 7, 5, -128], [2, -2, 0, -1]], [-3, -3, 0, -128]),
        ("Mod", "bb", {"fmod": 0}, [[-7, 7, 5], [3, -3, 0]], [2, -2, 5]),
        ("Mod", "ff", {"fmod": 0}, [[-7.5, 7.5], [2.0, -2.0]], [0.5, -0.5]),
        ("Pow", "bb", {}, [[2, -1, 3], [-1, -3, 5]], [0, -1, -13]),
        ("Cast", "f", {"to": "i8"}, [[NAN, 1e9, -1e9, -1.9]], [0, 127, -128, -1]),
        ("Cast", "h", {"to": "i8"}, [[300, -129]], [44, 127]),
        ("Cast", "f", {"to": "bool"}, [[NAN, 0.0, -0.0, 0.1]], [True, False, False, True]),
        ("BitShift", "BB", {"direction": "LEFT"}, [[3, 3], [1, 8]], [6, 0]),
        ("Sign", "f", {}, [[NAN, -2.0, 0.0]], [NAN, -1, 0]),
    ],
)
def test_choices(op, dtypes, attrs, arrays, wanted):
    given = [
        np.array(a, np.float64 if d == "f" else d) for a, d in zip(arrays, dtypes, strict=True)
    ]
    (got,) = OPERATORS[op].reference(given, attrs)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("exponent", [f32(2), np.array(3, np.int64), f32(2, 3), f32(0.5)])
def test_powers(exponent):
    x = f32(-2, 3)
    got = result("Pow", [x], [exponent])
    with np.errstate(invalid="ignore"):
        wanted = np.power(x.astype(np.float64), exponent.astype(np.float64))
    np.testing.assert_array_equal(got, wanted)
