"""Control flow whose course is known: loops and scans are unrolled."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from ago.errors import UnsupportedError
from ago.frontend import load
from tests.support.onnx_models import integers, make_model, run_ago, run_reference

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name, element=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, element, shape)


def loop_body(condition):
    """`carried = carried * 2 + x`, with `x` captured; collects what was carried before."""
    nodes = [
        helper.make_node("Add", ["a", "a"], ["twice"]),
        helper.make_node("Add", ["twice", "x"], ["next"]),
        helper.make_node("Identity", ["a"], ["row"]),
        *condition,
    ]
    inputs = [info("i", INT64, ()), info("going", BOOL, ()), info("a", FLOAT, (2,))]
    outputs = [info("still", BOOL, ()), info("next", FLOAT, (2,)), info("row", FLOAT, (2,))]
    limit = numpy_helper.from_array(np.array(2, np.int64), "two")
    return helper.make_graph(nodes, "body", inputs, outputs, [limit])


ALWAYS = [helper.make_node("Identity", ["going"], ["still"])]
UNTIL_TWO = [helper.make_node("Less", ["i", "two"], ["still"])]


def loop_model(condition, weights, outputs=("y", "rows")):
    node = helper.make_node(
        "Loop", ["m", "c", "x"], ["last", "rows"], name="loop", body=loop_body(condition)
    )
    nodes = [node, helper.make_node("Relu", ["last"], ["y"])]
    return make_model(nodes, {"x": (2,)}, outputs, weights)


@pytest.mark.parametrize(("condition", "turns"), [(ALWAYS, 5), (UNTIL_TWO, 3)])
@pytest.mark.parametrize("output", ["y", "rows"])
def test_a_loop_of_constant_length_is_unrolled(condition, turns, output):
    weights = {"m": np.array(5, np.int64), "c": np.array(True)}
    model = loop_model(condition, weights, (output,))
    feeds = {"x": integers((2,))}
    result = run_ago(model, feeds)
    np.testing.assert_array_equal(result, run_reference(model, feeds))
    if output == "rows":
        assert result.shape == (turns, 2)


def test_a_loop_that_makes_no_iteration_passes_its_inputs_on():
    weights = {"m": np.array(5, np.int64), "c": np.array(False)}
    model = loop_model(ALWAYS, weights, ("y",))
    np.testing.assert_array_equal(run_ago(model, {"x": [-1.0, 2.0]}), [0, 2])
    with pytest.raises(UnsupportedError, match="'rows' is empty"):
        load(loop_model(ALWAYS, weights))


def test_a_loop_over_data_is_refused():
    model = loop_model(ALWAYS, {"c": np.array(True)})
    model.graph.input.append(info("m", INT64, ()))
    with pytest.raises(UnsupportedError, match=r"number of iterations 'm' .* constants=\{'m'") as e:
        load(model)
    assert e.value.open_inputs == ("m",)


def test_a_loop_that_is_too_long_is_refused():
    weights = {"m": np.array(10**9, np.int64), "c": np.array(True)}
    node = helper.make_node("Loop", ["m", "c", "x"], ["y"], name="loop", body=idle_body())
    with pytest.raises(UnsupportedError, match="too many to unroll"):
        load(make_model([node], {"x": (2,)}, ["y"], weights))


def idle_body():
    nodes = [
        helper.make_node("Identity", ["going"], ["still"]),
        *(helper.make_node("Identity", ["a"], [f"b{k}"]) for k in range(9_999)),
        helper.make_node("Identity", ["b0"], ["next"]),
    ]
    inputs = [info("i", INT64, ()), info("going", BOOL, ()), info("a", FLOAT, (2,))]
    return helper.make_graph(nodes, "body", inputs, [info("still", BOOL, ()), info("next")])


def scan_model(**attrs):
    nodes = [
        helper.make_node("Add", ["sum", "column"], ["next"]),
        helper.make_node("Mul", ["next", "k"], ["row"]),
    ]
    body = helper.make_graph(
        nodes,
        "body",
        [info("sum", FLOAT, (3,)), info("column", FLOAT, (3,))],
        [info("next", FLOAT, (3,)), info("row", FLOAT, (3,))],
    )
    node = helper.make_node(
        "Scan", ["zero", "x"], ["y", "rows"], name="scan", body=body, num_scan_inputs=1, **attrs
    )
    weights = {"zero": np.zeros(3, np.float32), "k": np.array([1, 2, 3], np.float32)}
    return make_model([node], {"x": (3, 4) if attrs else (4, 3)}, ["rows"], weights)


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"scan_input_axes": [1]},
        {"scan_input_axes": [-1], "scan_output_axes": [1]},
        {"scan_input_axes": [1], "scan_input_directions": [1], "scan_output_directions": [1]},
    ],
)
def test_a_scan_is_unrolled(attrs):
    feeds = {"x": integers((3, 4) if attrs else (4, 3))}
    x = feeds["x"].T if attrs else feeds["x"]
    back = "scan_input_directions" in attrs
    rows = np.cumsum(x[::-1] if back else x, axis=0) * [1, 2, 3]
    rows = rows[::-1] if back else rows
    wanted = rows.T if "scan_output_axes" in attrs else rows
    np.testing.assert_array_equal(run_ago(scan_model(**attrs), feeds), wanted)
