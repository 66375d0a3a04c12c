"""Calling a compiled model."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ago
from ago.errors import InputError
from ago.frontend import GraphBuilder
from ago.ir.evaluate import evaluate
from ago.ir.graph import Graph
from ago.runtime.net import Net
from tests.support.cases import difference


def small_graph(batch: int = 1) -> Graph:
    rng = np.random.default_rng(0)
    b = GraphBuilder("small")
    x, gain = b.input("image", (batch, 3, 9, 7)), b.input("gain", (batch, 5, 1, 1))
    y = b.relu(b.conv(x, rng.standard_normal((5, 3, 3, 3)), rng.standard_normal(5), pads=1))
    scaled = b.mul(y, gain, name="scaled")
    mean = b.flatten(b.global_average_pool(scaled), name="mean")
    return b.build(scaled, b.gemm(mean, rng.standard_normal((5, 4)), name="logits"))


def feeds(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {n: rng.standard_normal(graph.types[n].shape, np.float32) for n in graph.inputs}


@pytest.fixture(scope="module")
def net() -> Net:
    return ago.optimize(small_graph())


def test_outputs_have_the_models_names_and_order(net):
    given = feeds(small_graph())
    found = net.run(given)
    expected = evaluate(small_graph(), given)
    assert list(found) == ["scaled", "logits"]
    for name, array in expected.items():
        assert found[name].dtype == np.float32
        assert found[name].flags.c_contiguous
        assert difference(found[name], array) == ""


def test_a_call_takes_arrays_in_order_and_returns_a_tuple(net):
    given = feeds(small_graph())
    found = net(given["image"], given["gain"])
    assert isinstance(found, tuple)
    for array, expected in zip(found, net.run(given).values(), strict=True):
        np.testing.assert_array_equal(array, expected)


def test_a_single_output_is_returned_as_it_is():
    b = GraphBuilder("one")
    net = ago.optimize(b.build(b.relu(b.input("x", (3,)))))
    np.testing.assert_array_equal(net(np.array([-1, 0, 2], np.float32)), [0, 0, 2])


def test_inputs_need_not_be_contiguous_and_are_not_changed(net):
    given = feeds(small_graph())
    wide = np.zeros((1, 3, 9, 14), np.float32)
    wide[..., ::2] = given["image"]
    before = wide.copy()
    found = net.run({"image": wide[..., ::2], "gain": given["gain"]})
    np.testing.assert_array_equal(wide, before)
    np.testing.assert_array_equal(found["scaled"], net.run(given)["scaled"])


def test_results_of_an_earlier_call_stay(net):
    first = net.run(feeds(small_graph(), 1))
    kept = {name: array.copy() for name, array in first.items()}
    net.run(feeds(small_graph(), 2))
    for name, array in kept.items():
        np.testing.assert_array_equal(first[name], array)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gain": None}, "missing: gain; the model takes image: float32[1, 3, 9, 7], gain: "),
        ({"photo": np.zeros(3, np.float32)}, "no input is called photo; the model takes image: "),
        (
            {"image": np.zeros((1, 3, 7, 9), np.float32)},
            "input image is float32[1, 3, 7, 9], expected float32[1, 3, 9, 7]",
        ),
        (
            {"gain": np.zeros((1, 5, 1, 1))},
            "input gain is float64[1, 5, 1, 1], expected float32[1, 5, 1, 1]",
        ),
        ({"gain": [[0.0], [1.0, 2.0]]}, "input gain is no array: "),
        ({3: np.zeros(3, np.float32)}, "no input is called 3; the model takes image: "),
        ({"gain": [[0.0]]}, "input gain is float64[1, 1], expected float32[1, 5, 1, 1]"),
    ],
)
def test_wrong_inputs_say_what_was_expected(net, change, message):
    given = {**feeds(small_graph()), **change}
    given = {name: array for name, array in given.items() if array is not None}
    with pytest.raises(InputError, match=re.escape(message)):
        net.run(given)


def test_inputs_without_names(net):
    with pytest.raises(InputError, match="inputs are arrays by name, not a list"):
        net.run(list(feeds(small_graph()).values()))


def test_a_wrong_number_of_arrays_lists_the_inputs(net):
    message = "the model takes 2 inputs, not 1: image: float32[1, 3, 9, 7], gain: "
    with pytest.raises(InputError, match=re.escape(message)):
        net(feeds(small_graph())["image"])


def test_calls_from_several_threads_do_not_meet(net):
    given = [feeds(small_graph(), seed) for seed in range(4)]
    expected = [net.run(inputs) for inputs in given]
    barrier = threading.Barrier(4)

    def work(number: int) -> bool:
        barrier.wait()
        return all(
            np.array_equal(array, expected[number][name])
            for _ in range(50)
            for name, array in net.run(given[number]).items()
        )

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


@pytest.mark.parametrize("batch", [2, 5])
def test_each_item_of_a_batch_is_the_model_of_one(net, batch):
    given = feeds(small_graph(batch))
    found = ago.optimize(small_graph(batch)).run(given)
    for item in range(batch):
        alone = net.run({name: array[item : item + 1] for name, array in given.items()})
        for name, array in alone.items():
            assert difference(found[name][item : item + 1], array) == ""


def test_the_source_names_layers_of_the_model(net):
    assert "conv0" in net.source
    assert "logits" in net.source
    assert str(net).startswith("Artifact small for host: (image: f32[1, 3, 9, 7]")
