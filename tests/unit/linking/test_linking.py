"""Linked models: deterministic, and independent of names and orders that mean nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ago.codegen.entry import InputSlot, OutputSlot, WorkspaceSlot
from ago.frontend import GraphBuilder
from ago.ir.graph import Graph
from ago.linking import c_identifier
from ago.options import Options
from ago.partition import relay_style
from ago.pipeline import Compilation, compile_graph
from ago.target import TARGETS
from tests.support.cases import merge
from tests.support.compiled import emit
from tests.support.graph_cases import GRAPH_CASES

GRAPH, _ = merge(GRAPH_CASES[::2])


def compiled(graph: Graph, target: str = "x86-64-v3") -> Compilation:
    return compile_graph(graph, Options(TARGETS[target]), relay_style)


@pytest.fixture(scope="module")
def once() -> Compilation:
    return compiled(GRAPH)


def test_the_same_graph_gives_the_same_bytes(once):
    again = compiled(GRAPH)
    assert again.artifact == once.artifact
    assert again.places == once.places


def test_parameters_may_be_listed_in_any_order(once):
    backwards = dict(reversed(GRAPH.params.items()))
    inputs = {name: GRAPH.types[name] for name in GRAPH.inputs}
    other = Graph.make(GRAPH.name, inputs, GRAPH.nodes, GRAPH.outputs, backwards)
    assert compiled(other).artifact == once.artifact


def test_the_order_of_independent_branches_does_not_change_their_code():
    def two(first: str, second: str) -> Graph:
        b = GraphBuilder("two")
        x = b.input("x", (1, 16, 7, 7))
        made = {}
        for kind in (first, second):
            weight = np.ones((16, 16, 1, 1) if kind == "point" else (16, 1, 3, 3))
            made[kind] = b.conv(x, weight, group=1 if kind == "point" else 16, name=kind)
        return b.build(made["point"], made["depth"])

    def bodies(graph: Graph) -> list[str]:
        return sorted(str(kernel.scheduled.body) for kernel in compiled(graph).kernels)

    assert bodies(two("point", "depth")) == bodies(two("depth", "point"))


def test_equal_subgraphs_share_one_function():
    b = GraphBuilder("chain")
    x = b.input("x", (1, 8, 7, 7))
    for _ in range(4):
        x = b.relu(b.conv(x, np.ones((8, 8, 1, 1))))
    made = compiled(b.build(b.global_average_pool(x)))
    kernels = made.artifact.sources["chain_kernels.h"].count("AGO_HIDDEN void")
    assert kernels == len({str(k.scheduled.body) for k in made.kernels}) < len(made.kernels)


def test_functions_of_equal_subgraphs_are_as_if_each_were_printed():
    b = GraphBuilder("chain")
    x = b.input("x", (1, 8, 7, 7))
    for number in range(3):
        x = b.relu(b.conv(x, np.ones((8, 8, 1, 1)), name=f"conv_{number}"))
    made = compiled(b.build(b.global_average_pool(x)))
    for number, kernel in enumerate(made.kernels[:3]):
        text = kernel.function.text
        assert text == emit(kernel.scheduled, "x86-64-v3").text
        assert f"(node conv_{number})" in text


def test_views_share_the_bytes_of_their_source():
    b = GraphBuilder("views")
    x = b.relu(b.input("x", (4, 16)))
    flat = b.matmul(b.reshape(x, (1, 64)), np.ones((64, 8)))
    made = compiled(b.build(b.matmul(x, np.ones((16, 8))), flat))
    (view,) = (n.output for n in made.graph.nodes if n.op == "Reshape")
    assert made.places[view] == made.places[x.name]
    assert isinstance(made.places[view], WorkspaceSlot)


def test_a_view_of_an_input_or_output_is_read_in_place():
    b = GraphBuilder("views")
    x = b.input("x", (4, 16))
    y = b.relu(x)
    left = b.matmul(b.reshape(x, (1, 64)), np.ones((64, 8)))
    right = b.matmul(b.reshape(y, (1, 64)), np.ones((64, 8)))
    made = compiled(b.build(y, b.add(left, right)))
    views = [n.output for n in made.graph.nodes if n.op == "Reshape"]
    assert [made.places[v] for v in views] == [InputSlot(0), OutputSlot(0)]


def test_weights_are_aligned_and_complete(once):
    assert len(once.artifact.weights) % 64 == 0
    assert len(once.artifact.weights) >= sum(a.nbytes for a in once.graph.params.values())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mobilenet_v2", "mobilenet_v2"),
        ("My model (v2)", "My_model_v2"),
        ("2stage", "model_2stage"),
        ("", "model"),
        ("Ünïcode", "n_code"),
        ("a/b.c", "a_b_c"),
        ("_hidden", "hidden"),
        ("ago_runtime", "model_ago_runtime"),
        ("Ago", "model_Ago"),
        ("agora", "agora"),
        ("main", "model_main"),
        ("MAIN", "model_MAIN"),
        ("main_graph", "main_graph"),
    ],
)
def test_names_become_c_identifiers(name, expected):
    assert c_identifier(name) == expected


@pytest.mark.parametrize("name", ["int", "ago_runtime", "ago", "main", "x" * 300])
def test_no_name_of_a_model_meets_names_of_the_runtime(name):
    b = GraphBuilder("any")
    graph = replace(b.build(b.relu(b.input("x", (3,)))), name=name)
    sources = compiled(graph, "portable").artifact.sources
    assert not {"ago_runtime.h", "ago_mem.c", "ago_bench.h"} & set(sources)
    assert max(map(len, sources)) < 200
