"""Shape arithmetic at import: each folded operator against onnx's reference, and whole chains."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from ago.errors import ModelError, UnsupportedError
from ago.frontend import load
from ago.frontend.folding import fold
from ago.frontend.raw import RawNode
from ago.ir.evaluate import evaluate
from tests.support.onnx_models import integers, make_model, run_reference

BIG = 2**63 - 1


def ints(*values):
    return np.array(values, np.int64)


def f32(*values):
    return np.array(values, np.float32)


MATRIX = integers((3, 4))
CASES = [
    ("Add", 14, [ints(1, -2), ints(3)], {}),
    ("Sub", 14, [ints(1, -2), ints(3)], {}),
    ("Mul", 14, [ints(7, -2), ints(3)], {}),
    ("Div", 14, [ints(7, -7, 7, -7), ints(2, 2, -2, -2)], {}),
    ("Div", 14, [f32(7, -7), f32(2, 2)], {}),
    ("Neg", 13, [ints(7, -2)], {}),
    ("Floor", 13, [f32(1.5, -1.5)], {}),
    ("Ceil", 13, [f32(1.5, -1.5)], {}),
    ("Equal", 13, [ints(1, 2), ints(1, 3)], {}),
    ("Where", 16, [np.array([True, False]), ints(1, 2), ints(3, 4)], {}),
    ("Cast", 13, [f32(1.7, -1.7)], {"to": TensorProto.INT64}),
    ("Cast", 13, [ints(0, 5)], {"to": TensorProto.BOOL}),
    ("Concat", 13, [ints(1), ints(2, 3)], {"axis": -1}),
    ("ConstantOfShape", 9, [ints(2, 3)], {"value": numpy_helper.from_array(ints(7))}),
    ("ConstantOfShape", 9, [ints(2, 3)], {}),
    ("Expand", 13, [f32(1, 2, 3), ints(2, 1)], {}),
    ("Gather", 13, [ints(5, 6, 7), np.array(-1)], {}),
    ("Gather", 13, [MATRIX, ints(1, 0)], {"axis": 1}),
    ("Identity", 16, [ints(1, 2)], {}),
    ("Range", 11, [np.array(2), np.array(9), np.array(3)], {}),
    ("Reshape", 14, [MATRIX, ints(0, -1, 2)], {}),
    ("Slice", 13, [MATRIX, ints(-2), ints(BIG)], {}),
    ("Slice", 13, [MATRIX, ints(-1, 0), ints(-BIG, 3), ints(1, 0), ints(-2, 2)], {}),
    ("Slice", 13, [ints(1, 2, 3), ints(1), ints(1)], {}),
    ("Slice", 13, [ints(1, 2, 3), ints(9), ints(0), ints(0), ints(-1)], {}),
    ("Slice", 9, [MATRIX], {"starts": [1, 0], "ends": [3, -1], "axes": [0, 1]}),
    ("Squeeze", 13, [MATRIX[None, :, :, None], ints(-1)], {}),
    ("Squeeze", 13, [MATRIX[None, :, :, None]], {}),
    ("Squeeze", 11, [MATRIX[None, :, :, None]], {"axes": [0, 3]}),
    ("Transpose", 13, [MATRIX], {}),
    ("Transpose", 13, [MATRIX[None]], {"perm": [1, 0, 2]}),
    ("Unsqueeze", 13, [ints(4), ints(0, -1)], {}),
    ("Unsqueeze", 11, [ints(4)], {"axes": [0, 2]}),
]


@pytest.mark.parametrize(("op", "opset", "arrays", "attrs"), CASES)
def test_folding_agrees_with_onnx(op, opset, arrays, attrs):
    names = [f"c{k}" for k in range(len(arrays))]
    node = helper.make_node(op, names, ["y"], **attrs)
    weights = dict(zip(names, arrays, strict=True))
    wanted = run_reference(make_model([node], {}, ["y"], weights, opset), {})
    plain = {
        name: numpy_helper.to_array(value)
        if isinstance(value, TensorProto)
        else tuple(value)
        if isinstance(value, list)
        else value
        for name, value in attrs.items()
    }
    raw = RawNode("node", op, "", opset, tuple(names), ("y",), plain)
    got = fold(raw, arrays)
    np.testing.assert_array_equal(got, wanted)
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape


@pytest.mark.parametrize(
    ("attrs", "wanted"),
    [
        ({"value": numpy_helper.from_array(f32(1, 2))}, f32(1, 2)),
        ({"value_float": 2.5}, np.float32(2.5)),
        ({"value_floats": [2.5, 1.0]}, f32(2.5, 1.0)),
        ({"value_int": 3}, np.float32(3)),
        ({"value_ints": [3, 4]}, f32(3, 4)),
    ],
)
def test_every_numeric_form_of_constant(attrs, wanted):
    nodes = [
        helper.make_node("Constant", [], ["c"], **attrs),
        helper.make_node("Cast", ["c"], ["d"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["x", "d"], ["y"]),
    ]
    graph = load(make_model(nodes, {"x": (2,)}, ["y"]))
    np.testing.assert_array_equal(graph.params["d"], wanted)


def test_constant_strings_are_reported():
    nodes = [
        helper.make_node("Constant", [], ["c"], value_string="text", name="words"),
        helper.make_node("Add", ["x", "c"], ["y"]),
    ]
    with pytest.raises(UnsupportedError, match=r"'y' \(Add\): 'c' has elements of type <U4"):
        load(make_model(nodes, {"x": (2,)}, ["y"]))


def test_the_flatten_of_an_exporter_leaves_one_reshape():
    """`x.view(x.size(0), -1)` as torch exports it."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Constant", [], ["zero"], value=numpy_helper.from_array(np.array(0))),
        helper.make_node("Gather", ["shape", "zero"], ["size"], axis=0),
        helper.make_node("Constant", [], ["axes"], value=numpy_helper.from_array(ints(0))),
        helper.make_node("Unsqueeze", ["size", "axes"], ["first"]),
        helper.make_node("Constant", [], ["rest"], value=numpy_helper.from_array(ints(-1))),
        helper.make_node("Concat", ["first", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"], name="view"),
    ]
    graph = load(make_model(nodes, {"x": ("n", 3, 2, 2)}, ["y"]), dims={"n": 5})
    assert [(node.name, node.op, node.type.shape) for node in graph.nodes] == [
        ("view", "Reshape", (5, 12))
    ]
    assert dict(graph.params) == {}


@pytest.mark.parametrize(
    ("attrs", "wanted"), [({}, (2, 3, 4)), ({"start": 1}, (3, 4)), ({"start": -2, "end": -1}, (3,))]
)
def test_shape_with_bounds(attrs, wanted):
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], **attrs),
        helper.make_node("Cast", ["s"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Identity", ["f"], ["y"]),
    ]
    graph = load(make_model(nodes, {"x": (2, 3, 4)}, ["y"]))
    np.testing.assert_array_equal(evaluate(graph, {"x": np.zeros((2, 3, 4))})["y"], wanted)


def test_size_and_slices_of_shapes():
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Slice", ["s", "from", "to"], ["head"]),
        helper.make_node("Size", ["x"], ["n"]),
        helper.make_node("Div", ["n", "four"], ["q"]),
        helper.make_node("Unsqueeze", ["q", "from"], ["tail"]),
        helper.make_node("Concat", ["tail", "head"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    weights = {"from": ints(0), "to": ints(1), "four": np.array(4)}
    graph = load(make_model(nodes, {"x": (4, 6)}, ["y"], weights))
    assert graph.types["y"].shape == (6, 4)


@pytest.mark.parametrize(
    ("op", "arrays", "attrs"),
    [
        ("Gather", [ints(1, 2), np.array(5)], {}),
        ("Squeeze", [ints(1, 2), ints(0)], {}),
        ("Div", [ints(1), ints(0)], {}),
        ("Reshape", [ints(1, 2), ints(3)], {}),
        ("Concat", [ints(1), np.array(1)], {"axis": 0}),
        ("Unsqueeze", [ints(1), ints(0, 0)], {}),
        ("Unsqueeze", [ints(1), ints(5)], {}),
        ("Slice", [ints(1, 2), ints(0), ints(1), ints(3)], {}),
        ("Slice", [ints(1, 2)], {}),
        ("Range", [np.array(1)], {}),
    ],
)
def test_wrong_arithmetic_names_the_node(op, arrays, attrs):
    names = [f"c{k}" for k in range(len(arrays))]
    node = helper.make_node(op, names, ["y"], name="wrong", **attrs)
    model = make_model([node], {}, ["y"], dict(zip(names, arrays, strict=True)))
    with pytest.raises(ModelError, match=rf"'wrong' \({op}\)"):
        load(model)


def test_constants_that_grow_without_bounds_are_refused():
    node = helper.make_node("ConstantOfShape", ["shape"], ["c"])
    nodes = [node, helper.make_node("Add", ["x", "c"], ["y"])]
    weights = {"shape": np.array([1 << 39, 2], np.int64)}
    with pytest.raises(UnsupportedError, match=r"a constant of 4\.4e\+12 bytes"):
        load(make_model(nodes, {"x": (2,)}, ["y"], weights))


def test_a_range_that_never_ends_is_an_error():
    nodes = [
        helper.make_node("Range", ["zero", "one", "zero"], ["r"]),
        helper.make_node("Add", ["x", "r"], ["y"]),
    ]
    weights = {"zero": np.float32(0), "one": np.float32(1)}
    with pytest.raises(ModelError, match="the step must not be zero"):
        load(make_model(nodes, {"x": (2,)}, ["y"], weights))
