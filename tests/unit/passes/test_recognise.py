"""Operators recognised in primitives, and what only looks like one."""

import numpy as np
import pytest

from ago.frontend import GraphBuilder
from ago.ir.evaluate import evaluate
from ago.passes import recognise_activations, recognise_layer_norm

HALF_ROOT = 0.7071067690849304  # the float32 next to the square root of 1/2
ROOT_2_PI = 0.7978845834732056
CUBIC = 0.044714998453855515


@pytest.fixture
def b():
    return GraphBuilder()


@pytest.fixture
def x(b):
    return b.input("x", (3, 8))


def ops(graph):
    return [node.op for node in graph.nodes]


def recognised(graph, rewrite=recognise_activations):
    """The graph after a pass, which must compute the same."""
    after = rewrite(graph)
    after.verify()
    shape = graph.types["x"].shape
    feeds = {"x": np.random.default_rng(0).normal(0, 3, shape).astype(np.float32)}
    wanted, got = evaluate(graph, feeds), evaluate(after, feeds)
    for name in graph.outputs:
        np.testing.assert_allclose(got[name], wanted[name], rtol=1e-6, atol=1e-6)
    assert rewrite(after) == after
    return after


def unchanged(graph, rewrite=recognise_activations):
    assert rewrite(graph) == graph


def one_plus_erf(b, x, scale=HALF_ROOT):
    return b.add(b.apply("Erf", b.mul(x, scale)), 1.0)


def tanh_line(b, x):
    cube = b.mul(b.apply("Pow", x, 3.0), CUBIC)
    return b.apply("Tanh", b.mul(b.add(x, cube), ROOT_2_PI))


# Gelu

GELUS = {
    "divided": lambda b, x: b.mul(b.mul(x, b.add(b.apply("Erf", b.div(x, 2**0.5)), 1.0)), 0.5),
    "half first": lambda b, x: b.mul(b.mul(x, 0.5), one_plus_erf(b, x)),
    "half of the share": lambda b, x: b.mul(b.mul(one_plus_erf(b, x), 0.5), x),
    "over two": lambda b, x: b.div(b.mul(one_plus_erf(b, x), x), 2.0),
}


@pytest.mark.parametrize("form", GELUS)
def test_a_gelu_of_erf(b, x, form):
    (node,) = recognised(b.build(GELUS[form](b, x))).nodes
    assert (node.op, dict(node.attrs), node.inputs) == ("Gelu", {"approximate": "none"}, ("x",))


TANH_GELUS = {
    "power": lambda b, x: b.mul(b.mul(x, 0.5), b.add(tanh_line(b, x), 1.0)),
    "product": lambda b, x: b.mul(
        b.mul(
            x,
            b.add(
                1.0,
                b.apply(
                    "Tanh",
                    b.mul(ROOT_2_PI, b.add(b.mul(b.mul(b.mul(x, x), x), CUBIC), x)),
                ),
            ),
        ),
        0.5,
    ),
    "factored": lambda b, x: b.mul(
        b.mul(x, 0.5),
        b.add(
            b.apply(
                "Tanh",
                b.mul(b.mul(b.add(b.mul(b.mul(x, CUBIC), x), 1.0), x), ROOT_2_PI),
            ),
            1.0,
        ),
    ),
}


@pytest.mark.parametrize("form", TANH_GELUS)
def test_a_gelu_of_tanh(b, x, form):
    (node,) = recognised(b.build(TANH_GELUS[form](b, x))).nodes
    assert (node.op, dict(node.attrs), node.inputs) == ("Gelu", {"approximate": "tanh"}, ("x",))


def test_an_argument_that_is_a_sum_with_1_stays(b, x):
    shifted = b.add(x, 1.0)
    graph = recognised(b.build(TANH_GELUS["factored"](b, shifted)))
    assert ops(graph) == ["Add", "Gelu"]


