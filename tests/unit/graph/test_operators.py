"""Each canonical operator: its type rule's refusals and the corners of its reference."""

import math
import re

import numpy as np
import pytest

from ago.errors import ModelError
from ago.ir.ops import OPERATORS
from ago.ir.tensor import TensorType

NAN, INF = math.nan, math.inf


def types(*shapes, dtype="f32"):
    return [None if shape is None else TensorType(shape, dtype) for shape in shapes]


def run(op, *inputs, **attrs):
    arrays = [None if x is None else np.asarray(x, np.float64) for x in inputs]
    return OPERATORS[op].reference(arrays, attrs)[0]


CONV = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0), "group": 1}
POOL = {
    "kernel_shape": (2, 2),
    "strides": (1, 1),
    "dilations": (1, 1),
    "pads": (0, 0, 0, 0),
    "ceil_mode": 0,
}
GEMM = {"trans_a": 0, "trans_b": 0, "alpha": 1.0, "beta": 1.0}

REFUSED = [
    ("Rearrange", [(4, 3)], {"split": (2, 3), "perm": (0, 1), "shape": (2, 3)}, "cannot take"),
    ("Rearrange", [(4, 3)], {"split": (4, 3), "perm": (0, 0), "shape": (4, 3)}, "does not reorder"),
    ("Rearrange", [(4, 3)], {"split": (3, 4), "perm": (1, 0), "shape": (4, 3)}, "do not make up"),
    ("Interleave", [(2, 4), (2, 5)], {"axis": 1, "start": 0, "count": 4}, "unlike shapes"),
    ("Interleave", [(2, 4)], {"axis": 2, "start": 0, "count": 4}, "not an axis"),
    ("Interleave", [(2, 4)], {"axis": 1, "start": 1, "count": 4}, "are not all inside"),
    ("Conv", [(1, 3, 8, 8)], CONV, "takes 2 to 3 inputs"),
    ("Conv", [(1, 3, 8, 8), (4, 2, 3, 3)], CONV, "does not fit the input's 3 channels"),
    ("Conv", [(1, 4, 8, 8), (3, 2, 3, 3)], {**CONV, "group": 2}, "cannot be split into 2"),
    ("Conv", [(1, 3, 8, 8), (4, 3, 3, 3), (3,)], CONV, r"bias .* must have the shape \(4,\)"),
    ("Conv", [(1, 3, 2, 8), (4, 3, 3, 3)], CONV, "does not fit spatial axis 0 of 2"),
    ("Conv", [(1, 3, 8, 8), (4, 3, 3, 3)], {**CONV, "strides": (0, 1)}, "strides"),
    ("Conv", [(1, 3, 8, 8), (4, 3, 3, 3)], {**CONV, "pads": (1, 1)}, "pads"),
    ("Conv", [(1, 3, 8), (4, 3, 3, 3)], CONV, "as many axes"),
    ("Conv", [(3, 8), (4, 3)], CONV, "spatial"),
    ("MatMul", [(2, 3), (4, 5)], {}, "inner extents"),
    ("MatMul", [(2, 3), (3,), (3,)], {}, "takes 2 inputs"),
    ("MatMul", [(), (3,)], {}, "vectors, matrices"),
    ("MatMul", [(2, 5, 3), (3, 3, 5)], {}, "batches of .* do not broadcast"),
    ("Transpose", [(2, 3)], {"perm": (0, 0)}, "does not reorder"),
    ("Slice", [(5,)], {"starts": (3,), "steps": (1,), "shape": (3,)}, "leave"),
    ("Slice", [(5,)], {"starts": (1,), "steps": (-1,), "shape": (3,)}, "leave"),
    ("Slice", [(5,)], {"starts": (1,), "steps": (0,), "shape": (1,)}, "make no slice"),
    ("Slice", [(5,)], {"starts": (), "steps": (), "shape": ()}, "an entry an axis"),
    ("Expand", [(2, 3)], {"shape": (4, 3)}, "does not broadcast"),
    ("Tile", [(2, 3)], {"repeats": (2,)}, "a count an axis"),
    ("Take", [(2, 3)], {"axis": 1, "indices": (0, 3)}, "outside the 3 elements"),
    ("Take", [(2, 3)], {"axis": 2, "indices": ()}, "not an axis"),
    ("Trilu", [(3,)], {"k": 0, "upper": 1}, "needs matrices"),
    ("DepthToSpace", [(1, 6, 2, 2)], {"block": 2, "depth_first": 1}, "no whole number"),
    ("SpaceToDepth", [(1, 6, 2, 3)], {"block": 2, "depth_first": 1}, "no whole number"),
    ("SpaceToDepth", [(6, 2, 3)], {"block": 2, "depth_first": 1}, "N,C,H,W"),
    ("Gemm", [(2, 3), (3, 4), (3,)], GEMM, "does not broadcast"),
    ("Gemm", [(2, 3), (3, 4), (1, 1, 4)], GEMM, "does not broadcast"),
    ("Gemm", [(2, 3), (4, 3)], GEMM, "inner extents"),
    ("BatchNormalization", [(1, 3, 8), (3,), (3,), (3,), (4,)], {}, "var .* must have the shape"),
    ("BatchNormalization", [(3,), (3,), (3,), (3,), (3,)], {}, "needs an input"),
    ("Clip", [(3,)], {"min": NAN, "max": 1.0}, "must not be NaN"),
    ("Add", [(2, 3), (2, 4)], {}, "do not broadcast"),
    ("GlobalAveragePool", [(2, 3)], {}, "spatial"),
    ("ReduceMean", [(2, 3)], {"axes": (1, 0), "keepdims": 1}, "ascending axes"),
    ("ReduceMean", [(2, 3)], {"axes": (2,), "keepdims": 1}, "ascending axes"),
    ("Reshape", [(2, 3)], {"shape": (4, 2)}, "cannot take the shape"),
    ("Pad", [(2, 3)], {"mode": "mirror", "pads": (1, 1) * 2, "value": 0.0}, "must be one of"),
    ("Pad", [(2, 3)], {"mode": "edge", "pads": (1, 1), "value": 0.0}, "must be 4 integers"),
    ("Pad", [(2, 3)], {"mode": "edge", "pads": (-1, 0, -1, 0), "value": 0.0}, "crop all"),
    ("MaxPool", [(1, 1, 4, 4)], {**POOL, "pads": (2, 0, 0, 0)}, "smaller than the window"),
    ("MaxPool", [(1, 1, 4, 4)], {**POOL, "pads": (-1, 0, 0, 0)}, "must not be negative"),
    ("Concat", [(1, 2), (2, 2)], {"axis": 1}, "differ on axes other than 1"),
    ("Concat", [(1, 2)], {"axis": 2}, "not an axis"),
]


