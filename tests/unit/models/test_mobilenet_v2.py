"""The networks written with the builder."""

import numpy as np
import pytest

from ago.ir.evaluate import evaluate
from ago.models import MODELS, mobilenet_v2, tiny_mobilenet


def test_mobilenet_v2_has_torchvisions_architecture():
    graph = mobilenet_v2()
    ops = [node.op for node in graph.nodes]
    assert ops.count("Conv") == ops.count("BatchNormalization") == 52
    assert ops.count("Clip") == 35
    assert ops.count("Add") == 10
    # torchvision's 3,504,872 parameters and 34,112 running statistics.
    assert sum(array.size for array in graph.params.values()) == 3_538_984
    assert graph.types["input"].shape == (1, 3, 224, 224)
    assert graph.types["output"].shape == (1, 1000)


def test_the_width_scales_channels_to_multiples_of_8():
    graph = mobilenet_v2(width=0.35, size=96, classes=7, batch=2)
    channels = {node.type.shape[1] for node in graph.nodes if node.op == "Conv"}
    assert all(count % 8 == 0 for count in channels)
    assert graph.types["output"].shape == (2, 7)
    assert max(channels) == 1280


@pytest.mark.parametrize("name", MODELS)
def test_a_seed_decides_every_bit(name):
    build = MODELS[name]
    assert build(seed=3) == build(seed=3)
    assert build(seed=3) != build(seed=4)


def test_activations_stay_in_range():
    graph = tiny_mobilenet(batch=2)
    x = np.random.default_rng(0).normal(size=(2, 3, 32, 32))
    for name, value in evaluate(graph, {"input": x}, keep="all").items():
        assert 0.05 < value.std() < 50, name
