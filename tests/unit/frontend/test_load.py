"""Importing whole models: broken files, inputs, names, and reports of what is unsupported."""

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ago.errors import InputError, ModelError, UnsupportedError
from ago.frontend import load
from ago.ir.evaluate import evaluate
from tests.support.onnx_models import integers, make_model, one_node


def relu_model(shape=(1, 3), **options):
    node = helper.make_node("Relu", ["x"], ["y"], name="relu")
    return make_model([node], {"x": shape}, ["y"], **options)


def test_importing_the_package_does_not_import_onnx():
    script = "import sys, ago.frontend; sys.exit('onnx' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


# Broken files


def test_a_missing_file(tmp_path):
    with pytest.raises(ModelError, match=r"gone\.onnx: no such file"):
        load(tmp_path / "gone.onnx")


def test_a_folder(tmp_path):
    with pytest.raises(ModelError, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{}", b"GGUF\x00\x01\x02", b"\x00" * 64, b"PK\x03\x04"])
def test_a_file_that_is_not_onnx(tmp_path, content):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="not an ONNX file"):
        load(path)


def test_every_truncation_of_a_file(tmp_path):
    weights = {"w": integers((4, 4))}
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    content = make_model([node], {"x": (2, 4)}, ["y"], weights).SerializeToString()
    path = tmp_path / "model.onnx"
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(ModelError, match="truncated"):
            load(path)


def test_a_model_that_reads_what_nothing_makes():
    node = helper.make_node("Add", ["x", "ghost"], ["y"], name="sum")
    with pytest.raises(ModelError, match=r"'sum' \(Add\) reads 'ghost'"):
        load(make_model([node], {"x": (1, 3)}, ["y"]))


def test_a_model_that_makes_a_value_twice():
    nodes = [helper.make_node("Relu", ["x"], ["y"]) for _ in range(2)]
    with pytest.raises(ModelError, match="'y' is defined twice"):
        load(make_model(nodes, {"x": (1, 3)}, ["y"]))


def test_an_output_that_nothing_makes():
    node = helper.make_node("Relu", ["x"], ["z"])
    with pytest.raises(ModelError, match="nothing makes the output 'y'"):
        load(make_model([node], {"x": (1, 3)}, ["y"]))


def test_shapes_that_do_not_fit_name_the_node():
    model, _ = one_node("MatMul", [integers((2, 3))], [integers((4, 5))])
    with pytest.raises(ModelError, match=r"'node' \(MatMul\): inner extents"):
        load(model)


# External data


def test_symbolic_dimensions_are_fixed_by_name():
    graph = load(relu_model(("batch", "width")), dims={"batch": 2, "width": 5})
    assert graph.types["x"].shape == (2, 5)


def test_all_open_dimensions_are_named_at_once():
    nodes = [helper.make_node("Add", ["a", "b"], ["y"])]
    model = make_model(nodes, {"a": ("batch", 3), "b": (None, 3)}, ["y"])
    with pytest.raises(ModelError) as error:
        load(model)
    assert "input 'a': dimension 'batch' is open; give dims={'batch': 1}" in str(error.value)
    assert "input 'b': axis 0 is open and has no name; give shapes={'b': (1, 3)}" in str(
        error.value
    )


def test_an_open_rank():
    model = relu_model()
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(ModelError, match="its rank is open"):
        load(model)
    assert load(model, shapes={"x": (4,)}).types["x"].shape == (4,)


def test_minus_one_is_an_open_dimension():
    model = relu_model()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    with pytest.raises(ModelError, match="axis 0 is open"):
        load(model)


def test_shapes_override_static_extents():
    model, _ = one_node("Conv", [integers((1, 3, 8, 8))], [integers((4, 3, 3, 3))])
    graph = load(model, shapes={"x0": (2, 3, 5, 7)})
    assert graph.types["y"].shape == (2, 4, 3, 5)


def test_numbers_made_from_a_static_extent_are_suspected_where_it_is_replaced():
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"], name="fold")]
    model = make_model(nodes, {"x": (1, 4, 6)}, ["y"], {"shape": np.array([2, 2, 6])})
    with pytest.raises(ModelError) as error:
        load(model, shapes={"x": (1, 4, 3)})
    assert "node 'fold' (Reshape)" in str(error.value)
    assert "the file fixes input 'x' to [1, 4, 6]" in str(error.value)
    assert "export the model with open dimensions" in str(error.value)