NO_GELUS = {
    "another scale": lambda b, x: b.mul(b.mul(x, one_plus_erf(b, x, 0.7)), 0.5),
    "no half": lambda b, x: b.mul(x, one_plus_erf(b, x)),
    "a third": lambda b, x: b.mul(b.mul(x, one_plus_erf(b, x)), 0.3),
    "another value": lambda b, x: b.mul(b.mul(b.relu(x), one_plus_erf(b, x)), 0.5),
    "squared": lambda b, x: b.mul(b.mul(b.mul(x, x), one_plus_erf(b, x)), 0.5),
    "minus": lambda b, x: b.mul(b.mul(x, b.sub(one_plus_erf(b, x), 2.0)), 0.5),
    "another cubic": lambda b, x: b.mul(
        b.mul(x, 0.5),
        b.add(
            b.apply("Tanh", b.mul(b.add(x, b.mul(b.apply("Pow", x, 3.0), 0.04)), ROOT_2_PI)), 1.0
        ),
    ),
    "a square": lambda b, x: b.mul(
        b.mul(x, 0.5),
        b.add(b.apply("Tanh", b.mul(b.add(x, b.mul(b.mul(x, x), CUBIC)), ROOT_2_PI)), 1.0),
    ),
    "a wider product": lambda b, x: b.mul(
        b.mul(b.constant(np.full((2, 1, 1), 0.5)), x), one_plus_erf(b, x)
    ),
}


@pytest.mark.parametrize("form", NO_GELUS)
def test_what_is_no_gelu(b, x, form):
    unchanged(b.build(NO_GELUS[form](b, x)))


def test_a_gelu_whose_share_is_an_output(b, x):
    share = one_plus_erf(b, x)
    unchanged(b.build(b.mul(b.mul(x, share), 0.5), share))


def test_a_gelu_whose_share_is_read_again(b, x):
    share = one_plus_erf(b, x)
    unchanged(b.build(b.add(b.mul(b.mul(x, share), 0.5), share)))


def test_a_gelu_whose_half_is_read_again(b, x):
    half = b.mul(x, 0.5)
    unchanged(b.build(b.add(b.mul(half, one_plus_erf(b, x)), half)))


# SiLU and hard-swish


def test_a_silu(b, x):
    (node,) = recognised(b.build(b.mul(b.apply("Sigmoid", x), x))).nodes
    assert (node.op, dict(node.attrs)) == ("Swish", {"alpha": 1.0})


def test_a_swish_with_a_factor(b, x):
    (node,) = recognised(b.build(b.mul(x, b.apply("Sigmoid", b.mul(x, 1.5))))).nodes
    assert (node.op, dict(node.attrs)) == ("Swish", {"alpha": 1.5})


def test_a_silu_of_a_multiple(b, x):
    y = b.mul(x, 1.5)
    graph = recognised(b.build(b.mul(y, b.apply("Sigmoid", y))))
    assert ops(graph) == ["Mul", "Swish"]


def test_a_chain_of_silus(b, x):
    for _ in range(3):
        x = b.mul(x, b.apply("Sigmoid", x))
    assert ops(recognised(b.build(x))) == ["Swish"] * 3


@pytest.mark.parametrize(
    "form",
    [
        lambda b, x: b.mul(b.relu(x), b.apply("Sigmoid", x)),
        lambda b, x: b.add(x, b.apply("Sigmoid", x)),
        lambda b, x: b.div(x, b.apply("Sigmoid", x)),
        lambda b, x: b.mul(b.mul(x, 2.0), b.mul(b.apply("Sigmoid", x), 2.0)),
        lambda b, x: b.mul(x, b.clip(b.add(x, 3.0), 0.0, 6.0)),
        lambda b, x: b.div(b.mul(x, b.clip(b.add(x, 2.0), 0.0, 6.0)), 6.0),
        lambda b, x: b.div(b.mul(x, b.clip(b.add(x, 3.0), 0.0, 5.0)), 6.0),
        lambda b, x: b.mul(x, b.apply("HardSigmoid", x, alpha=0.2, beta=0.5)),
    ],
)
def test_what_is_no_swish(b, x, form):
    unchanged(b.build(form(b, x)))


def test_a_silu_whose_sigmoid_is_an_output(b, x):
    share = b.apply("Sigmoid", x)
    unchanged(b.build(b.mul(x, share), share))


