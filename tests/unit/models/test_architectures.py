"""The networks written with the builder: facts of their architectures, and their weights."""

import math
from collections import Counter

import numpy as np
import pytest

from ago.errors import InputError, ModelError
from ago.ir.evaluate import evaluate
from ago.ir.graph import Graph
from ago.models import MODELS, bert_tiny, mobilenet_v2, mobilevit_xxs, squeezenet1_1
from tests.support.model_feeds import small_feeds, small_model

_TRANSFORMERS = Counter(
    BatchNormalization=32, Concat=3, Conv=35, Gemm=1, GlobalAveragePool=1, LayerNormalization=21,
    MatMul=54, Mul=52, Reshape=64, Sigmoid=34, Slice=27, Softmax=9, Transpose=39,
)  # fmt: skip

# Name: trained parameters and running statistics, multiply-adds of one inference, operators. All
# but BERT's operators are those of ONNX files that PyTorch wrote of torchvision's, PyTorch Image
# Models' and Transformers' networks; there BERT has more operators to make its mask.
FACTS = {
    "bert_tiny": (4_385_920, 58_736_640, Counter(
        Add=22, Cast=1, Div=2, Erf=2, Expand=1, Gather=1, Gemm=1, LayerNormalization=5, MatMul=16,
        Mul=6, Reshape=10, Slice=3, Softmax=2, Tanh=1, Transpose=8, Where=1,
    )),
    "mnasnet1_0": (4_421_232, 314_415_872, Counter(
        Add=10, BatchNormalization=52, Conv=52, Gemm=1, ReduceMean=1, Relu=35
    )),
    "mobilenet_v2": (3_538_984, 300_774_272, Counter(
        Add=10, BatchNormalization=52, Clip=35, Conv=52, Gemm=1, GlobalAveragePool=1, Reshape=1
    )),
    "mobilevit_s": (5_590_888, 2_000_831_488, _TRANSFORMERS + Counter(Add=56)),
    "mobilevit_xxs": (1_276_136, 407_364_096, _TRANSFORMERS + Counter(Add=57)),
    "shufflenet_v2_x1_0": (2_294_784, 144_907_992, Counter(
        BatchNormalization=56, Concat=16, Conv=56, Gemm=1, MaxPool=1, ReduceMean=1, Relu=37,
        Reshape=32, Slice=26, Transpose=16,
    )),
    "squeezenet1_1": (1_235_496, 349_151_936, Counter(
        Concat=8, Conv=26, GlobalAveragePool=1, MaxPool=3, Relu=26, Reshape=1
    )),
}  # fmt: skip


def multiply_adds(graph: Graph) -> int:
    total = 0
    for node in graph.nodes:
        if node.op in ("Conv", "MatMul", "Gemm"):
            first, second = (graph.types[value].shape for value in node.inputs[:2])
            terms = math.prod(second[1:]) if node.op == "Conv" else first[-1]
            total += node.type.size * terms
    return total


@pytest.mark.parametrize("name", FACTS)
def test_parameters_work_and_operators(name):
    parameters, work, ops = FACTS[name]
    graph = MODELS[name]()
    assert Counter(node.op for node in graph.nodes) == ops
    assert sum(array.size for array in graph.params.values() if array.ndim) == parameters
    assert multiply_adds(graph) == work


@pytest.mark.parametrize("name", sorted(FACTS.keys() - {"bert_tiny"}))
def test_inputs_and_outputs_of_a_classifier(name):
    size = 256 if name.startswith("mobilevit") else 224
    assert MODELS[name]().types["input"].shape == (1, 3, size, size)
    graph = MODELS[name](batch=3, size=128, classes=7)
    assert graph.types["input"].shape == (3, 3, 128, 128)
    assert [graph.types[value].shape for value in graph.outputs] == [(3, 7)]


def test_inputs_and_outputs_of_the_text_model():
    graph = bert_tiny(batch=3, tokens=9)
    kinds = {value: str(graph.types[value]) for value in graph.inputs}
    assert kinds == {"input_ids": "i64[3,9]", "attention_mask": "i64[3,9]"}
    assert [str(graph.types[value]) for value in graph.outputs] == ["f32[3,9,128]", "f32[3,128]"]


def test_the_width_scales_channels_to_multiples_of_8():
    graph = mobilenet_v2(width=0.35, size=96, classes=7, batch=2)
    channels = {node.type.shape[1] for node in graph.nodes if node.op == "Conv"}
    assert all(count % 8 == 0 for count in channels)
    assert graph.types["output"].shape == (2, 7)
    assert max(channels) == 1280


@pytest.mark.parametrize("name", MODELS)
def test_a_seed_decides_every_bit(name):
    assert small_model(name, seed=3) == small_model(name, seed=3)
    assert small_model(name, seed=3) != small_model(name, seed=4)


@pytest.mark.parametrize("name", MODELS)
def test_activations_stay_in_range(name):
    graph = small_model(name)
    feeds = small_feeds(graph)
    if "attention_mask" in feeds:
        feeds["attention_mask"][:] = 1
    values = evaluate(graph, feeds, keep="all")
    for node in graph.nodes:
        if node.op != "Softmax" and not node.name.startswith("mask."):
            assert 0.02 < values[node.outputs[0]].std() < 50, node.name


def test_masked_tokens_take_no_part():
    graph = small_model("bert_tiny")
    feeds = small_feeds(graph)
    kept = feeds["attention_mask"] == 1
    other = {**feeds, "input_ids": np.where(kept, feeds["input_ids"], 7)}
    assert not np.array_equal(other["input_ids"], feeds["input_ids"])
    first, second = evaluate(graph, feeds), evaluate(graph, other)
    assert np.array_equal(first["pooler_output"], second["pooler_output"])
    first, second = (run["last_hidden_state"][kept] for run in (first, second))
    assert np.array_equal(first, second)


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="size=96: mobilevit_xxs takes multiples of 64 pixels"):
        mobilevit_xxs(size=96)
    with pytest.raises(InputError, match="tokens=513: bert_tiny has 512 positions"):
        bert_tiny(tokens=513)
    with pytest.raises(ModelError, match=r"pool2.*does not fit"):
        squeezenet1_1(size=24)