def test_a_file_that_is_wrong_at_its_own_sizes_gets_no_such_hint():
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"], name="fold")]
    model = make_model(nodes, {"x": (1, "width")}, ["y"], {"shape": np.array([2, 2])})
    with pytest.raises(ModelError) as error:
        load(model, shapes={"x": (1, 5)})
    assert "node 'fold' (Reshape)" in str(error.value)
    assert "open dimensions" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dims": {"batsh": 1}}, "dims names batsh, but the model has: batch"),
        ({"shapes": {"input": (1, 3)}}, "shapes names input, but the model has: x"),
        ({"dims": {"batch": 0}}, r"dims\['batch'\] must be positive"),
        ({"shapes": {"x": (1, 2, 3)}}, "has 2 axes, not 3"),
        ({"shapes": {"x": (1, 0)}}, "must be positive"),
        ({"dims": {"batch": "2"}}, r"dims\['batch'\] must be a whole number, not '2'"),
        ({"dims": {"batch": 2.0}}, "must be a whole number, not 2.0"),
        ({"dims": {"batch": True}}, "must be a whole number, not True"),
        ({"dims": {3: 1}}, "dims names 3, but the model has: batch"),
        ({"dims": [("batch", 2)]}, "dims must be a mapping"),
        ({"shapes": ["x"]}, "shapes must be a mapping"),
        ({"shapes": {"x": 3}}, r"shapes\['x'\] must be a sequence of extents, not 3"),
        ({"shapes": {"x": "23"}}, "must be a sequence of extents, not '23'"),
        ({"shapes": {"x": (2, 3.5)}}, "must be a whole number, not 3.5"),
    ],
)
def test_options_that_do_not_fit(options, message):
    with pytest.raises(InputError, match=message):
        load(relu_model(("batch", 3)), **options)


def test_extents_of_numpy_become_plain_integers():
    graph = load(relu_model(("batch", 3)), dims={"batch": np.int64(2)})
    assert [type(extent) for extent in graph.type_of("x").shape] == [int, int]


@pytest.mark.parametrize("model", [None, 3, b"bytes"])
def test_what_is_no_model(model):
    with pytest.raises(InputError, match="a model is a path or an onnx ModelProto"):
        load(model)


def test_a_stride_of_zero_with_automatic_padding():
    node = helper.make_node(
        "MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[0, 1], auto_pad="SAME_UPPER"
    )
    with pytest.raises(ModelError, match=r"strides \(0, 1\) .* must be positive"):
        load(make_model([node], {"x": (1, 3, 4, 4)}, ["y"]))


def test_initializers_listed_as_inputs_are_weights():
    node = helper.make_node("Add", ["x", "w"], ["y"])
    model = make_model([node], {"x": (1, 3), "w": (3,)}, ["y"], {"w": integers((3,))})
    graph = load(model)
    assert graph.inputs == ("x",)
    assert set(graph.params) == {"w"}


def reshape_model():
    node = helper.make_node("Reshape", ["x", "shape"], ["y"], name="flat")
    dtypes = {"shape": TensorProto.INT64}
    return make_model([node], {"x": (2, 3), "shape": ("rank",)}, ["y"], dtypes=dtypes)


def test_an_input_can_be_fixed_to_a_value():
    graph = load(reshape_model(), constants={"shape": [3, -1]})
    assert graph.inputs == ("x",)
    assert graph.types["y"].shape == (3, 2)


def test_a_number_may_stand_for_a_list_of_one():
    assert load(reshape_model(), constants={"shape": 6}).types["y"].shape == (6,)


def test_a_report_says_which_inputs_would_have_to_be_fixed():
    with pytest.raises(UnsupportedError, match=r"give constants=\{'shape': \.\.\.\}") as error:
        load(reshape_model(), dims={"rank": 2})
    assert error.value.open_inputs == ("shape",)


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        ({"form": [6]}, "constants names form, but the model has: shape, x"),
        ({"shape": [[6, 1]]}, r"has the shape \(1, 2\), which does not fit"),
        ({"x": np.zeros((3, 2))}, r"has the shape \(3, 2\), which does not fit"),
        ({"shape": [1.5]}, "does not fit elements of type i64"),
        (["shape"], "constants must be a mapping"),
    ],
)
def test_constants_that_do_not_fit(constants, message):
    with pytest.raises(InputError, match=message):
        load(reshape_model(), constants=constants)


# Names, versions, outputs


def test_node_names_are_kept_and_made_unique():
    names = ["layer", "layer", "", "layer_1", ""]
    nodes = [
        helper.make_node("Relu", [f"v{k}"], [f"v{k + 1}"], name=name)
        for k, name in enumerate(names)
    ]
    graph = load(make_model(nodes, {"v0": (1, 3)}, ["v5"]))
    assert [n.name for n in graph.nodes] == ["layer", "layer_1", "v3", "layer_1_1", "v5"]
    assert [n.output for n in graph.nodes] == ["v1", "v2", "v3", "v4", "v5"]


def test_versions_are_never_refused_by_number():
    model = relu_model(opset=999)
    model.ir_version = 999
    assert load(model).nodes[0].op == "Relu"


