"""Externs as steps of a model: alone, row-major, and like any other step from outside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ago
from ago.errors import IRError
from ago.ir.evaluate import evaluate
from ago.ir.graph import Graph, Node, TensorType
from ago.ir.interpreter import interpret
from ago.ir.lowering import lower_nodes
from ago.ir.ops import OPERATORS
from ago.ir.workload import workload_key
from ago.options import Options
from ago.partition import affix_partition, exact_partition, one_by_one, relay_style
from ago.pipeline import compile_graph
from ago.target import resolve_target
from tests.support.cases import difference

HOST = Options(resolve_target("host"))


def sampled(mode: str = "linear") -> Graph:
    """A convolution, GridSample of its result, and a convolution of that."""
    rng = np.random.default_rng(0)
    params = {
        "w": rng.standard_normal((16, 3, 3, 3), np.float32),
        "v": rng.standard_normal((8, 16, 1, 1), np.float32),
    }
    inputs = {"image": TensorType((1, 3, 9, 9)), "grid": TensorType((1, 5, 4, 2))}
    window = {"strides": (1, 1), "dilations": (1, 1), "pads": (0,) * 4, "group": 1}
    sample = {"mode": mode, "padding_mode": "border", "align_corners": 0}
    types = {**inputs, **{name: TensorType(array.shape) for name, array in params.items()}}
    nodes = []
    for name, op, read, attrs in (
        ("first", "Conv", ("image", "w"), window),
        ("relu", "Relu", ("first",), {}),
        ("sample", "GridSample", ("relu", "grid"), sample),
        ("last", "Conv", ("sample", "v"), window),
        ("end", "Relu", ("last",), {}),
    ):
        (types[name],) = OPERATORS[op].infer([types[value] for value in read], attrs)
        nodes.append(Node(name, op, read, (name,), attrs, (types[name],)))
    return Graph.make("sampled", inputs, nodes, ["end"], params)


@pytest.mark.parametrize("partitioner", [affix_partition, exact_partition, relay_style, one_by_one])
def test_an_extern_is_a_step_of_its_own(partitioner):
    made = compile_graph(sampled(), HOST, partitioner)
    steps = [[node.name for node in kernel.subgraph.nodes] for kernel in made.kernels]
    assert ["sample"] in steps


def test_what_an_extern_touches_is_row_major_and_dense():
    made = compile_graph(sampled(), HOST).graph
    for name in ("relu", "sample"):
        kind = made.type_of(name)
        assert kind.physical_shape == kind.shape


def test_a_model_with_an_extern_verifies_and_runs():
    graph = sampled()
    net = ago.optimize(graph)
    report = net.verify()
    assert len(report.steps) == len(net.artifact.steps)
    rng = np.random.default_rng(1)
    feeds = {
        name: rng.standard_normal(graph.types[name].shape, np.float32) for name in graph.inputs
    }
    assert difference(net.run(feeds)["end"], evaluate(graph, feeds)["end"]) == ""


def test_verify_names_an_extern_that_computes_something_else():
    net = ago.optimize(sampled())
    anatomy = net.anatomy
    step = next(s for s in anatomy.steps if s.nodes == ("sample",))
    other = sampled("nearest")
    wrong = replace(anatomy, compiled=compile_graph(other, HOST).graph)
    rng = np.random.default_rng(1)
    feeds = {n: rng.standard_normal(other.types[n].shape, np.float32) for n in other.inputs}
    with pytest.raises(ago.AgoError, match=f"{step.label}.*only node is sample"):
        ago.runtime.verify.verify_net(net, wrong, feeds)


def test_an_artifact_holds_the_c_files_that_it_calls_and_no_others():
    made = compile_graph(sampled(), HOST).artifact
    shipped = {name for name in made.sources if name.startswith("ago_")}
    assert shipped == {"ago_extern.h", "ago_grid_sample.h", "ago_grid_sample.c"}
    b = ago.GraphBuilder("plain")
    plain = compile_graph(b.build(b.relu(b.input("x", (3,)))), HOST).artifact
    assert not [name for name in plain.sources if name.startswith("ago_")]


def test_an_extern_with_other_nodes_is_refused():
    graph = sampled()
    with pytest.raises(IRError, match=r"\[extern-alone\] node sample.*with last") as refusal:
        lower_nodes(graph, graph.nodes[2:4], ["last"], "both")
    assert refusal.value.code == "extern-alone"


@pytest.mark.parametrize("mode", ["plain", "checked"])
def test_the_printed_program_computes_what_the_operator_means(mode):
    graph = sampled()
    (node,) = (node for node in graph.nodes if node.op == "GridSample")
    program = lower_nodes(graph, [node], node.outputs, "step").program
    rng = np.random.default_rng(2)
    arrays = {b.name: rng.standard_normal(b.shape) for b in program.buffers if b.scope == "input"}
    (expected,) = OPERATORS["GridSample"].reference(list(arrays.values()), node.attrs)
    assert np.array_equal(interpret(program, arrays, mode)["output"], expected)


def test_the_key_of_an_extern_tells_its_attributes_but_not_its_name():
    def key(mode: str, name: str) -> str:
        graph = sampled(mode)
        (node,) = (node for node in graph.nodes if node.op == "GridSample")
        renamed = Node(name, node.op, node.inputs, node.outputs, node.attrs, node.types)
        return workload_key(lower_nodes(graph, [renamed], node.outputs, name).program)

    assert key("linear", "a") == key("linear", "b")
    assert key("linear", "a") != key("cubic", "a")
