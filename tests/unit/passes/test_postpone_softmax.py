"""The quotient of a softmax behind the product that reads it, and where it stays."""

import numpy as np
import pytest

from ago.frontend import GraphBuilder
from ago.ir.evaluate import evaluate
from ago.passes import postpone_softmax


@pytest.fixture
def b():
    return GraphBuilder()


@pytest.fixture
def x(b):
    return b.input("x", (2, 5, 8))


def softmax(b, x, axis=2):
    return b.apply("Softmax", x, axes=(axis,))


def values(b, *shape):
    return b.constant(np.random.default_rng(0).normal(size=shape))


@pytest.mark.parametrize("shape", [(8, 4), (2, 8, 4), (3, 1, 8, 4)])
def test_the_quotient_is_applied_to_the_product(b, x, shape):
    graph = b.build(b.matmul(softmax(b, x), values(b, *shape)))
    after = postpone_softmax(graph)
    after.verify()
    assert [n.op for n in after.nodes][-2:] == ["MatMul", "Mul"]
    assert "Softmax" not in {n.op for n in after.nodes}
    feeds = {"x": np.random.default_rng(1).normal(0, 30, (2, 5, 8))}
    feeds["x"][0, 0] = -np.inf
    feeds["x"][0, 1, 3] = np.nan
    feeds["x"][0, 2, 3] = np.inf
    feeds["x"][0, 3, :5] = -np.inf
    ((name, wanted),) = evaluate(graph, feeds).items()
    np.testing.assert_allclose(evaluate(after, feeds)[name], wanted, rtol=1e-12)
    assert postpone_softmax(after) == after


@pytest.mark.parametrize(
    "form",
    [
        lambda b, x: [b.matmul(softmax(b, x, 1), values(b, 8, 4))],
        lambda b, x: [b.matmul(softmax(b, x), values(b, 8, 9))],
        lambda b, x: [b.matmul(softmax(b, x), values(b, 8))],
        lambda b, x: [b.matmul(values(b, 4, 5), softmax(b, x))],
        lambda b, x: [b.mul(softmax(b, x), values(b, 8))],
        lambda b, x: [b.matmul(s := softmax(b, x), values(b, 8, 4)), s],
        lambda b, x: [b.matmul(s := softmax(b, x), values(b, 8, 4)), b.relu(s)],
    ],
)
def test_where_it_stays(b, x, form):
    graph = b.build(*form(b, x))
    assert postpone_softmax(graph) == graph
