"""Factors folded into weights, and where that would change what others see."""

import numpy as np
import pytest

from ago.frontend import GraphBuilder
from ago.ir.evaluate import evaluate
from ago.passes import fold_scales

TOKENS, HEADS, DEPTH = 6, 2, 4
WIDTH = HEADS * DEPTH


@pytest.fixture
def b():
    return GraphBuilder()


@pytest.fixture
def x(b):
    return b.input("x", (1, TOKENS, WIDTH))


def constant(b, *shape):
    return b.constant(np.random.default_rng(sum(shape)).normal(size=shape))


def linear(b, x, columns):
    return b.add(b.matmul(x, constant(b, x.shape[-1], columns)), constant(b, columns))


def part(b, joint, number):
    """Queries, keys or values of a joint product, as heads."""
    split = b.reshape(joint, (1, TOKENS, 3, HEADS, DEPTH))
    moved = b.apply("Transpose", split, perm=(2, 0, 3, 1, 4))
    starts, shape = (number, 0, 0, 0, 0), (1, 1, HEADS, TOKENS, DEPTH)
    mine = b.apply("Slice", moved, starts=starts, steps=(1,) * 5, shape=shape)
    return b.reshape(mine, shape[1:])


def scores(b, q, k):
    return b.matmul(q, b.apply("Transpose", k, perm=(0, 1, 3, 2)))


def ops(graph):
    return [node.op for node in graph.nodes]


def folded(graph):
    """The graph after the pass, which must compute the same."""
    after = fold_scales(graph)
    after.verify()
    feeds = {"x": np.random.default_rng(0).normal(size=graph.types["x"].shape).astype(np.float32)}
    wanted, got = evaluate(graph, feeds), evaluate(after, feeds)
    for name in graph.outputs:
        np.testing.assert_allclose(got[name], wanted[name], rtol=1e-5, atol=1e-6)
    return after


def test_queries_and_keys_of_a_joint_product(b, x):
    joint = linear(b, x, 3 * WIDTH)
    q, k, v = (part(b, joint, number) for number in range(3))
    product = b.matmul(scores(b, b.mul(q, 0.5), b.mul(k, 0.25)), v)
    graph = folded(b.build(product))
    assert "Mul" not in ops(graph)
    (weight,) = (a for a in graph.params.values() if a.ndim == 2)
    before = np.random.default_rng(WIDTH + 3 * WIDTH).normal(size=weight.shape)
    factors = np.repeat([0.5, 0.25, 1.0], WIDTH)
    np.testing.assert_allclose(weight, before * factors, rtol=1e-6)


@pytest.mark.parametrize("scale", [lambda b, s: b.mul(s, 0.5), lambda b, s: b.div(s, 2.0)])
def test_scaled_scores_scale_the_queries(b, x, scale):
    q, k = (b.reshape(linear(b, x, WIDTH), (1, TOKENS, HEADS, DEPTH)) for _ in range(2))
    heads = [b.apply("Transpose", value, perm=(0, 2, 1, 3)) for value in (q, k)]
    graph = folded(b.build(b.relu(scale(b, scores(b, *heads)))))
    assert not {"Mul", "Div"} & set(ops(graph))


@pytest.mark.parametrize("trans", [0, 1])
def test_a_gemm_with_a_bias(b, trans):
    x = b.input("x", (TOKENS, WIDTH))
    weight = constant(b, 3, WIDTH) if trans else constant(b, WIDTH, 3)
    graph = folded(b.build(b.relu(b.mul(b.gemm(x, weight, constant(b, 3), trans_b=trans), 0.5))))
    assert ops(graph) == ["Gemm", "Relu"]


def test_the_weights_of_another_product_stay(b, x):
    weight = constant(b, WIDTH, WIDTH)
    scaled = b.mul(b.matmul(x, weight), 0.5)
    graph = folded(b.build(b.add(scaled, b.matmul(b.relu(x), weight))))
    assert "Mul" not in ops(graph)
    assert len(graph.params) == 2


def read_elsewhere(b, x):
    y = linear(b, x, WIDTH)
    return [b.add(b.mul(y, 0.5), y)]


def an_output(b, x):
    y = linear(b, x, WIDTH)
    return [b.relu(b.mul(y, 0.5)), y]


def the_result(b, x):
    return [b.mul(linear(b, x, WIDTH), 0.5)]


def overlapping(b, x):
    y = linear(b, x, WIDTH)
    shape = (1, TOKENS, 5)
    first, last = (
        b.apply("Slice", y, starts=(0, 0, start), steps=(1, 1, 1), shape=shape) for start in (0, 3)
    )
    return [b.add(b.mul(first, 0.5), last)]


def rows_apart(b, x):
    y = linear(b, x, WIDTH)
    shape = (1, 3, WIDTH)
    first, last = (
        b.apply("Slice", y, starts=(0, start, 0), steps=(1, 1, 1), shape=shape) for start in (0, 3)
    )
    return [b.add(b.mul(first, 0.5), last)]


def behind_a_function(b, x):
    return [b.relu(b.mul(b.relu(linear(b, x, WIDTH)), 0.5))]


def squared(b, x):
    y = b.reshape(linear(b, x, TOKENS), (TOKENS, TOKENS))
    return [b.relu(b.mul(b.matmul(y, y), 0.5))]


def by_a_vector(b, x):
    return [b.relu(b.mul(linear(b, x, WIDTH), constant(b, WIDTH)))]


def enlarged(b, x):
    return [b.relu(b.mul(linear(b, x, WIDTH), 1e30))]


def with_a_residual(b, x):
    return [b.relu(b.mul(b.add(b.matmul(x, constant(b, WIDTH, WIDTH)), x), 0.5))]


@pytest.mark.parametrize(
    "form",
    [
        *(read_elsewhere, an_output, the_result, overlapping, rows_apart, behind_a_function),
        *(squared, by_a_vector, enlarged, with_a_residual),
    ],
)
def test_what_stays(b, x, form):
    graph = b.build(*form(b, x))
    assert fold_scales(graph) == graph
