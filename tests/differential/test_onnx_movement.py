"""Movement, borders, reductions, resizing and products: ONNX's forms, opset by opset.

Each case is imported and evaluated, compared with ONNX Runtime and onnx's reference, and compiled
together with the others.
"""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ago.errors import ModelError, UnsupportedError
from ago.frontend import load
from tests.support.cases import Case, failures
from tests.support.compiled import HOST_TARGETS
from tests.support.onnx_models import (
    integers,
    one_node,
    run_ago,
    run_onnxruntime,
    run_reference,
)


def ints(*values):
    return np.array(values, np.int64)


def f32(*values):
    return np.array(values, np.float32)


X = integers((2, 6, 9, 7))
IMAGE = integers((1, 8, 4, 6), 3)
SEQUENCE = integers((3, 5, 8), 4)
ROI = f32(0, 0, 0.4, -0.1, 1, 1, 1.2, 0.8)

# Operator, opset, inputs, constants, attributes.
CASES = {
    "transpose": ("Transpose", 13, [SEQUENCE], [], {}),
    "transpose perm": ("Transpose", 1, [X], [], {"perm": [0, 2, 3, 1]}),
    "slice 1": ("Slice", 1, [X], [], {"starts": [1, -3], "ends": [9, -1], "axes": [1, 3]}),
    "slice 10": ("Slice", 10, [X], [ints(-1, 8), ints(-9, 0), ints(-1, 2), ints(-2, -3)], {}),
    "slice 13": ("Slice", 13, [X], [ints(1), ints(2**62)], {}),
    "slice backwards": ("Slice", 13, [X], [ints(99), ints(-(2**62)), ints(1), ints(-1)], {}),
    "split 2": ("Split", 2, [X], [], {"axis": 1, "split": [1, 5]}),
    "split equal": ("Split", 11, [X], [], {"axis": -3}),
    "split 13": ("Split", 13, [X], [ints(2, 4)], {"axis": 1}),
    "split 18": ("Split", 18, [X], [], {"axis": 2, "num_outputs": 2}),
    "expand": ("Expand", 13, [integers((5, 1))], [ints(2, 1, 3)], {}),
    "expand to less": ("Expand", 8, [integers((2, 5, 3))], [ints(5, 1)], {}),
    "tile": ("Tile", 13, [SEQUENCE], [ints(1, 2, 3)], {}),
    "gather": ("Gather", 13, [X], [ints(-1, 0, 3, 3)], {"axis": 1}),
    "gather one": ("Gather", 1, [X], [np.array(-2)], {"axis": -1}),
    "gather matrix": ("Gather", 13, [X], [ints((0, 1), (4, -1))], {"axis": 2}),
    "gather elements": (
        "GatherElements",
        13,
        [SEQUENCE],
        [ints([[0, -2, 1, 1]]).reshape(2, 1, 2)],
        {},
    ),
    "gather elements axis": (
        "GatherElements",
        11,
        [SEQUENCE],
        [np.random.default_rng(0).integers(-8, 8, (2, 5, 3))],
        {"axis": -1},
    ),
    "gather nd": ("GatherND", 13, [X], [ints((0, 1), (-1, 5), (0, 0))], {}),
    "gather nd batch": ("GatherND", 12, [SEQUENCE], [ints([4], [0], [-2])], {"batch_dims": 1}),
    "depth to space 1": ("DepthToSpace", 1, [IMAGE], [], {"blocksize": 2}),
    "depth to space 13": ("DepthToSpace", 13, [IMAGE], [], {"blocksize": 2, "mode": "CRD"}),
    "space to depth": ("SpaceToDepth", 13, [IMAGE], [], {"blocksize": 2}),
    "trilu": ("Trilu", 14, [SEQUENCE], [np.array(2)], {}),
    "trilu lower": ("Trilu", 14, [SEQUENCE], [], {"upper": 0}),
    "reverse sequence": ("ReverseSequence", 10, [SEQUENCE], [ints(1, 3, 2, 0, 1)], {}),
    "reverse sequence time": (
        "ReverseSequence",
        10,
        [SEQUENCE],
        [ints(5, 1, 3)],
        {"batch_axis": 0, "time_axis": 1},
    ),
    "compress": ("Compress", 11, [SEQUENCE], [np.array([True, False, True])], {"axis": -2}),
    "compress flat": ("Compress", 9, [SEQUENCE], [np.array([False, True, True])], {}),
    "crop and pad": ("CenterCropPad", 18, [X], [ints(4, 8, 5)], {"axes": [0, -2, 3]}),
    "pad reflect": ("Pad", 11, [X], [ints(0, 0, 3, 2, 0, 0, 1, 6)], {"mode": "reflect"}),
    "pad edge": ("Pad", 13, [X], [ints(0, 1, 9, 2, 1, 0, 1, 6)], {"mode": "edge"}),
    "pad wrap": ("Pad", 19, [X], [ints(2, 3, 1, 4), None, ints(-1, 1)], {"mode": "wrap"}),
    "pad 2 edge": ("Pad", 2, [X], [], {"pads": [0, 1, 9, 2, 1, 0, 1, 6], "mode": "edge"}),
    "max of all": ("GlobalMaxPool", 1, [X], [], {}),
    "norm of all": ("GlobalLpPool", 2, [X], [], {"p": 1}),
    "lp pool": ("LpPool", 11, [X], [], {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "p": 3}),
    "lp pool 18": ("LpPool", 18, [X], [], {"kernel_shape": [2, 2], "dilations": [2, 1]}),
    "sum 11": ("ReduceSum", 11, [X], [], {"axes": [1, -1], "keepdims": 0}),
    "sum 13": ("ReduceSum", 13, [X], [ints(-2)], {}),
    "sum nothing": ("ReduceSum", 13, [X], [ints()], {"noop_with_empty_axes": 1}),
    "matmul vectors": ("MatMul", 13, [f32(1, 2, 3), f32(4, 5, 6)], [], {}),
    "matmul batch": ("MatMul", 13, [integers((2, 1, 4, 5)), integers((3, 5, 6))], [], {}),
    "matmul vector batch": ("MatMul", 13, [f32(1, 2, 3), integers((2, 3, 4))], [], {}),
    "matmul batch vector": ("MatMul", 13, [integers((2, 4, 3)), f32(1, 2, 3)], [], {}),
    "einsum diagonal": ("Einsum", 12, [integers((3, 5, 5))], [], {"equation": "...ii->...i"}),
    "einsum implicit": ("Einsum", 12, [integers((3, 4))], [], {"equation": "ba"}),
    "einsum heads": (
        "Einsum",
        12,
        [integers((2, 7, 3, 8)), integers((2, 9, 3, 8), 1)],
        [],
        {"equation": "bqhd, bkhd -> bhqk"},
    ),
    "einsum three": (
        "Einsum",
        12,
        [integers((3, 4)), integers((4, 5), 1), integers((5, 2), 2)],
        [],
        {"equation": "ij,jk,kl->li"},
    ),
    "upsample 7": ("Upsample", 7, [IMAGE], [], {"scales": [1.0, 1.0, 2.0, 3.0]}),
    "upsample 9": ("Upsample", 9, [IMAGE], [f32(1, 1, 2, 1.5)], {"mode": "linear"}),
    "resize 10": ("Resize", 10, [IMAGE], [f32(1, 1, 0.5, 2)], {}),
    "resize 11": ("Resize", 11, [IMAGE], [f32(), f32(1, 1, 2, 2)], {"mode": "linear"}),
    "resize roi": (
        "Resize",
        13,
        [IMAGE],
        [ROI, None, ints(1, 8, 5, 7)],
        {
            "mode": "linear",
            "coordinate_transformation_mode": "tf_crop_and_resize",
            "extrapolation_value": 9.0,
        },
    ),
    "resize axes": ("Resize", 18, [IMAGE], [None, f32(2, 3)], {"axes": [3, 2]}),
    "resize policy": (
        "Resize",
        19,
        [IMAGE],
        [None, None, ints(9, 9)],
        {"axes": [2, 3], "keep_aspect_ratio_policy": "not_larger", "mode": "linear"},
    ),
    "resize antialias": (
        "Resize",
        18,
        [IMAGE],
        [None, f32(0.4, 0.7)],
        {"axes": [2, 3], "mode": "linear", "antialias": 1},
    ),
    "resize antialias cubic": (
        "Resize",
        18,
        [IMAGE],
        [None, None, ints(3, 4)],
        {"axes": [2, 3], "mode": "cubic", "antialias": 1, "exclude_outside": 1},
    ),
}
for op in ("L1", "L2", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare"):
    CASES[f"{op} 13"] = (f"Reduce{op}", 13, [SEQUENCE], [], {"axes": [-1], "keepdims": 0})
    CASES[f"{op} 18"] = (f"Reduce{op}", 18, [SEQUENCE], [ints(0, 2)], {})
    CASES[f"{op} all"] = (f"Reduce{op}", 18, [SEQUENCE[0, :2] / 4 + 2], [], {"keepdims": 0})
CASES["log sum"] = ("ReduceLogSum", 18, [np.abs(SEQUENCE) + 1], [ints(1)], {})
for transformation in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
    for mode, extra in (("nearest", {"nearest_mode": "floor"}), ("linear", {}), ("cubic", {})):
        attrs = {"mode": mode, "coordinate_transformation_mode": transformation, **extra}
        CASES[f"resize {mode} {transformation}"] = (
            "Resize",
            13,
            [IMAGE],
            [None, None, ints(1, 8, 7, 3)],
            attrs,
        )
for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
    attrs = {"nearest_mode": rounding, "coordinate_transformation_mode": "half_pixel"}
    CASES[f"resize {rounding}"] = ("Resize", 13, [IMAGE], [None, None, ints(1, 8, 6, 9)], attrs)

NO_RUNTIME = {
    "crop and pad": "has no such operator",
    "resize antialias": "rounds weights differently",
    "resize antialias cubic": "rounds weights differently",
    "resize roi": "differs where the region leaves the image",
}
"""Where ONNX Runtime is no oracle, and why."""

NO_REFERENCE = {
    "slice 1": "fails",
    "split equal": "fails",
    "gather elements": "refuses indices of smaller slices",
    "gather elements axis": "refuses indices of smaller slices",
    "norm of all": "has no such operator",
    "upsample 7": "fails",
    "upsample 9": "fails",
    "resize 10": "takes the default of opset 11",
    "pad 2 edge": "fails",
}
"""Where onnx's reference is no oracle, and why."""


def model_of(name):
    op, opset, inputs, constants, attrs = CASES[name]
    outputs = ("y", "z") if op == "Split" else ("y",)
    return one_node(op, inputs, constants, opset, outputs, **attrs)


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_onnx(name):
    model, feeds = model_of(name)
    got = run_ago(model, feeds)
    oracles = [run_onnxruntime] if name not in NO_RUNTIME else []
    if name not in NO_REFERENCE:
        oracles.append(run_reference)
    assert oracles
    for oracle in oracles:
        wanted = oracle(model, feeds)
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5, err_msg=oracle.__name__)


