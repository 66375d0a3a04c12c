"""Nodes that mean several canonical ones: expansions, function bodies, chosen branches."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from ago.errors import ModelError, UnsupportedError
from ago.frontend import load
from ago.frontend.draft import GraphDraft
from ago.frontend.onnx_ops import Context, Expansion, RefusalError
from ago.frontend.raw import RawNode
from ago.ir.evaluate import evaluate
from ago.ir.graph import TensorType
from tests.support.onnx_models import integers, make_model

X = TensorType((2, 3))


def expansion(outputs=("y",), taken=()):
    node = RawNode("swing", "Swing", "", 1, ("x",), outputs, {})
    return Expansion(node, Context({"x": X}, {}, {"x", *outputs, *taken}))


def finished(parts, outputs=("y",), wanted=("y",)):
    draft = GraphDraft({"x": X})
    draft.taken.update(outputs)
    draft.append("swing", parts, outputs)
    return draft.finish("net", wanted)


def test_parts_are_named_after_the_node():
    parts = expansion()
    one = parts.constant("one", np.ones(3, np.float32))
    more = parts.add("more", "Add", "x", one)
    assert parts.type(more) == X
    graph = finished(parts.result("Relu", more))
    assert [(n.name, n.op, n.inputs, n.outputs) for n in graph.nodes] == [
        ("swing/more", "Add", ("x", "swing/one"), ("swing/more",)),
        ("swing", "Relu", ("swing/more",), ("y",)),
    ]


def test_names_that_are_taken_are_not_given_again():
    parts = expansion(taken=("swing/more",))
    assert parts.add("more", "Relu", "x") == "swing/more_1"
    assert parts.add("more", "Relu", "x") == "swing/more_2"


def test_a_part_that_does_not_fit_is_an_error():
    parts = expansion()
    wrong = parts.constant("c", np.ones(2, np.float32))
    with pytest.raises(ModelError, match="do not broadcast"):
        parts.add("sum", "Add", "x", wrong)


def test_outputs_may_come_from_any_part_or_the_input():
    parts = expansion(("a", "b", "c"))
    half = parts.add("half", "Relu", "x")
    parts.outputs(parts.add("sum", "Add", half, "x"), half, "x")
    graph = finished(parts, ("a", "b", "c"), ("c", "b", "a"))
    result = evaluate(graph, {"x": integers((2, 3))})
    np.testing.assert_array_equal(result["b"], np.maximum(integers((2, 3)), 0))
    np.testing.assert_array_equal(result["a"], result["b"] + result["c"])


def test_an_output_that_no_part_makes_is_refused():
    with pytest.raises(RefusalError, match="the output 'b' is used; only the first one may be"):
        finished(expansion(("a", "b")).result("Relu", "x"), ("a", "b"), ("a",))


def test_an_operator_without_a_translator_is_read_by_its_definition():
    node = helper.make_node("Bernoulli", ["x"], ["y"])
    with pytest.raises(UnsupportedError, match=r"'y' \(Bernoulli\): its definition needs"):
        load(make_model([node], {"x": (2, 3)}, ["y"]))


def branch(op, name):
    node = helper.make_node(op, ["v", "v"] if op == "Add" else ["v"], [name])
    out = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    return helper.make_graph([node], "branch", [], [out])


@pytest.mark.parametrize(("condition", "wanted"), [(True, [[0, 2]]), (False, [[-2, 4]])])
def test_a_branch_with_a_constant_condition_is_chosen(condition, wanted):
    nodes = [helper.make_node("Identity", ["x"], ["v"])]
    for k in range(2):  # the branches' own names are the same in both
        branches = {"then_branch": branch("Relu", "r"), "else_branch": branch("Add", "r")}
        nodes.append(helper.make_node("If", ["c"], [f"y{k}"], name=f"if{k}", **branches))
    weights = {"c": np.array(condition)}
    graph = load(make_model(nodes, {"x": (1, 2)}, ["y0", "y1"], weights))
    result = evaluate(graph, {"x": [[-1.0, 2.0]]})
    np.testing.assert_array_equal(result["y0"], wanted)
    np.testing.assert_array_equal(result["y1"], wanted)


def test_nodes_that_no_output_needs_are_left_out():
    nodes = [
        helper.make_node("Unique", ["x"], ["dead"]),
        helper.make_node("MaxPool", ["x"], ["y", "where"], kernel_shape=[1]),
    ]
    graph = load(make_model(nodes, {"x": (1, 1, 4)}, ["y"]))
    assert [node.op for node in graph.nodes] == ["MaxPool"]