def test_a_constant_output_is_a_copy_of_a_parameter():
    nodes = [
        helper.make_node("Add", ["w", "w"], ["y"]),
        helper.make_node("Add", ["x", "y"], ["z"]),
    ]
    model = make_model(nodes, {"x": (2,)}, ["y", "z"], {"w": integers((2,), 3)})
    result = evaluate(load(model), {"x": [1.0, 2.0]})
    np.testing.assert_array_equal(result["y"], 2 * integers((2,), 3))
    np.testing.assert_array_equal(result["z"], [1, 2] + 2 * integers((2,), 3))


def test_an_output_that_is_an_input_is_a_copy():
    model = relu_model()
    model.graph.output[0].name = "x"
    graph = load(model)
    assert [node.op for node in graph.nodes] == ["Identity"]
    assert graph.outputs == ("x_copy",)


def test_an_output_listed_twice_is_copied():
    model = relu_model()
    model.graph.output.append(model.graph.output[0])
    graph = load(model)
    assert graph.outputs == ("y", "y_copy")
    result = evaluate(graph, {"x": [[-1, 0, 2]]})
    np.testing.assert_array_equal(result["y"], result["y_copy"])


# Reports


@pytest.mark.parametrize("dtype", ["FLOAT16", "BOOL"])
def test_other_element_types_are_reported_by_name(dtype):
    model = relu_model(dtypes={"x": TensorProto.DataType.Value(dtype)})
    short = {"FLOAT16": "f16", "BOOL": "bool"}[dtype]
    with pytest.raises(UnsupportedError, match=f"needs f32, .* tensors, not {short}"):
        load(model)


def test_foreign_element_types_are_reported_by_name():
    model = relu_model(dtypes={"x": TensorProto.BFLOAT16})
    with pytest.raises(ModelError, match="elements of type bfloat16"):
        load(model)
    node = helper.make_node("Add", ["x", "w"], ["y"], name="sum")
    model = make_model([node], {"x": (1, 3)}, ["y"])
    weight = helper.make_tensor("w", TensorProto.BFLOAT16, [3], [1.0, 2.0, 3.0])
    model.graph.initializer.append(weight)
    with pytest.raises(UnsupportedError, match=r"'sum' \(Add\): 'w' .* bfloat16"):
        load(model)


def test_tensors_without_elements_are_constants():
    nodes = [
        helper.make_node("Concat", ["w", "x", "w"], ["y"], axis=0),
        helper.make_node("Relu", ["w"], ["r"]),
        helper.make_node("Concat", ["r", "y"], ["z"], axis=0),
    ]
    weights = {"w": np.zeros((0, 3), np.float32)}
    graph = load(make_model(nodes, {"x": (1, 3)}, ["z"], weights))
    assert [(node.op, node.inputs) for node in graph.nodes] == [
        ("Identity", ("x",)),
        ("Identity", ("y",)),
    ]


def test_an_input_without_elements_stays_an_input():
    node = helper.make_node("Concat", ["x", "e"], ["y"], axis=0)
    graph = load(make_model([node], {"x": (1, 3), "e": (0, 3)}, ["y"]))
    assert graph.inputs == ("x", "e")
    assert [node.inputs for node in graph.nodes] == [("x",)]


def test_a_used_output_that_the_operator_does_not_have_is_reported():
    node = helper.make_node("Relu", ["x"], ["a", "extra"])
    model = make_model([node], {"x": (1, 4)}, ["a"])
    assert load(model).nodes[0].op == "Relu"
    model.graph.output.append(helper.make_tensor_value_info("extra", TensorProto.FLOAT, None))
    with pytest.raises(UnsupportedError, match="the output 'extra' is used; only the first one"):
        load(model)


def test_subgraphs_are_reported():
    branch = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["b"])],
        "branch",
        [],
        [helper.make_tensor_value_info("b", TensorProto.FLOAT, None)],
    )
    node = helper.make_node(
        "If", ["c"], ["y"], name="choice", then_branch=branch, else_branch=branch
    )
    model = make_model([node], {"x": (3,), "c": ()}, ["y"], dtypes={"c": TensorProto.BOOL})
    with pytest.raises(UnsupportedError, match=r"'choice' \(If\)"):
        load(model)


def test_the_file_is_not_changed(tmp_path):
    model = relu_model(("batch", 3))
    before = model.SerializeToString()
    load(model, dims={"batch": 2})
    assert model.SerializeToString() == before
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    assert load(str(path), dims={"batch": 2}) == load(model, dims={"batch": 2})


def test_a_file_gives_its_name_to_the_model(tmp_path):
    path = tmp_path / "Detector-v2.onnx"
    onnx.save(relu_model((1, 3)), path)
    assert load(path).name == "Detector-v2"
    assert load(relu_model((1, 3))).name == "net"