@pytest.mark.parametrize(("op", "shapes", "attrs", "message"), REFUSED)
def test_infer_refuses(op, shapes, attrs, message):
    with pytest.raises(ModelError, match=message):
        OPERATORS[op].infer(types(*shapes), attrs)


NESTS = sorted(op for op, row in OPERATORS.items() if row.kind != "extern")


@pytest.mark.parametrize("op", NESTS)
def test_infer_refuses_other_element_types(op):
    inputs = types(*[(1, 3, 8, 8)] * 5, dtype="f16")
    attrs = {**CONV, **POOL, **GEMM, "min": 0.0, "max": 1.0, "axis": 1}
    attrs |= {"approximate": "none", "direction": "LEFT", "to": "f32", "alpha": 1.0}
    refusals = []
    for count in range(1, 6):
        with pytest.raises(ModelError) as error:
            OPERATORS[op].infer(inputs[:count], attrs)
        refusals.append(str(error.value))
    assert any(re.fullmatch(r"needs .* tensors, not f16\S*", text) for text in refusals)


def test_every_row_is_listed_under_its_name():
    assert all(name == operator.name for name, operator in OPERATORS.items())


def test_relu_and_clip_pass_nan_on():
    x = [NAN, -INF, -1.0, 0.0, 1.0, INF]
    np.testing.assert_array_equal(run("Relu", x), [NAN, 0, 0, 0, 1, INF])
    np.testing.assert_array_equal(run("Clip", x, min=0.0, max=0.5), [NAN, 0, 0, 0, 0.5, 0.5])


