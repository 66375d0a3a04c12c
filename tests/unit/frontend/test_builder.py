"""Writing graphs by hand: names, defaults and errors."""

import numpy as np
import pytest

from ago.errors import ModelError
from ago.frontend import GraphBuilder
from ago.ir.evaluate import evaluate


def test_names_are_counted_per_operator_and_parameters_follow_their_node():
    b = GraphBuilder("net")
    x = b.input("x", (1, 2, 5))
    y = b.relu(b.relu(b.conv(x, np.ones((3, 2, 1)), np.ones(3))))
    graph = b.build(y)
    assert [node.name for node in graph.nodes] == ["conv0", "relu0", "relu1"]
    assert set(graph.params) == {"conv0.weight", "conv0.bias"}
    assert {array.dtype for array in graph.params.values()} == {np.dtype(np.float32)}


def test_a_given_name_is_not_given_again():
    b = GraphBuilder()
    x = b.input("relu0", (1,))
    assert b.relu(x).name == "relu1"


def test_scalars_spread_over_the_spatial_axes():
    b = GraphBuilder()
    y = b.conv(b.input("x", (1, 2, 9, 9)), np.ones((4, 1, 3, 3)), strides=2, pads=1, group=2)
    attrs = b.build(y).nodes[0].attrs
    assert attrs["strides"] == (2, 2)
    assert attrs["pads"] == (1, 1, 1, 1)
    assert attrs["dilations"] == (1, 1)
    assert y.shape == (1, 4, 5, 5)


def test_a_parameter_can_be_shared():
    b = GraphBuilder()
    x = b.input("x", (2, 3))
    w = b.constant(np.ones((3, 3)), "w")
    graph = b.build(b.matmul(b.matmul(x, w), w))
    assert set(graph.params) == {"w"}


def test_reshape_infers_one_extent_and_negative_axes_count_from_the_end():
    b = GraphBuilder()
    x = b.input("x", (2, 3, 4, 1))
    assert b.reshape(x, (-1, 8)).shape == (3, 8)
    assert b.flatten(x, 2).shape == (6, 4)
    assert b.reduce_mean(x, -2, keepdims=False).shape == (2, 3, 1)
    assert b.concat([x, x], -1).shape == (2, 3, 4, 2)


def test_each_call_computes_what_it_says():
    b = GraphBuilder()
    x = b.input("x", (1, 1, 2, 2))
    outputs = {
        b.add(x, 1.0): [2, 3, 4, 5],
        b.sub(x, 1.0): [0, 1, 2, 3],
        b.mul(x, 2.0): [2, 4, 6, 8],
        b.div(x, 2.0): [0.5, 1, 1.5, 2],
        b.identity(x): [1, 2, 3, 4],
        b.relu6(b.mul(x, 2.0)): [2, 4, 6, 6],
        b.clip(x, high=3.0): [1, 2, 3, 3],
        b.global_average_pool(x): [2.5],
        b.max_pool(x, 2): [4],
        b.average_pool(x, 2, pads=1, strides=2, count_include_pad=True): [0.25, 0.5, 0.75, 1],
        b.average_pool(x, 2, pads=1, strides=2): [1, 2, 3, 4],
        b.pad(x, (0, 0, 0, -1, 0, 0, 0, 1), 9.0): [2, 9, 4, 9],
        b.batch_norm(x, [2.0], [1.0], [1.0], [0.75], epsilon=0.25): [1, 3, 5, 7],
        b.gemm(b.flatten(x), np.ones((1, 4)), trans_b=True): [10],
    }
    result = evaluate(b.build(*outputs), {"x": [[[[1, 2], [3, 4]]]]})
    for value, wanted in outputs.items():
        np.testing.assert_array_equal(result[value.name].ravel(), wanted, err_msg=value.name)


def test_errors_name_the_call():
    b = GraphBuilder()
    x = b.input("x", (1, 3, 8, 8))
    with pytest.raises(ModelError, match=r"Conv 'stem': .* does not fit the input's 3 channels"):
        b.conv(x, np.ones((4, 2, 3, 3)), name="stem")
    with pytest.raises(ModelError, match=r"Reshape 'reshape0': .* cannot take the shape"):
        b.reshape(x, (5, -1))


def test_names_cannot_be_taken_twice():
    b = GraphBuilder()
    x = b.input("x", (1,))
    with pytest.raises(ModelError, match="'x' is taken"):
        b.relu(x, name="x")
    with pytest.raises(ModelError, match="'x' is taken"):
        b.constant(1.0, "x")
    with pytest.raises(ModelError, match="is empty"):
        b.input("", (1,))


def test_values_of_another_builder_are_refused():
    stranger = GraphBuilder().input("x", (1,))
    with pytest.raises(ModelError, match="'x' is not a value of this builder"):
        GraphBuilder().relu(stranger)


def test_inputs_must_have_positive_extents_and_outputs_a_node():
    b = GraphBuilder()
    with pytest.raises(ModelError, match="must be positive"):
        b.input("x", (0, 3))
    x = b.input("x", (1, 3))
    with pytest.raises(ModelError, match="'x' is not the result of an operator"):
        b.build(x)


def test_any_operator_can_be_applied():
    b = GraphBuilder()
    x = b.input("x", (2, 3))
    y = b.apply("Gemm", x, np.ones((3, 4)), None, trans_a=0, trans_b=0, alpha=1.0, beta=1.0)
    graph = b.build(y)
    assert graph.nodes[0].inputs == ("x", "gemm0.input1", "")
    np.testing.assert_array_equal(
        evaluate(graph, {"x": np.ones((2, 3))})["gemm0"], 3 * np.ones((2, 4))
    )
    with pytest.raises(ModelError, match="operator 'Nonsense' is unknown"):
        b.apply("Nonsense", x)


def test_operands_that_are_no_arrays_are_refused():
    b = GraphBuilder("g")
    x = b.input("x", (2, 3))
    for operand in ([x], [[1.0], [2.0, 3.0]], "text"):
        with pytest.raises(ModelError, match="neither a value nor an array of f32"):
            b.apply("Exp", operand)


def test_inputs_and_constants_of_other_element_types():
    b = GraphBuilder()
    assert b.input("mask", (2,), "bool").type.dtype == "bool"
    assert b.constant([1, 2**62], dtype="i64").type.dtype == "i64"
    with pytest.raises(ModelError, match="unknown element type 'float'"):
        b.input("x", (2,), "float")


def test_a_builder_prints_what_it_holds():
    b = GraphBuilder("net")
    b.relu(b.input("x", (1, 3)))
    assert str(b) == "GraphBuilder('net': inputs x: f32[1,3]; 1 nodes)"


def test_extents_that_are_no_integers_are_refused():
    with pytest.raises(ModelError, match=r"'x': extents of \(1, 1\.5\) must be integers"):
        GraphBuilder().input("x", (1, 1.5))
    with pytest.raises(ModelError, match="must be integers"):
        GraphBuilder().input("x", 3)
    assert GraphBuilder().input("x", (np.int64(2), 3)).shape == (2, 3)


def test_a_graph_without_outputs_is_refused():
    b = GraphBuilder("net")
    b.relu(b.input("x", (1, 3)))
    with pytest.raises(ModelError, match="'net' has no outputs"):
        b.build()


def test_float16_is_refused():
    with pytest.raises(ModelError, match="'x': no code is made for f16"):
        GraphBuilder().input("x", (1, 3), "f16")
