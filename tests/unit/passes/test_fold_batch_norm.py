"""Where batch normalisation may go into a contraction, and where it must not."""

import numpy as np
import pytest

from ago.frontend import GraphBuilder
from ago.ir.evaluate import evaluate
from ago.ir.graph import Graph
from ago.passes import explicit_padding, fold_batch_norm
from tests.support.onnx_models import integers


def norm(b, x, **options):
    """Normalise with numbers whose folding is exact: the deviation is 1 or 2."""
    count = x.shape[1]
    scale = np.resize([2.0, -0.5, 4.0], count)
    var = np.resize([0.75, 3.75], count)
    return b.batch_norm(
        x, scale, integers((count,), 5), integers((count,), 6), var, epsilon=0.25, **options
    )


def fold(graph: Graph) -> list[str]:
    """Fold, check that all outputs are bit for bit the same, and return the operators left."""
    folded = fold_batch_norm(graph)
    feeds = {name: integers(graph.types[name].shape, 7) for name in graph.inputs}
    before, after = evaluate(graph, feeds), evaluate(folded, feeds)
    assert list(before) == list(after)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)
    return [node.op for node in folded.nodes]


@pytest.fixture
def b():
    return GraphBuilder()


@pytest.fixture
def x(b):
    return b.input("x", (2, 6, 5, 5))


@pytest.mark.parametrize("bias", [None, integers((12,), 2)])
@pytest.mark.parametrize("group", [1, 2, 6])
@pytest.mark.parametrize("pads", [0, 1])
def test_a_convolution_before_it_takes_it(b, x, bias, group, pads):
    y = norm(b, b.conv(x, integers((12, 6 // group, 3, 3)), bias, group=group, pads=pads))
    assert fold(b.build(y)) == ["Conv"]


@pytest.mark.parametrize("bias", [None, integers((4,)), integers((2, 1)), integers((2, 4))])
@pytest.mark.parametrize("trans_b", [False, True])
def test_a_gemm_before_it_takes_it(b, bias, trans_b):
    x = b.input("x", (2, 3))
    w = integers((4, 3) if trans_b else (3, 4))
    y = b.gemm(x, w, bias, trans_b=trans_b, alpha=0.5, beta=-2.0)
    assert fold(b.build(norm(b, y))) == ["Gemm"]


def test_a_matmul_before_it_takes_it(b):
    x = b.input("x", (2, 3))
    assert fold(b.build(norm(b, b.matmul(x, integers((3, 4)))))) == ["Gemm"]


def test_two_in_a_row(b, x):
    y = norm(b, norm(b, b.conv(x, integers((3, 6, 1, 1)))))
    assert fold(b.build(y)) == ["Conv"]


def test_a_convolution_that_is_an_output_keeps_its_result(b, x):
    y = b.conv(x, integers((3, 6, 1, 1)))
    assert fold(b.build(norm(b, y), y)) == ["Conv", "Mul", "Add"]


def test_a_convolution_that_is_read_elsewhere_keeps_its_result(b, x):
    y = b.conv(x, integers((3, 6, 1, 1)))
    assert fold(b.build(b.add(norm(b, y), y))) == ["Conv", "Mul", "Add", "Add"]


def test_two_convolutions_that_share_a_weight(b, x):
    w = b.constant(integers((3, 6, 1, 1)), "w")
    first, second = norm(b, b.conv(x, w)), b.conv(x, w)
    graph = b.build(first, second)
    assert fold(graph) == ["Conv", "Conv"]
    folded = fold_batch_norm(graph)
    np.testing.assert_array_equal(folded.params["w"], graph.params["w"])
    assert folded.nodes[1].inputs == ("x", "w")
    assert "w" not in folded.nodes[0].inputs


def test_not_over_an_activation(b, x):
    y = norm(b, b.relu(b.conv(x, integers((3, 6, 1, 1)))))
    assert fold(b.build(y)) == ["Conv", "Relu", "Mul", "Add"]


def test_not_over_a_concatenation(b, x):
    y = b.concat([b.conv(x, integers((3, 6, 1, 1))), x], 1)
    assert fold(b.build(norm(b, y))) == ["Conv", "Concat", "Mul", "Add"]


def test_not_forward_into_a_padded_convolution(b, x):
    y = b.conv(norm(b, x), integers((3, 6, 3, 3)), pads=1)
    graph = b.build(y)
    assert fold(graph) == ["Mul", "Add", "Conv"]
    assert fold(explicit_padding(graph)) == ["Mul", "Add", "Pad", "Conv"]


def test_not_over_a_border(b, x):
    y = b.pad(b.conv(x, integers((3, 6, 1, 1))), (0, 0, 1, 1, 0, 0, 1, 1), 1.0)
    assert fold(b.build(norm(b, y))) == ["Conv", "Pad", "Mul", "Add"]


def test_not_into_weights_that_are_computed(b, x):
    w = b.input("w", (3, 6, 1, 1))
    assert fold(b.build(norm(b, b.conv(x, w)))) == ["Conv", "Mul", "Add"]


def test_statistics_that_are_computed_stay(b, x):
    scale = b.input("scale", (6,))
    y = b.batch_norm(x, scale, *[integers((6,))] * 2, np.ones(6))
    assert fold(b.build(y)) == ["BatchNormalization"]


def test_a_result_that_float32_cannot_hold_is_not_folded(b, x):
    y = b.conv(x, np.full((1, 6, 1, 1), 1e30))
    y = b.batch_norm(y, [1e30], [0.0], [0.0], [0.75], epsilon=0.25)
    assert fold(b.build(y)) == ["Conv", "Mul", "Add"]


def test_statistics_that_are_not_finite_stay(b, x):
    y = b.batch_norm(x, np.ones(6), np.ones(6), np.ones(6), np.full(6, -1.0), epsilon=0.0)
    assert fold(b.build(y)) == ["BatchNormalization"]


def test_the_result_keeps_its_name(b, x):
    y = norm(b, b.conv(x, integers((3, 6, 1, 1)), name="conv"), name="norm")
    (node,) = fold_batch_norm(b.build(y)).nodes
    assert (node.name, node.output) == ("conv", "norm")
    assert node.inputs == ("x", "conv.folded.weight", "conv.folded.bias")
