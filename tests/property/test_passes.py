"""Every pass keeps what a graph computes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ago.ir.evaluate import evaluate
from ago.ir.graph import Graph
from ago.ir.ops import OPERATORS
from ago.passes import (
    choose_layouts,
    compose_movement,
    eliminate_identities,
    explicit_padding,
    fold_batch_norm,
    fold_constants,
    fold_gemm,
    fold_layer_norm,
    fold_scales,
    fuse_clips,
    is_view,
    postpone_softmax,
    recognise_activations,
    recognise_layer_norm,
    turn_rows,
)
from tests.support.random_graphs import Feeds, graphs


def choose_layouts_8(graph: Graph) -> Graph:
    return choose_layouts(graph, 8)


def turn_rows_4(graph: Graph) -> Graph:
    return turn_rows(graph, 4)


PASSES = (
    fold_constants,
    eliminate_identities,
    fold_batch_norm,
    fold_gemm,
    fold_layer_norm,
    fold_scales,
    postpone_softmax,
    turn_rows_4,
    fuse_clips,
    compose_movement,
    explicit_padding,
    recognise_layer_norm,
    recognise_activations,
    choose_layouts_8,
)


def assert_same(before: Graph, after: Graph, feeds: Feeds) -> None:
    after.verify()
    assert after.inputs == before.inputs
    assert after.outputs == before.outputs
    for node in after.nodes:
        inputs = [after.types[value] if value else None for value in node.inputs]
        inferred = OPERATORS[node.op].infer(inputs, node.attrs)
        assert tuple(replace(kind, layout=None) for kind in node.types) == inferred
    wanted, got = evaluate(before, feeds), evaluate(after, feeds)
    for name in before.outputs:
        np.testing.assert_allclose(got[name], wanted[name], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rewrite", PASSES, ids=lambda rewrite: rewrite.__name__)
@given(case=graphs())
def test_each_pass_keeps_the_outputs(rewrite, case: tuple[Graph, Feeds]):
    graph, feeds = case
    assert_same(graph, rewrite(graph), feeds)


@given(case=graphs(), order=st.lists(st.sampled_from(PASSES), max_size=8))
def test_passes_in_any_order_keep_the_outputs(case, order):
    graph, feeds = case
    rewritten = graph
    for rewrite in order:
        rewritten = rewrite(rewritten)
    assert_same(graph, rewritten, feeds)


@pytest.mark.parametrize("rewrite", PASSES, ids=lambda rewrite: rewrite.__name__)
@given(case=graphs())
def test_each_pass_is_idempotent(rewrite, case: tuple[Graph, Feeds]):
    once = rewrite(case[0])
    assert rewrite(once) == once


@given(case=graphs())
def test_afterwards_no_node_is_left_that_the_passes_remove(case):
    graph = case[0]
    for rewrite in PASSES:
        graph = rewrite(graph)
    left = {node.op for node in graph.nodes}
    assert left.isdisjoint({"Relu", "BatchNormalization"})
    for node in graph.nodes:
        if node.op in ("Conv", "MaxPool"):
            assert not any(node.attrs["pads"])


@given(case=graphs(), lanes=st.sampled_from([1, 4, 8, 16]))
def test_a_view_has_the_same_elements_at_the_same_places(case, lanes):
    graph = choose_layouts(fold_constants(case[0]), lanes)
    for node in graph.nodes:
        if node.op == "Reshape":
            source, target = graph.types[node.inputs[0]], node.type
            places = np.array_equal(addresses(source), addresses(target))
            assert is_view(graph, node) == (places and target.nbytes <= source.nbytes)


def addresses(kind) -> np.ndarray:
    """Return the place of each row-major element, by laying the numbers out."""
    physical = kind.physical_shape
    memory = np.arange(int(np.prod(physical))).reshape(physical)
    order = kind.layout.order if kind.layout else tuple(range(kind.rank))
    logical = memory.transpose(np.argsort(order)) if kind.rank else memory
    return logical[tuple(slice(extent) for extent in kind.shape)].ravel()