@pytest.mark.parametrize(
    "form",
    [
        lambda b, x: b.div(b.mul(x, b.clip(b.add(x, 3.0), 0.0, 6.0)), 6.0),
        lambda b, x: b.mul(x, b.mul(b.clip(b.add(3.0, x), 0.0, 6.0), 1.0 / 6.0)),
        lambda b, x: b.mul(x, b.apply("HardSigmoid", x, alpha=1.0 / 6.0, beta=0.5)),
    ],
)
def test_a_hard_swish(b, x, form):
    assert ops(recognised(b.build(form(b, x)))) == ["HardSwish"]


# Layer normalisation


def mean(b, x, axes=(1,), keepdims=1):
    return b.apply("ReduceMean", x, axes=axes, keepdims=keepdims)


def normal(b, x, square=lambda b, d: b.apply("Pow", d, 2.0), axes=(1,)):
    distance = b.sub(x, mean(b, x, axes))
    variance = mean(b, square(b, distance), axes)
    return b.div(distance, b.apply("Sqrt", b.add(variance, 1e-5)))


def test_a_layer_norm(b, x):
    rng = np.random.default_rng(1)
    scaled = b.mul(normal(b, x), b.constant(rng.normal(size=8)))
    graph = recognised(b.build(b.add(scaled, b.constant(rng.normal(size=8)))), recognise_layer_norm)
    (node,) = graph.nodes
    assert node.op == "LayerNormalization"
    assert node.attrs["axes"] == (1,)
    assert len(node.inputs) == 3


def test_a_layer_norm_of_both_axes_by_products(b, x):
    graph = b.build(normal(b, x, lambda b, d: b.mul(d, d), (0, 1)))
    (node,) = recognised(graph, recognise_layer_norm).nodes
    assert node.inputs == ("x",)


def test_a_layer_norm_with_a_reciprocal_and_everything_twice(b, x):
    one, other = b.sub(x, mean(b, x)), b.sub(x, mean(b, x))
    root = b.apply("Sqrt", b.add(mean(b, b.mul(one, one)), 1e-5))
    product = b.mul(b.apply("Reciprocal", root), other)
    assert ops(recognised(b.build(product), recognise_layer_norm)) == ["LayerNormalization"]


def test_a_layer_norm_without_a_scale_keeps_its_sum(b, x):
    graph = b.build(b.add(normal(b, x), b.constant(np.ones(8))))
    assert ops(recognised(graph, recognise_layer_norm)) == ["LayerNormalization", "Add"]


def test_a_scale_that_is_wider_stays(b, x):
    graph = b.build(b.mul(normal(b, x), b.constant(np.ones((2, 1, 1)))))
    assert ops(recognised(graph, recognise_layer_norm)) == ["LayerNormalization", "Mul"]


def test_a_normal_that_is_an_output_keeps_its_scale(b, x):
    unscaled = normal(b, x)
    graph = b.build(b.mul(unscaled, b.constant(np.ones(8))), unscaled)
    assert ops(recognised(graph, recognise_layer_norm)) == ["LayerNormalization", "Mul"]


def other_axes(b, x):
    distance = b.sub(x, mean(b, x, (1,)))
    return b.div(distance, b.apply("Sqrt", b.add(mean(b, b.mul(distance, distance), (0,)), 1e-5)))


def other_distance(b, x):
    distance = b.sub(x, mean(b, x))
    return b.div(x, b.apply("Sqrt", b.add(mean(b, b.mul(distance, distance)), 1e-5)))


def read_again(b, x):
    distance = b.sub(x, mean(b, x))
    root = b.apply("Sqrt", b.add(mean(b, b.mul(distance, distance)), 1e-5))
    return b.add(b.div(distance, root), distance)


@pytest.mark.parametrize(
    "form",
    [
        other_axes,
        other_distance,
        read_again,
        lambda b, x: normal(b, x, lambda b, d: b.apply("Pow", d, 3.0)),
        lambda b, x: normal(b, x, lambda b, d: b.mul(d, b.relu(d))),
    ],
)
def test_what_is_no_layer_norm(b, x, form):
    unchanged(b.build(form(b, x)), recognise_layer_norm)
