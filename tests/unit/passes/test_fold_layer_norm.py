"""Scale and bias of normalisations in the products behind them, and where they stay."""

import numpy as np
import pytest

from ago.frontend import GraphBuilder
from ago.ir.evaluate import evaluate
from ago.passes import fold_layer_norm

DEPTH, WIDTH = 6, 4


@pytest.fixture
def b():
    return GraphBuilder()


def constant(b, *shape, seed=0):
    return b.constant(np.random.default_rng(seed).normal(size=shape))


def norm(b, *affine, op="LayerNormalization", axes=(2,)):
    x = b.input("x", (2, 3, DEPTH))
    return b.apply(op, x, *affine, axes=axes, epsilon=1e-5)


def product(b, x, seed):
    return b.matmul(x, constant(b, DEPTH, WIDTH, seed=seed))


def biased(b, x, seed, *, first=False):
    bias, y = constant(b, WIDTH, seed=seed + 10), product(b, x, seed)
    return b.add(bias, y) if first else b.add(y, bias)


def affine(b):
    return constant(b, DEPTH, seed=1), constant(b, DEPTH, seed=2)


@pytest.mark.parametrize(
    "form",
    [
        lambda b: [biased(b, norm(b, *affine(b)), 3)],
        lambda b: [biased(b, n := norm(b, *affine(b)), 3), biased(b, n, 4, first=True)],
        lambda b: [product(b, norm(b, affine(b)[0]), 3)],
        lambda b: [product(b, norm(b, affine(b)[0], op="RMSNormalization"), 3)],
    ],
)
def test_the_products_take_scale_and_bias(b, form):
    graph = b.build(*form(b))
    after = fold_layer_norm(graph)
    after.verify()
    assert [len(n.inputs) for n in after.nodes if "Normalization" in n.op] == [1]
    feeds = {"x": np.random.default_rng(5).normal(size=(2, 3, DEPTH))}
    wanted, got = evaluate(graph, feeds), evaluate(after, feeds)
    for name in graph.outputs:
        np.testing.assert_allclose(got[name], wanted[name], rtol=1e-5, atol=1e-5)
    assert fold_layer_norm(after) == after


@pytest.mark.parametrize(
    "form",
    [
        lambda b: [product(b, norm(b, *affine(b)), 3)],
        lambda b: [biased(b, n := norm(b, *affine(b)), 3), n],
        lambda b: [biased(b, n := norm(b, *affine(b)), 3), b.relu(n)],
        lambda b: [b.add(p := product(b, norm(b, *affine(b)), 3), constant(b, WIDTH)), p],
        lambda b: [b.add(product(b, norm(b, *affine(b)), 3), constant(b, 3, WIDTH))],
        lambda b: [biased(b, norm(b, constant(b, 1), axes=(2,)), 3)],
        lambda b: [biased(b, norm(b, constant(b, 3, DEPTH), axes=(1, 2)), 3)],
        lambda b: [b.matmul(constant(b, 2, 5, 3), norm(b, affine(b)[0]))],
    ],
)
def test_where_they_stay(b, form):
    graph = b.build(*form(b))
    assert fold_layer_norm(graph) == graph
