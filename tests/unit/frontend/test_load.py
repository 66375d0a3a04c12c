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


@pytest.fixture
def external(tmp_path):
    """A model `net/model.onnx` with its weight in a file that the tests may move."""
    folder = tmp_path / "net"
    folder.mkdir()
    weight = integers((3, 3))
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    model = make_model([node], {"x": (2, 3)}, ["y"], {"w": weight})

    def write(location, data=None, **entries):
        tensor = model.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        del tensor.external_data[:]
        for key, value in {"location": location, **entries}.items():
            tensor.external_data.add(key=key, value=str(value))
        (folder / "w.bin").write_bytes(weight.tobytes() if data is None else data)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        return folder / "model.onnx"

    write.weight, write.folder, write.model = weight, folder, model
    return write


def test_external_data_is_read(external):
    graph = load(external("w.bin"))
    np.testing.assert_array_equal(graph.params["w"], external.weight)


def test_external_data_at_an_offset(external):
    data = b"\xff" * 64 + external.weight.tobytes() + b"\xff" * 8
    graph = load(external("w.bin", data, offset=64, length=36))
    np.testing.assert_array_equal(graph.params["w"], external.weight)


def test_external_data_that_is_missing_names_the_file(external):
    with pytest.raises(ModelError, match=r"'gone\.bin' of the tensor 'w' cannot be read"):
        load(external("gone.bin"))


@pytest.mark.parametrize("location", ["../w.bin", "sub/../../w.bin", "/etc/passwd", ""])
def test_external_data_outside_the_folder(external, location):
    (external.folder.parent / "w.bin").write_bytes(external.weight.tobytes())
    with pytest.raises(ModelError, match="lies outside the model's folder"):
        load(external(location))


def test_external_data_behind_a_link_out_of_the_folder(external):
    (external.folder.parent / "secret.bin").write_bytes(external.weight.tobytes())
    (external.folder / "link.bin").symlink_to(external.folder.parent / "secret.bin")
    with pytest.raises(ModelError, match="lies outside the model's folder"):
        load(external("link.bin"))


def test_external_data_at_what_is_no_path(external):
    with pytest.raises(ModelError, match="is no path"):
        load(external("a\0b"))


def test_external_data_that_is_truncated(external):
    with pytest.raises(ModelError, match="truncated: 8 of 36 bytes"):
        load(external("w.bin", b"12345678", length=36))
    with pytest.raises(ModelError, match="'w' is damaged"):
        load(external("w.bin", b"12345678"))


def test_external_data_with_a_bad_offset(external):
    with pytest.raises(ModelError, match="cannot be read"):
        load(external("w.bin", offset=-4, length=36))
    with pytest.raises(ModelError, match="cannot be read"):
        load(external("w.bin", offset="many"))


def test_external_data_of_a_model_in_memory(external):
    external("w.bin")
    with pytest.raises(ModelError, match="load the model from its path"):
        load(external.model)


# Inputs


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


def test_local_functions_are_inlined():
    body = [helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Add", ["a", "b"], ["c"])]
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("mine", 1)]
    function = helper.make_function("mine", "Bump", ["a"], ["c"], body, opsets)
    node = helper.make_node("Bump", ["x"], ["y"], domain="mine")
    model = make_model([node], {"x": (1, 3)}, ["y"])
    model.opset_import.append(opsets[1])
    model.functions.append(function)
    graph = load(model)
    assert [n.op for n in graph.nodes] == ["Relu", "Add"]
    result = evaluate(graph, {"x": [[-1.0, 0.0, 2.0]]})["y"]
    np.testing.assert_array_equal(result, [[-1, 0, 4]])


def make_function(name, nodes, inputs, outputs, **options):
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("mine", 1)]
    return helper.make_function("mine", name, inputs, outputs, nodes, opsets, **options)


def model_with_functions(node, *functions):
    model = make_model([node], {"x": (1, 3)}, ["y"])
    model.opset_import.append(helper.make_opsetid("mine", 1))
    model.functions.extend(functions)
    return model


