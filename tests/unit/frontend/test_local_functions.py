"""Functions that a model defines for itself."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ago.errors import ModelError
from ago.frontend import load
from ago.ir.evaluate import evaluate
from tests.support.onnx_models import make_model


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
