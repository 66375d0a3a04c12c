"""How nests of other types than float32 meet those that are vectors."""

import numpy as np

from ago.autoschedule import schedule_program
from ago.frontend import GraphBuilder
from ago.ir.lowering import lower_nodes
from ago.ir.nest import For, leaves, walk
from ago.passes import choose_layouts
from ago.target import TARGETS

TARGET = TARGETS["cortex-a76"]


def scheduled(output, b):
    graph = choose_layouts(b.build(output), TARGET.lanes)
    naive = lower_nodes(graph, graph.nodes, graph.outputs, "p").program
    return schedule_program(naive, TARGET).program


def in_lanes(program):
    """The stages that are computed in vectors."""
    loops = (s for s in walk(program.body) if isinstance(s, For) and s.kind == "vector")
    return {leaf.stage for loop in loops for leaf in leaves(loop.body)}


def test_a_mask_of_integers_is_converted_before_the_vectors_that_read_it():
    b = GraphBuilder("g")
    mask = b.apply("Cast", b.input("mask", (1, 32), "i64"), to="f32")
    scores = b.matmul(b.input("x", (32, 64)), np.ones((64, 32)))
    program = scheduled(b.add(scores, b.mul(b.sub(1.0, mask), -1e4)), b)
    assert [s.name for s in program.stages] == ["cast", "matmul", "add"]
    assert in_lanes(program) == {"matmul", "add"}


def test_a_condition_joins_the_choice_as_a_lane_mask():
    b = GraphBuilder("g")
    x, y = b.input("x", (8, 32)), b.input("y", (8, 32))
    program = scheduled(b.apply("Where", b.apply("Less", x, y), x, b.mul(y, 2.0)), b)
    assert [s.name for s in program.stages] == ["where"]
    assert in_lanes(program) == {"where"}


def test_a_product_stays_in_vectors_when_it_is_quantised():
    b = GraphBuilder("g")
    product = b.matmul(b.input("x", (32, 64)), np.ones((64, 32)))
    program = scheduled(b.apply("Cast", b.apply("Round", product), to="i8"), b)
    assert in_lanes(program) == {"matmul", "matmul_out"}
    assert program.stages[-1].name == "cast"


def test_a_product_of_integers_stays_naive():
    b = GraphBuilder("g")
    total = b.apply("Mul", b.input("x", (5, 7), "i32"), b.input("y", (5, 7), "i32"))
    program = scheduled(b.apply("Max", total, b.input("z", (7,), "i32")), b)
    assert [s.name for s in program.stages] == ["max"]
    assert in_lanes(program) == set()