def with_reference(node, name, reference):
    node.attribute.append(onnx.AttributeProto(name=name, ref_attr_name=reference, type=2))
    return node


def test_functions_call_functions_and_hand_attributes_on():
    flat = with_reference(helper.make_node("Flatten", ["a"], ["b"]), "axis", "from")
    inner = make_function("Inner", [flat], ["a"], ["b"], attributes=["from"])
    calls = [helper.make_node("Inner", ["a"], [v], domain="mine") for v in ("b", "c")]
    with_reference(calls[0], "from", "first")
    calls[1].attribute.append(helper.make_attribute("from", 2))
    default = [helper.make_attribute("first", 0)]
    outer = make_function("Outer", calls, ["a"], ["b", "c"], attribute_protos=default)
    node = helper.make_node("Outer", ["x"], ["y", "z"], domain="mine", name="call")
    model = model_with_functions(node, inner, outer)
    model.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, None))
    graph = load(model)
    assert [graph.types[value].shape for value in ("y", "z")] == [(1, 3), (3, 1)]
    assert [node.name for node in graph.nodes] == ["call/b/b", "call/c/b"]


def test_a_function_that_calls_itself_is_an_error():
    node = helper.make_node("Echo", ["x"], ["y"], domain="mine")
    echo = make_function("Echo", [helper.make_node("Echo", ["a"], ["b"], domain="mine")], "a", "b")
    with pytest.raises(ModelError, match="nested more than 64 deep"):
        load(model_with_functions(node, echo))


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


def test_all_unsupported_nodes_are_reported_at_once():
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="fine"),
        helper.make_node("Bernoulli", ["a"], ["b"], name="first"),
        helper.make_node("Relu", ["b"], ["c"], name="behind"),
        helper.make_node("FancyOp", ["c"], ["d"], name="second", domain="com.acme"),
        helper.make_node("Relu", ["d"], ["e"], name="unknown"),
        helper.make_node("Unique", ["e"], ["y"], name="third"),
    ]
    model = make_model(nodes, {"x": (1, 3)}, ["y"])
    model.opset_import.append(helper.make_opsetid("com.acme", 1))
    with pytest.raises(UnsupportedError) as error:
        load(model)
    assert error.value.problems == (
        "node 'first' (Bernoulli): its definition needs RandomUniformLike: the operator is not "
        "supported; inputs: f32[1,3]",
        "node 'second' (com.acme.FancyOp): domain 'com.acme' is unknown; inputs: f32[1,3]",
        "node 'third' (Unique): the operator is not supported; inputs: ?",
    )


def test_an_attribute_that_the_operator_does_not_have_is_reported():
    model = relu_model()
    model.graph.node[0].attribute.append(helper.make_attribute("slope", 0.1))
    with pytest.raises(UnsupportedError, match=r"no attribute 'slope' in opset 21; .* slope=0\.1"):
        load(model)


def test_a_report_shows_the_attributes_shortened():
    node = helper.make_node(
        "Swirl", ["x", "w", "r"], ["y"], name="swirl", hidden_size=3, activations=["Sigmoid"] * 9
    )
    shapes = {"x": (1, 1, 2), "w": (1, 12, 2), "r": (1, 12, 3)}
    with pytest.raises(UnsupportedError) as error:
        load(make_model([node], shapes, ["y"]))
    (problem,) = error.value.problems
    assert "the operator is not supported; attributes: activations=('Sigmoid'" in problem
    assert "..., hidden_size=3; inputs: f32[1,1,2], f32[1,12,2], f32[1,12,3]" in problem


def test_consequences_of_an_unsupported_node_are_not_reported():
    nodes = [
        helper.make_node("NonZero", ["x"], ["where"], name="cause"),
        helper.make_node("Squeeze", ["where"], ["shape"], name="between"),
        helper.make_node("Reshape", ["x", "shape"], ["y"], name="consequence"),
    ]
    with pytest.raises(UnsupportedError) as error:
        load(make_model(nodes, {"x": (1, 3)}, ["y"]))
    assert [problem.split("'")[1] for problem in error.value.problems] == ["cause"]


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
