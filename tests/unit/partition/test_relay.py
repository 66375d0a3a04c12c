"""The baseline partition of graphs: a complex operator and what is fused behind it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from ago.errors import IRError
from ago.frontend import GraphBuilder
from ago.ir.graph import Graph
from ago.partition import Partition, make_partition, one_by_one, relay_style
from ago.pipeline import run_passes
from ago.target import TARGETS
from tests.support.random_graphs import graphs


def check(graph: Graph, partition: Partition) -> None:
    """Every node once; each subgraph reads only what earlier ones made, and says what leaves it."""
    names = [node.name for part in partition.subgraphs for node in part.nodes]
    assert sorted(names) == sorted(node.name for node in graph.nodes)
    available = {*graph.inputs}
    for part in partition.subgraphs:
        inside = {value for node in part.nodes for value in node.outputs}
        read = {v for node in part.nodes for v in node.inputs if v} - graph.params.keys()
        assert set(part.inputs) == read - inside
        assert set(part.inputs) <= available
        outside = {
            value
            for node in graph.nodes
            if node not in part.nodes
            for value in node.inputs
            if value in inside
        }
        assert set(part.outputs) == outside | (inside & set(graph.outputs))
        available |= set(part.outputs)
    assert set(graph.outputs) <= available


@given(graphs())
def test_each_node_is_in_one_subgraph_and_the_order_holds(drawn):
    for target in ("portable", "x86-64-v3"):
        graph = run_passes(drawn[0], TARGETS[target])
        check(graph, relay_style(graph))
        check(graph, one_by_one(graph))


@given(graphs())
def test_no_subgraph_has_two_complex_operators_or_two_ways_out(drawn):
    graph = run_passes(drawn[0], TARGETS["cortex-a76"])
    for part in relay_style(graph).subgraphs:
        assert len(part.complex_nodes) <= 1
        assert len(part.outputs) <= 1


def labels(*outputs_of: str, target: str = "x86-64-v3") -> list[str]:
    """The subgraphs of a small residual network that returns some of its values."""
    b = GraphBuilder("net")
    x = b.input("x", (1, 5, 9, 9))
    first = b.relu(b.conv(x, np.ones((7, 5, 3, 3)), name="first"), name="clamp")
    second = b.conv(first, np.ones((7, 7, 1, 1)), name="second")
    last = b.relu(b.add(second, first, name="join"), name="last")
    values = {"first": first, "second": second, "last": last}
    graph = run_passes(b.build(*(values[name] for name in outputs_of)), TARGETS[target])
    return [str(part) for part in relay_style(graph).subgraphs]


def test_epilogues_follow_their_producer_also_into_an_output():
    assert labels("last") == ["Conv → Clip", "Conv → Add → Clip"]


def test_a_value_that_leaves_the_graph_ends_its_subgraph():
    assert labels("last", "second") == ["Conv → Clip", "Conv", "Add → Clip"]


def test_a_value_that_two_read_ends_its_subgraph():
    b = GraphBuilder("net")
    y = b.matmul(b.input("x", (4, 4)), np.ones((4, 4)))
    graph = b.build(b.relu(y), b.mul(y, 2.0))
    assert [str(part) for part in relay_style(graph).subgraphs] == ["MatMul", "Relu", "Mul"]


def test_a_broadcast_result_is_no_epilogue():
    b = GraphBuilder("net")
    gate = b.matmul(b.input("x", (1, 4)), np.ones((4, 4)))
    graph = b.build(b.mul(b.input("y", (3, 4)), gate))
    assert [str(part) for part in relay_style(graph).subgraphs] == ["MatMul", "Mul"]


def test_groups_that_wait_for_each_other_are_refused():
    b = GraphBuilder("net")
    first = b.relu(b.input("x", (3,)), name="first")
    second = b.mul(first, 2.0, name="second")
    graph = b.build(b.add(first, second, name="third"))
    with pytest.raises(IRError, match="cyclic-partition"):
        make_partition(graph, {"first": 0, "second": 1, "third": 0})
    with pytest.raises(IRError, match=r"not-a-partition.*third"):
        make_partition(graph, {"first": 0, "second": 1})
