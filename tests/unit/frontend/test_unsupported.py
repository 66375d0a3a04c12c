"""Reports of all that a model holds and the importer does not read."""

import pytest
from onnx import helper

from ago.errors import UnsupportedError
from ago.frontend import load
from tests.support.onnx_models import make_model


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
    relu = helper.make_node("Relu", ["x"], ["y"], name="relu")
    model = make_model([relu], {"x": (1, 3)}, ["y"])
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
