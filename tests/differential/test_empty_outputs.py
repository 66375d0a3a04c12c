"""Outputs without elements: compiled to nothing, and returned."""

import numpy as np
import pytest
from onnx import helper

import ago
from tests.support.onnx_models import make_model


@pytest.mark.parametrize("outputs", [["y"], ["y", "z"], ["z", "y"]])
def test_an_output_without_elements_costs_no_code(outputs):
    nodes = [
        helper.make_node("Concat", ["x", "x"], ["y"], axis=1),
        helper.make_node("Relu", ["v"], ["z"]),
    ]
    net = ago.optimize(make_model(nodes, {"x": (0, 3), "v": (2,)}, outputs))
    feeds = {"x": np.zeros((0, 3), np.float32), "v": np.array([-1, 2], np.float32)}
    result = net.run(feeds)
    assert list(result) == outputs
    assert result["y"].shape == (0, 6)
    assert len(net.artifact.steps) == len(outputs) - 1
    np.testing.assert_array_equal(result.get("z", [0, 2]), [0, 2])
