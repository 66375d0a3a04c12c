"""Naive nests of every operator against the references, run by the interpreter."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from ago.errors import UnsupportedError
from ago.frontend import GraphBuilder
from ago.ir.evaluate import evaluate
from ago.ir.graph import Graph, Node
from ago.ir.interpreter import interpret
from ago.ir.lowering import LoweredProgram, lower_nodes, require_lowerings
from ago.ir.program import Program
from ago.ir.tensor import TensorType
from ago.ir.verify import verify
from ago.passes import choose_layouts, fold_batch_norm
from tests.support.cases import Case, difference
from tests.support.graph_cases import GRAPH_CASES
from tests.support.operator_cases import TABLES

MOST_WORK = 8_000
"""Iterations of all nests of a case; the checked interpreter takes some microseconds for each."""


def lower(graph: Graph) -> LoweredProgram:
    return lower_nodes(graph, graph.nodes, graph.outputs, "whole")


def run(graph: Graph, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The whole graph as one naive program, in checked mode."""
    lowered = lower(graph)
    verify(lowered.program)
    given = {**graph.params, **feeds}
    arrays = {b: given[v] for b, v in lowered.values.items() if v in given}
    results = interpret(lowered.program, arrays, "checked")
    return {lowered.values[b]: array for b, array in results.items()}


@functools.cache
def small_cases() -> tuple[tuple[Case, Graph], ...]:
    """Cases that are quick to interpret, and their graphs as they are lowered."""
    cases = [case for table in (*TABLES.values(), GRAPH_CASES) for case in table]
    graphs = [choose_layouts(fold_batch_norm(case.graph), lanes=4) for case in cases]
    return tuple(
        (case, graph)
        for case, graph in zip(cases, graphs, strict=True)
        if iterations(lower(graph).program) < MOST_WORK
    )


def iterations(program: Program) -> int:
    return sum(math.prod(axis.extent for axis in stage.axes) for stage in program.stages)


def test_naive_nests_compute_what_the_operators_mean():
    wrong = []
    for case, graph in small_cases():
        with np.errstate(all="ignore"):
            expected = evaluate(case.graph, case.feeds)
        found = run(graph, dict(case.feeds))
        wrong += [
            f"{case.name}, {name}: {problem}"
            for name, array in expected.items()
            if (problem := difference(found[name], array))
        ]
    assert wrong == []


def test_every_kind_of_operator_is_covered():
    used = {node.op for _, graph in small_cases() for node in graph.nodes}
    assert used >= {
        *("Add", "Clip", "Conv", "Div", "Gemm", "GlobalAveragePool", "Identity", "MatMul", "Mul"),
        *("Pad", "ReduceMean", "Relu", "Reshape", "Sub"),
    }


def test_all_operators_without_a_lowering_are_listed():
    kind = TensorType((1, 3, 5))
    nodes = [
        Node("first", "Frobnicate", ("x",), ("y",), {}, (kind,)),
        Node("fine", "Relu", ("y",), ("z",), {}, (kind,)),
        Node("second", "Whirl", ("z",), ("w",), {}, (kind,)),
    ]
    with pytest.raises(UnsupportedError) as caught:
        require_lowerings(nodes)
    first, second = caught.value.problems
    assert first.startswith("first: Frobnicate")
    assert "[1,3,5]" in first
    assert second.startswith("second: Whirl")


def two_layers(weight_name: str, bias_name: str) -> Graph:
    b = GraphBuilder("net")
    weight = b.constant(np.ones((4, 3, 3, 3)), weight_name)
    bias = b.constant(np.ones(4), bias_name)
    return b.build(b.relu(b.conv(b.input(f"in {weight_name}", (1, 3, 5, 5)), weight, bias)))


def test_equal_subgraphs_of_different_models_are_equal_programs():
    one, other = lower(two_layers("w", "b")).program, lower(two_layers("kernel", "offset")).program
    assert [str(stage.value) for stage in one.stages] == [str(s.value) for s in other.stages]
    assert one.buffers == other.buffers


def test_the_group_is_an_index_of_the_input_only():
    b = GraphBuilder("net")
    y = b.conv(b.input("x", (1, 6, 5, 5)), np.ones((9, 2, 3, 3)), group=3)
    (stage,) = lower(b.build(y)).program.stages
    assert [axis.name for axis in stage.axes] == ["n", "y", "x", "c", "ky", "kx", "k"]
    assert str(stage.value.args[0].index[1]) == "2 * (conv.c // 3) + conv.k"


def test_taps_and_depth_of_one_are_no_loops():
    b = GraphBuilder("net")
    y = b.conv(b.input("x", (1, 5, 4, 4)), np.ones((5, 1, 1, 1)), group=5)
    (stage,) = lower(b.build(y)).program.stages
    assert [axis.name for axis in stage.axes] == ["n", "y", "x", "c"]


def test_values_name_inputs_constants_and_outputs():
    lowered = lower(two_layers("w", "b"))
    scopes = {v: lowered.program.buffer(b).scope for b, v in lowered.values.items()}
    assert scopes == {"in w": "input", "w": "constant", "b": "constant", "relu0": "output"}
