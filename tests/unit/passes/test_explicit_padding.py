"""Padding as an operator of its own."""

import numpy as np
import pytest

from ago.frontend import GraphBuilder
from ago.ir.evaluate import evaluate
from ago.passes import explicit_padding
from tests.support.onnx_models import integers


@pytest.fixture
def b():
    return GraphBuilder()


@pytest.fixture
def x(b):
    return b.input("x", (1, 2, 6, 5))


def split(graph, rtol=0.0):
    """Split the padding, check that the outputs stay the same, and return the new nodes."""
    result = explicit_padding(graph)
    feeds = {"x": integers(graph.types["x"].shape)}
    before, after = evaluate(graph, feeds), evaluate(result, feeds)
    for name, value in before.items():
        np.testing.assert_allclose(after[name], value, rtol=rtol)
    return result.nodes


def test_a_padded_convolution(b, x):
    pad, conv = split(b.build(b.conv(x, integers((3, 2, 3, 3)), pads=(1, 0, 2, 3))))
    assert (pad.op, pad.attrs["pads"]) == ("Pad", (0, 0, 1, 0, 0, 0, 2, 3))
    assert pad.output == "x.padded"
    assert conv.inputs[0] == "x.padded"
    assert conv.attrs["pads"] == (0, 0, 0, 0)
    assert conv.output == "conv0"


def test_an_unpadded_convolution_stays(b, x):
    graph = b.build(b.conv(x, integers((3, 2, 3, 3))))
    assert explicit_padding(graph) == graph


def test_negative_padding_crops(b, x):
    pad, conv = split(b.build(b.conv(x, integers((3, 2, 2, 2)), pads=(-1, 1, -2, -1))))
    assert pad.type.shape == (1, 2, 3, 5)
    assert conv.op == "Conv"


def test_equal_padding_is_shared(b, x):
    w = integers((3, 2, 3, 3))
    y = b.add(b.conv(x, w, pads=1), b.conv(x, w, pads=1))
    z = b.conv(x, w, pads=2)
    assert [node.op for node in split(b.build(y, z))] == [
        "Pad",
        "Conv",
        "Conv",
        "Add",
        "Pad",
        "Conv",
    ]


def test_padding_of_different_values_is_not_shared(b, x):
    y = b.conv(x, integers((3, 2, 3, 3)), pads=1)
    z = b.max_pool(x, 3, pads=1)
    nodes = split(b.build(y, z))
    assert [node.attrs["value"] for node in nodes if node.op == "Pad"] == [0.0, -np.inf]


def test_pools_that_hang_over_the_end(b, x):
    nodes = split(b.build(b.max_pool(x, 2, strides=2, ceil_mode=True)))
    assert [node.op for node in nodes] == ["Pad", "MaxPool"]
    assert nodes[0].type.shape == (1, 2, 6, 6)
    assert nodes[1].attrs["ceil_mode"] == 0


@pytest.mark.parametrize(
    ("counted", "ops"), [(True, ["Pad", "AveragePool"]), (False, ["Pad", "AveragePool", "Mul"])]
)
def test_an_average_is_corrected_where_the_padding_does_not_count(b, x, counted, ops):
    y = b.average_pool(x, 2, pads=1, count_include_pad=counted)
    assert [node.op for node in split(b.build(y), rtol=1e-6)] == ops


@pytest.mark.parametrize("counted", [True, False])
def test_an_average_that_hangs_over_the_end_is_corrected(b, x, counted):
    y = b.average_pool(
        x, 2, strides=2, ceil_mode=True, pads=(1, 1, 0, 1), count_include_pad=counted
    )
    nodes = split(b.build(y), rtol=1e-6)
    assert [node.op for node in nodes] == ["Pad", "AveragePool", "Mul"]
