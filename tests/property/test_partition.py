"""Partitions of random graphs: complete, acyclic, within the threshold, a function of the graph."""

from __future__ import annotations

from random import Random

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from ago.partition.cluster import cluster
from ago.partition.contraction import AFFIX_RULES, EXACT_RULES, affix, no_other_path
from ago.partition.dependency import DependencyGraph
from ago.partition.quotient import Quotient, levels
from ago.partition.relay import relay_groups
from tests.support.dags import dags, quotient, reordered, subgraphs

SEEDS = st.integers(0, 2**32)
RULES = st.sampled_from([AFFIX_RULES, EXACT_RULES])
THRESHOLDS = st.sampled_from([0.0, 1.0, 5.0, 20.0, 1e9])


def as_networkx(graph: DependencyGraph) -> nx.DiGraph:
    view = nx.DiGraph()
    view.add_nodes_from(range(len(graph.vertices)))
    view.add_edges_from((edge.producer, edge.consumer) for edge in graph.edges)
    return view


@given(dags(), RULES, THRESHOLDS)
def test_clusters_are_acyclic_and_within_the_threshold(graph, rules, threshold):
    groups = cluster(graph, threshold, rules)
    assert len(groups) == len(graph.vertices)
    view = quotient(graph, groups)
    assert nx.is_directed_acyclic_graph(view)
    sizes = {group: groups.count(group) for group in groups}
    for group, weight in view.nodes(data="weight"):
        assert weight <= threshold or sizes[group] == 1


@given(dags(), RULES, THRESHOLDS, SEEDS)
def test_clusters_do_not_depend_on_the_order_of_the_vertices(graph, rules, threshold, seed):
    other = reordered(graph, Random(seed))
    expected = subgraphs(graph, cluster(graph, threshold, rules))
    assert subgraphs(other, cluster(other, threshold, rules)) == expected


def externs(graph: DependencyGraph, groups: list[int]) -> set[int]:
    """The subgraphs of externs, which nothing may join."""
    return {g for v, g in zip(graph.vertices, groups, strict=True) if v.kind == "extern"}


def open_edges(
    graph: DependencyGraph, view: nx.DiGraph, groups: list[int]
) -> list[tuple[int, int]]:
    """The edges of the quotient graph that no extern ends."""
    closed = externs(graph, groups)
    return [edge for edge in view.edges if closed.isdisjoint(edge)]


@given(dags(), RULES, THRESHOLDS)
def test_externs_stay_alone(graph, rules, threshold):
    for groups in (cluster(graph, threshold, rules), relay_groups(graph)):
        assert all(groups.count(group) == 1 for group in externs(graph, groups))


@given(dags(60), THRESHOLDS)
def test_exact_clusters_leave_no_safe_merge_undone(graph, threshold):
    groups = cluster(graph, threshold, EXACT_RULES)
    view = quotient(graph, groups)
    for a, b in open_edges(graph, view, groups):
        weight = view.nodes[a]["weight"] + view.nodes[b]["weight"]
        if weight <= threshold:
            assert nx.has_path(nx.restricted_view(view, [], [(a, b)]), a, b)


@given(dags(60), THRESHOLDS)
def test_no_operator_stays_alone_where_a_neighbour_could_take_it(graph, threshold):
    groups = cluster(graph, threshold)
    view = quotient(graph, groups)
    for a, b in open_edges(graph, view, groups):
        weight = view.nodes[a]["weight"] + view.nodes[b]["weight"]
        if weight <= threshold and 1 in (groups.count(a), groups.count(b)):
            assert nx.has_path(nx.restricted_view(view, [], [(a, b)]), a, b)


@given(dags())
def test_relay_is_acyclic_and_has_one_complex_operator_at_most(graph):
    groups = relay_groups(graph)
    assert nx.is_directed_acyclic_graph(quotient(graph, groups))
    for group in set(groups):
        members = [v for v, g in zip(graph.vertices, groups, strict=True) if g == group]
        assert sum(v.kind == "complex" for v in members) <= 1


@given(dags(80), RULES, THRESHOLDS)
def test_relay_within_a_partition_refines_it_without_cycles(graph, rules, threshold):
    groups = cluster(graph, threshold, rules)
    pieces = relay_groups(graph, groups)
    assert {(p, g) for p, g in zip(pieces, groups, strict=True)} == {(p, groups[p]) for p in pieces}
    assert nx.is_directed_acyclic_graph(quotient(graph, pieces))


@given(dags(80))
def test_levels_are_longest_paths(graph):
    view = as_networkx(graph)
    found = levels(graph)
    for generation, vertices in enumerate(nx.topological_generations(view), start=1):
        assert all(found[vertex] == generation for vertex in vertices)


@given(dags(40), st.data())
def test_any_increasing_labels_prove_that_neighbours_a_step_apart_are_safe(graph, data):
    """The theorem: of any labels that increase along edges, a difference of 1 is a proof."""
    labels: list[int] = []
    for edges in graph.incoming:
        least = 1 + max((labels[edge.producer] for edge in edges), default=0)
        labels.append(least + data.draw(st.sampled_from([0, 0, 0, 1, 3])))
    view = as_networkx(graph)
    for a, b in list(view.edges):
        if labels[b] == labels[a] + 1:
            assert not nx.has_path(nx.restricted_view(view, [], [(a, b)]), a, b)


@given(dags(40), SEEDS)
def test_labels_stay_a_certificate_through_any_safe_merges(graph, seed):
    """Merges of random pairs that a rule allows: labels increase, rules agree with a search."""
    rng = Random(seed)
    state = Quotient(graph)
    alive = set(range(len(graph.vertices)))
    while True:
        pairs = [(a, b) for a in sorted(alive) for b in sorted(state.consumers[a])]
        view = nx.DiGraph(pairs)
        safe = []
        for a, b in pairs:
            assert state.label[a] < state.label[b]
            alone = not nx.has_path(nx.restricted_view(view, [], [(a, b)]), a, b)
            assert no_other_path(state, a, b) == alone
            assert alone or not affix(state, a, b)
            safe += [(a, b)] if alone else []
        if not safe:
            return
        a, b = rng.choice(safe)
        before = {c: state.label[c] for c in alive - {a, b}}
        kept, raised = state.merge(a, b)
        alive -= {a, b} - {kept}
        after = {c: state.label[c] for c in alive - {kept}}
        assert {c for c in after if after[c] > before[c]} == set(raised)
        assert all(after[c] >= before[c] for c in after)