@functools.cache
def cases():
    return [Case(name, load(model), feeds) for name in CASES for model, feeds in [model_of(name)]]


def test_compiled():
    assert failures(cases(), HOST_TARGETS[-1]) == []


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil"])
def test_samples_halfway_between_two_elements_are_seen_to_lie_there(rounding):
    """In float32 a third of 7.5 is no longer halfway, and the nearest element another one."""
    x = np.arange(9, dtype=np.float32).reshape(1, 9)
    attrs = {"nearest_mode": rounding, "coordinate_transformation_mode": "asymmetric"}
    model, feeds = one_node("Resize", [x], [None, None, ints(1, 6)], opset=13, **attrs)
    halves = [1, 4, 7] if rounding == "round_prefer_floor" else [2, 5, 8]
    assert run_ago(model, feeds)[0, 1::2].tolist() == halves


@st.composite
def cuts(draw):
    """A shape, and a start, an end and a step for each axis: inside, outside, negative."""
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    ends = st.integers(-9, 9) | st.sampled_from([2**62, -(2**62)])
    step = st.integers(-3, 3).filter(bool)
    return shape, [draw(st.tuples(ends, ends, step)) for _ in shape]


@given(cuts())
def test_slices_are_those_of_python(drawn):
    shape, bounds = drawn
    x = integers(shape)
    wanted = x[tuple(slice(*bound) for bound in bounds)]
    starts, ends, steps = (ints(*column) for column in zip(*bounds, strict=True))
    model, feeds = one_node("Slice", [x], [starts, ends, ints(*range(x.ndim)), steps])
    np.testing.assert_array_equal(run_ago(model, feeds), wanted)