def test_clip_with_crossed_bounds_gives_the_upper_one():
    np.testing.assert_array_equal(run("Clip", [-9, 1, 9, NAN], min=5.0, max=2.0), [2, 2, 2, NAN])


def test_div_follows_ieee():
    np.testing.assert_array_equal(run("Div", [1, -1, 0, 6], [0, 0, 0, 4]), [INF, -INF, NAN, 1.5])


@pytest.mark.parametrize(("op", "wanted"), [("Add", 8), ("Sub", 4), ("Mul", 12), ("Div", 3)])
def test_binary_operators_broadcast(op, wanted):
    result = run(op, np.full((2, 1, 3), 6.0), np.full((4, 1), 2.0))
    np.testing.assert_array_equal(result, np.full((2, 4, 3), wanted))


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("c_shape", [None, (), (4,), (1, 4), (2, 1), (2, 4)])
def test_gemm_is_its_definition(trans_a, trans_b, c_shape):
    rng = np.random.default_rng(0)
    a, b = rng.integers(-4, 5, (2, 3)), rng.integers(-4, 5, (3, 4))
    c = None if c_shape is None else rng.integers(-4, 5, c_shape)
    attrs = {"trans_a": trans_a, "trans_b": trans_b, "alpha": 0.5, "beta": -2.0}
    arrays = [a.T if trans_a else a, b.T if trans_b else b, c]
    (kind,) = OPERATORS["Gemm"].infer(
        [None if x is None else TensorType(x.shape) for x in arrays], attrs
    )
    assert kind.shape == (2, 4)
    wanted = [
        [
            0.5 * sum(a[i, k] * b[k, j] for k in range(3))
            - (0 if c is None else 2.0 * np.broadcast_to(c, (2, 4))[i, j])
            for j in range(4)
        ]
        for i in range(2)
    ]
    np.testing.assert_array_equal(run("Gemm", *arrays, **attrs), wanted)


def test_batch_norm_works_channel_by_channel():
    x = np.arange(12.0).reshape(2, 2, 3)
    result = run("BatchNormalization", x, [2, -1], [1, 0], [3, 4], [0.75, 3.75], epsilon=0.25)
    np.testing.assert_array_equal(result[:, 0], (x[:, 0] - 3) * 2 + 1)
    np.testing.assert_array_equal(result[:, 1], -(x[:, 1] - 4) / 2)


def test_max_pool_passes_nan_on():
    x = np.array([[[[1, NAN, 3]]]])
    attrs = {**POOL, "kernel_shape": (1, 2)}
    np.testing.assert_array_equal(run("MaxPool", x, **attrs), [[[[NAN, NAN]]]])


@pytest.mark.parametrize(
    ("axes", "keepdims", "shape"),
    [((0, 1), 1, (1, 1)), ((0, 1), 0, ()), ((1,), 0, (2,)), ((), 1, (2, 3))],
)
def test_reduce_mean(axes, keepdims, shape):
    x = np.arange(6.0).reshape(2, 3)
    result = run("ReduceMean", x, axes=axes, keepdims=keepdims)
    (kind,) = OPERATORS["ReduceMean"].infer(types((2, 3)), {"axes": axes, "keepdims": keepdims})
    assert result.shape == kind.shape == shape
    assert result.mean() == x.mean()


def test_conv_in_the_padding_uses_zero_times_the_weight():
    x, w = np.ones((1, 1, 1, 1)), np.full((1, 1, 1, 2), INF)
    result = run("Conv", x, w, **{**CONV, "pads": (0, 0, 0, 1)})
    assert np.isnan(result).all()


PERMUTING = {
    "Reshape": {"shape": (4, 3)},
    "Transpose": {"perm": (1, 0)},
    "Rearrange": {"split": (3, 2, 2), "perm": (2, 0, 1), "shape": (2, 6)},
}


def test_operators_that_permute_keep_each_element_once():
    x = np.arange(12).reshape(3, 4)
    assert {name for name, row in OPERATORS.items() if row.permutes} == set(PERMUTING)
    for name, attrs in PERMUTING.items():
        assert sorted(run(name, x, **attrs).reshape(-1)) == list(range(12))
