"""CLUSTER on graphs made by hand: each a way to merge too much, too little, or too slowly."""

import networkx as nx
import pytest

from ago.errors import IRError
from ago.partition.cluster import cluster
from ago.partition.contraction import AFFIX_RULES, EXACT_RULES, affix, no_other_path
from ago.partition.dependency import DependencyGraph, Edge, Vertex
from ago.partition.quotient import Quotient, levels
from tests.support.dags import chain, dag, quotient, subgraphs

RULES = pytest.mark.parametrize("rules", [AFFIX_RULES, EXACT_RULES])
DIAMOND = [(0, 1), (0, 2), (1, 3), (2, 3)]
SKIP = [(0, 1), (1, 2), (2, 3), (0, 3)]


@RULES
@pytest.mark.parametrize("edges", [DIAMOND, SKIP, [(0, 1), (2, 3)]])
def test_all_that_fits_becomes_one_subgraph_a_component(edges, rules):
    graph = dag(edges, [1, 1, 1, 1])
    components = nx.number_weakly_connected_components(nx.DiGraph(edges))
    assert len(set(cluster(graph, 10, rules))) == components


@RULES
def test_the_ends_of_a_skip_do_not_close_around_its_middle(rules):
    graph = dag(SKIP, [1, 9, 9, 1], nbytes={(0, 3): 1000})
    groups = cluster(graph, 10, rules)
    assert groups[0] != groups[3]
    assert nx.is_directed_acyclic_graph(quotient(graph, groups))


@RULES
def test_the_arms_of_a_diamond_may_differ_in_length(rules):
    edges = [(0, 1), (1, 2), (2, 5), (0, 3), (3, 4), (4, 5), (0, 5)]
    graph = dag(edges, [1, 2, 2, 2, 2, 1])
    groups = cluster(graph, 5, rules)
    view = quotient(graph, groups)
    assert nx.is_directed_acyclic_graph(view)
    assert all(weight <= 5 for _, weight in view.nodes(data="weight"))
    assert len(view) == 2


@RULES
def test_of_many_consumers_as_many_join_as_the_threshold_lets(rules):
    graph = dag([(0, n) for n in range(1, 40)], [1] * 40)
    groups = cluster(graph, 10, rules)
    assert groups.count(groups[0]) == 10
    assert len(set(groups)) == 31


@RULES
def test_an_operator_over_the_threshold_stays_alone(rules):
    graph = dag([(0, 1), (1, 2)], [0, 50, 0])
    assert len(set(cluster(graph, 40, rules))) == 3


@RULES
def test_weightless_operators_join_at_a_threshold_of_zero(rules):
    assert len(set(cluster(chain(5, 0), 0, rules))) == 1


def test_the_tensor_of_most_bytes_decides():
    graph = dag([(0, 2), (1, 2)], [3, 3, 1], nbytes={(0, 2): 8, (1, 2): 16})
    assert subgraphs(graph, cluster(graph, 4)) == {frozenset({"v000"}), frozenset({"v001", "v002"})}


def test_among_equals_the_producer_decides_then_the_name():
    graph = dag([(0, 1), (1, 2)], [3, 1, 3], names=["z", "m", "a"])
    assert subgraphs(graph, cluster(graph, 4)) == {frozenset("zm"), frozenset("a")}
    graph = dag([(0, 2), (1, 2)], [3, 3, 1], names=["z", "a", "m"])
    assert subgraphs(graph, cluster(graph, 4)) == {frozenset("z"), frozenset("am")}


def test_two_results_of_an_operator_count_together():
    vertices = tuple(Vertex(n, "Op", "complex", w, 4) for n, w in [("a", 3), ("b", 3), ("c", 1)])
    edges = (Edge(0, 2, "a:0", 8), Edge(0, 2, "a:1", 8), Edge(1, 2, "b", 12))
    graph = DependencyGraph(vertices, edges)
    assert subgraphs(graph, cluster(graph, 4)) == {frozenset("ac"), frozenset("b")}


@pytest.mark.parametrize("order", ["head", "tail"])
def test_a_chain_merges_from_either_end_without_raising_a_label(order):
    state = Quotient(chain(50))
    first, last = 0, 49
    for step in range(49):
        pair = (first, step + 1) if order == "head" else (48 - step, last)
        assert affix(state, *pair)
        kept, raised = state.merge(*pair)
        assert raised == []
        first, last = kept, kept
    assert sorted(state.members[first]) == list(range(50))
    assert state.weight[first] == 50


def test_a_merged_label_finds_room_between_levels():
    graph = dag([(0, 2), (1, 2), (0, 3)], [1] * 4)
    state = Quotient(graph)
    assert state.label[2] == state.label[3]
    kept, raised = state.merge(0, 2)
    assert raised == []
    assert state.label[1] < state.label[kept] < state.label[3]


def test_a_merge_that_breaks_the_order_raises_what_lies_behind():
    # 2 must stay in front of 0 and 3 together, and 4, which has the level of 2, must follow them.
    graph = dag([(1, 2), (2, 3), (0, 3), (0, 4), (4, 5)], [1] * 6)
    state = Quotient(graph)
    assert state.label[2] == state.label[4]
    assert no_other_path(state, 0, 3)
    assert not affix(state, 0, 3)
    kept, raised = state.merge(0, 3)
    assert sorted(raised) == [4, 5]
    assert state.label[2] < state.label[kept] < state.label[4] < state.label[5]


def test_another_path_is_seen_by_the_labels_and_by_the_search():
    graph = dag([(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)], [1] * 4)
    state = Quotient(graph)
    assert not no_other_path(state, 0, 3)
    assert not affix(state, 0, 3)


def test_levels_count_from_one():
    assert levels(dag(SKIP, [1] * 4)) == [1, 2, 3, 4]
    assert levels(dag(DIAMOND, [1] * 4)) == [1, 2, 2, 3]
    assert levels(dag([], [1, 1])) == [1, 1]


def test_edges_must_point_forward():
    with pytest.raises(IRError, match="not-topological"):
        dag([(1, 0)], [1, 1])