REFUSED = {
    "runtime scales": ("Resize", 13, [IMAGE, f32(), f32(1, 1, 2, 2)], [], {}, "is not constant"),
    "runtime slice": ("Slice", 13, [X, f32(1)], [ints(2)], {}, "starts 'x1' is not constant"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_what_depends_on_values(name):
    op, opset, inputs, constants, attrs, message = REFUSED[name]
    model, _ = one_node(op, inputs, constants, opset, **attrs)
    with pytest.raises(UnsupportedError, match=message):
        load(model)


BROKEN = {
    "transpose": ("Transpose", 13, [X], [], {"perm": [0, 1, 2]}, "does not reorder"),
    "slice step": ("Slice", 13, [X], [ints(1), ints(2), ints(0), ints(0)], {}, "must not be 0"),
    "split": ("Split", 13, [X], [ints(1, 2)], {"axis": 1}, "do not make axis 1"),
    "expand": ("Expand", 13, [X], [ints(5, 7)], {}, "does not broadcast"),
    "gather": ("Gather", 13, [X], [ints(6)], {"axis": 1}, "reach from 6 to 6 of 6"),
    "blocks": ("DepthToSpace", 13, [IMAGE], [], {"blocksize": 2, "mode": "CDR"}, "neither"),
    "einsum": ("Einsum", 12, [X], [], {"equation": "ij,jk"}, "2 operands, not 1"),
    "einsum letters": ("Einsum", 12, [X], [], {"equation": "ab1c"}, "not made of letters"),
    "resize": ("Resize", 13, [IMAGE], [None, None, ints(3, 4)], {}, "2 sizes for 4 axes"),
    "resize mode": ("Resize", 13, [IMAGE], [None, f32(1, 1, 2, 2)], {"mode": "a"}, "mode='a'"),
    "resize nothing": ("Resize", 13, [IMAGE], [], {}, "neither scales nor sizes"),
    "lengths": ("ReverseSequence", 10, [SEQUENCE], [ints(1)], {}, "1 lengths for a batch of 5"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_nodes_are_model_errors(name):
    op, opset, inputs, constants, attrs, message = BROKEN[name]
    outputs = ("y", "z") if op == "Split" else ("y",)
    model, _ = one_node(op, inputs, constants, opset, outputs, **attrs)
    with pytest.raises(ModelError, match=message):
        load(model)
