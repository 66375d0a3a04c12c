"""The graph interpreter."""

import numpy as np
import pytest

from ago.errors import InputError
from ago.frontend import GraphBuilder
from ago.ir.evaluate import evaluate


def graph():
    b = GraphBuilder()
    x = b.input("x", (2, 3))
    doubled = b.mul(x, 2.0, name="doubled")
    return b.build(b.relu(doubled, name="y"), doubled)


def test_outputs_come_in_the_graphs_order():
    result = evaluate(graph(), {"x": np.array([[1, -1, 0], [2, 3, -4]])})
    assert list(result) == ["y", "doubled"]
    np.testing.assert_array_equal(result["y"], [[2, 0, 0], [4, 6, 0]])
    np.testing.assert_array_equal(result["doubled"], [[2, -2, 0], [4, 6, -8]])


def test_keep_all_returns_every_node():
    b = GraphBuilder()
    y = b.relu(b.relu(b.input("x", (1,)), name="middle"), name="y")
    assert list(evaluate(b.build(y), {"x": [1.0]})) == ["y"]
    assert list(evaluate(b.build(y), {"x": [1.0]}, keep="all")) == ["middle", "y"]


def test_wrong_feeds_are_refused():
    with pytest.raises(InputError, match="expected inputs"):
        evaluate(graph(), {})
    with pytest.raises(InputError, match="expected inputs"):
        evaluate(graph(), {"x": np.zeros((2, 3)), "z": np.zeros(1)})
    with pytest.raises(InputError, match=r"must have the shape \(2, 3\)"):
        evaluate(graph(), {"x": np.zeros((3, 2))})
