"""Views inside subgraphs: no code, no copy, whatever is merged with what."""

import numpy as np
import pytest

import ago
from ago.partition import make_partition, strip_views
from ago.pipeline import run_passes
from ago.target import TARGETS

TARGET = TARGETS["cortex-a76"]


def weights(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-2, 3, shape).astype(np.float32)


def classifier() -> ago.Graph:
    b = ago.GraphBuilder("classifier")
    x = b.relu(b.conv(b.input("x", (1, 3, 4, 4)), weights(8, 3, 1, 1)))
    flat = b.flatten(b.global_average_pool(x))
    return b.build(b.gemm(flat, weights(8, 5)))


def fire() -> ago.Graph:
    b = ago.GraphBuilder("fire")
    x = b.relu(b.conv(b.input("x", (1, 3, 4, 4)), weights(8, 3, 1, 1)))
    both = b.concat([b.conv(x, weights(8, 8, 1, 1)), b.conv(x, weights(16, 8, 1, 1))], 1)
    return b.build(b.conv(both, weights(4, 24, 1, 1)))


@pytest.mark.parametrize(
    ("graph", "parts", "op"), [(classifier(), 2, "Reshape"), (fire(), 2, "Concat")]
)
def test_a_view_divides_its_subgraph(graph, parts, op):
    graph = run_passes(graph, TARGET)
    work = strip_views(graph, make_partition(graph, {n.name: 0 for n in graph.nodes}))
    assert len(work.subgraphs) == parts
    left = [node for part in work.subgraphs for node in part.nodes]
    (view,) = (node for node in graph.nodes if node.op == op)
    assert [n.name for n in left] == [n.name for n in graph.nodes if n is not view]
    shared = set(view.inputs) if op == "Concat" else {view.output}
    root = view.output if op == "Concat" else view.inputs[0]
    assert dict(work.views) == dict.fromkeys(shared, root)
    assert set(work.subgraphs[0].outputs) == set(view.inputs)
    assert work.subgraphs[1].inputs == (view.output,)


@pytest.mark.parametrize("graph", [classifier(), fire()], ids=["classifier", "fire"])
@pytest.mark.parametrize("partitioner", ["affix", "exact", "relay"])
def test_results_are_right_with_every_partitioner(graph, partitioner):
    report = ago.optimize(graph, partitioner=partitioner).verify()
    assert report.max_error < 1e-6
