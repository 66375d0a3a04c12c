"""Attention turned so that its rows lie side by side, and where it stays."""

import numpy as np
import pytest

from ago.frontend import GraphBuilder
from ago.ir.evaluate import evaluate
from ago.passes import compose_movement, postpone_softmax, turn_rows

ROWS, COLUMNS, DEPTH, WIDTH = 8, 12, 5, 6


@pytest.fixture
def b():
    return GraphBuilder()


@pytest.fixture
def q(b):
    return b.input("q", (2, ROWS, DEPTH))


@pytest.fixture
def k(b):
    return b.input("k", (2, DEPTH, COLUMNS))


@pytest.fixture
def v(b):
    return b.input("v", (2, COLUMNS, WIDTH))


def softmax(b, x, axis=2):
    return b.apply("Softmax", x, axes=(axis,))


def constant(b, *shape):
    return b.constant(np.random.default_rng(0).normal(size=shape))


def random_feeds(graph):
    rng = np.random.default_rng(1)
    return {name: rng.normal(0, 3, graph.types[name].shape) for name in graph.inputs}


def assert_equal(graph, after):
    after.verify()
    feeds = random_feeds(graph)
    wanted, got = evaluate(graph, feeds), evaluate(after, feeds)
    for name in graph.outputs:
        np.testing.assert_allclose(got[name], wanted[name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "mask",
    [(), (COLUMNS,), (ROWS, 1), (1, COLUMNS), (ROWS, COLUMNS), (2, 1, COLUMNS)],
    ids=str,
)
@pytest.mark.parametrize("postponed", [False, True])
def test_rows_are_turned_with_whatever_is_added(b, q, k, v, mask, postponed):
    scores = b.add(b.matmul(q, k), constant(b, *mask))
    graph = b.build(b.matmul(softmax(b, scores), v))
    graph = postpone_softmax(graph) if postponed else graph
    after = turn_rows(graph, ROWS)
    assert_equal(graph, after)
    products = [n for n in after.nodes if n.op == "MatMul"]
    assert [n.type.shape for n in products] == [(2, COLUMNS, ROWS), (2, WIDTH, ROWS)]
    assert {n.attrs["axes"] for n in after.nodes if n.op in ("Softmax", "SoftmaxPowers")} == {(1,)}
    moved = [n.inputs[0] for n in after.nodes if n.op in ("Transpose", "Reshape")]
    assert not any(value in after.params for value in moved)
    assert turn_rows(after, COLUMNS) == after


def test_only_the_queries_move(b):
    """Heads are views of a joint product; what is turned back is a view for the next product."""
    qkv = b.matmul(b.input("x", (1, ROWS, DEPTH)), constant(b, DEPTH, 3 * WIDTH))
    parts = [
        b.apply("Slice", qkv, starts=(0, 0, n * WIDTH), steps=(1, 1, 1), shape=(1, ROWS, WIDTH))
        for n in range(3)
    ]
    q, k, v = (
        b.apply("Transpose", b.reshape(part, (1, ROWS, 2, WIDTH // 2)), perm=perm)
        for part, perm in zip(parts, [(0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)], strict=True)
    )
    out = b.matmul(softmax(b, b.matmul(q, k), 3), v)
    joined = b.reshape(b.apply("Transpose", out, perm=(0, 2, 1, 3)), (1, ROWS, WIDTH))
    graph = b.build(b.matmul(joined, constant(b, WIDTH, 4)))
    after = compose_movement(turn_rows(graph, ROWS))
    assert_equal(graph, after)
    assert [n.op for n in after.nodes].count("Rearrange") == 4


def shared_mask(b, q, k, v):
    mask = b.input("mask", (ROWS, COLUMNS))
    scores = b.matmul(q, k)
    one = b.matmul(softmax(b, b.add(scores, mask)), v)
    return [one, b.matmul(softmax(b, b.mul(b.matmul(b.relu(q), k), mask)), v)]


def test_what_two_of_them_read_is_transposed_once(b, q, k, v):
    graph = b.build(*shared_mask(b, q, k, v))
    after = turn_rows(graph, ROWS)
    assert_equal(graph, after)
    assert [n.inputs for n in after.nodes if n.op == "Transpose"].count(("mask",)) == 1


@pytest.mark.parametrize(
    "form",
    [
        lambda b, q, k, v: [b.matmul(b.relu(b.matmul(q, k)), v)],
        lambda b, q, k, v: [b.matmul(softmax(b, b.matmul(q, k), 1), v)],
        lambda b, q, k, v: [b.matmul(s := softmax(b, b.matmul(q, k)), v), s],
        lambda b, q, k, v: [b.matmul(s := softmax(b, b.matmul(q, k)), v), softmax(b, s, 1)],
        lambda b, q, k, v: [b.matmul(constant(b, 2, 4, ROWS), softmax(b, b.matmul(q, k)))],
        lambda b, q, k, v: [b.matmul(softmax(b, b.matmul(q, constant(b, DEPTH, COLUMNS))), v)],
        lambda b, q, k, v: [softmax(b, b.matmul(q, k))],
    ],
)
def test_where_it_stays(b, q, k, v, form):
    graph = b.build(*form(b, q, k, v))
    assert turn_rows(graph, ROWS) == graph


def test_few_rows_stay(b, q, k, v):
    graph = b.build(b.matmul(softmax(b, b.matmul(q, k)), v))
    assert turn_rows(graph, ROWS + 1) == graph
