"""The report of what is moved in memory, and why."""

import numpy as np
import pytest

from ago.frontend import GraphBuilder
from ago.passes import choose_layouts, compose_movement, report_movement

LANES = 8


@pytest.fixture
def b():
    return GraphBuilder()


def reasons(b, *outputs):
    """The reasons by operator of the moves of a graph after the passes."""
    graph = choose_layouts(compose_movement(b.build(*outputs)), LANES)
    report = report_movement(graph)
    assert all(str(m.nbytes) in str(report) for m in report.moved)
    return {m.op: m.reason for m in report.movements}


def a_map(b, name, channels):
    return b.relu(b.max_pool(b.input(name, (1, channels, 4, 4)), 1))


def test_joined_maps_of_whole_vectors_are_views(b):
    y = b.concat([a_map(b, "x", 8), a_map(b, "y", 16)], 1)
    assert reasons(b, b.max_pool(y, 1)) == {"Concat": ""}


def test_joined_maps_of_parts_of_vectors_are_moved(b):
    y = b.concat([a_map(b, "x", 8), a_map(b, "y", 12)], 1)
    assert "whole number of vectors" in reasons(b, b.max_pool(y, 1))["Concat"]


def test_what_is_joined_twice_is_moved(b):
    x = a_map(b, "x", 8)
    assert "joined twice" in reasons(b, b.max_pool(b.concat([x, x], 1), 1))["Concat"]


def test_inputs_and_outputs_have_memory_of_their_own(b):
    x = b.input("x", (1, 8, 4, 4))
    y = b.concat([b.max_pool(x, 1), x], 1)
    assert "an input or an output" in reasons(b, b.max_pool(y, 1))["Concat"]
    z = b.reshape(b.relu(b.input("z", (2, 3))), (6,))
    assert "output of the graph" in reasons(b, z)["Reshape"]


def test_patches_are_moved_once(b):
    x = b.reshape(a_map(b, "x", 8), (16, 2, 2, 2))
    x = b.reshape(b.apply("Transpose", x, perm=(0, 2, 1, 3)), (1, 8, 4, 4))
    x = b.reshape(b.apply("Transpose", x, perm=(0, 3, 2, 1)), (4, 4, 8))
    y = b.matmul(b.apply("Softmax", x, axes=(2,)), np.ones((8, 8)))
    assert "no single step" in reasons(b, y)["Rearrange"]


def test_other_operators_say_what_they_do(b):
    x = a_map(b, "x", 8)
    padded = b.pad(x, (0, 0, 1, 1, 0, 0, 1, 1))
    tiled = b.apply("Tile", x, repeats=(1, 1, 2, 1))
    found = reasons(b, b.max_pool(padded, 1), b.max_pool(tiled, 1))
    assert "borders" in found["Pad"]
    assert "repeats" in found["Tile"]
