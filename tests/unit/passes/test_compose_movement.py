"""Chains of movement become one node, shuffles of a Concat an Interleave; what must stay stays."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ago.frontend import GraphBuilder
from ago.ir.evaluate import evaluate
from ago.ir.ops import OPERATORS
from ago.passes import compose_movement
from tests.support.onnx_models import integers


@pytest.fixture
def b():
    return GraphBuilder()


def ops(graph):
    return [node.op for node in graph.nodes]


def composed(graph):
    """The graph after the pass, which computes the same bits."""
    after = compose_movement(graph)
    feeds = {name: integers(graph.types[name].shape, 50) for name in graph.inputs}
    wanted, got = evaluate(graph, feeds), evaluate(after, feeds)
    assert list(wanted) == list(got)
    for name, value in wanted.items():
        np.testing.assert_array_equal(got[name], value)
    return after


def dealt(b, x, groups):
    n, c, *rest = x.shape
    split = b.reshape(x, (n, groups, c // groups, *rest))
    return b.reshape(
        b.apply("Transpose", split, perm=(0, 2, 1, *range(3, len(split.shape)))), x.shape
    )


def channels(b, x, start, count):
    n, _, *rest = x.shape
    starts, steps = [0, start, *[0] * len(rest)], [1] * len(x.shape)
    return b.apply("Slice", x, starts=starts, steps=steps, shape=(n, count, *rest))


def two_maps(b, shape=(2, 6, 3, 2)):
    return b.relu(b.input("x", shape)), b.relu(b.input("y", shape))


def test_a_shuffle_of_one_map_is_a_rearrangement(b):
    graph = composed(b.build(dealt(b, b.input("x", (2, 12, 3, 5)), 3)))
    (node,) = graph.nodes
    assert node.op == "Rearrange"
    assert node.attrs["split"] == (2, 3, 4, 3, 5)


def test_a_shuffle_and_its_inverse_vanish(b):
    x = b.relu(b.input("x", (1, 12, 3, 5)))
    assert ops(composed(b.build(b.relu(dealt(b, dealt(b, x, 3), 4))))) == ["Relu", "Relu"]


def test_two_transposes_are_one_node(b):
    x = b.apply("Transpose", b.input("x", (2, 3, 4)), perm=(1, 2, 0))
    assert len(composed(b.build(b.apply("Transpose", x, perm=(2, 1, 0)))).nodes) == 1


def test_a_transpose_of_ones_is_a_reshape(b):
    x = b.apply("Transpose", b.reshape(b.input("x", (3, 4)), (3, 1, 4)), perm=(1, 0, 2))
    assert ops(composed(b.build(x))) == ["Reshape"]


def test_a_value_that_others_read_is_kept(b):
    x = b.input("x", (2, 3, 4))
    middle = b.apply("Transpose", x, perm=(1, 0, 2))
    end = b.apply("Transpose", middle, perm=(2, 0, 1))
    assert ops(composed(b.build(end, b.relu(middle)))) == ["Transpose", "Transpose", "Relu"]
    assert ops(composed(b.build(end, middle))) == ["Transpose", "Transpose"]


def test_an_axis_that_begins_inside_a_digit_ends_the_run(b):
    x = b.apply("Transpose", b.input("x", (5, 6)), perm=(1, 0))
    y = b.apply("Transpose", b.reshape(x, (15, 2)), perm=(1, 0))
    assert ops(composed(b.build(y))) == ["Transpose", "Reshape", "Transpose"]


def test_halves_of_dealt_channels_are_dealt_apart(b):
    y = dealt(b, b.concat(two_maps(b), 1), 2)
    halves = [b.relu(channels(b, y, start, 6)) for start in (0, 6)]
    graph = composed(b.build(*halves))
    assert ops(graph) == ["Relu", "Relu", "Interleave", "Relu", "Interleave", "Relu"]
    assert [n.attrs["start"] for n in graph.nodes if n.op == "Interleave"] == [0, 3]


@pytest.mark.parametrize(("start", "count"), [(1, 6), (0, 7)])
def test_a_slice_that_takes_unlike_numbers_stays(b, start, count):
    y = channels(b, dealt(b, b.concat(two_maps(b), 1), 2), start, count)
    assert "Slice" in ops(composed(b.build(b.relu(y))))


def test_a_slice_of_pixels_stays(b):
    y = dealt(b, b.concat(two_maps(b), 1), 2)
    z = b.apply("Slice", y, starts=(0, 0, 1, 0), steps=(1, 1, 1, 1), shape=(2, 12, 2, 2))
    assert "Slice" in ops(composed(b.build(b.relu(z))))


def test_dealt_channels_that_others_read_are_made_once(b):
    y = dealt(b, b.concat(two_maps(b), 1), 2)
    graph = composed(b.build(b.relu(channels(b, y, 0, 6)), b.relu(y)))
    assert ops(graph).count("Interleave") == 1
    assert "Slice" in ops(graph)


@pytest.mark.parametrize("groups", [3, 4])
def test_a_shuffle_in_other_groups_than_the_parts_is_none_of_them(b, groups):
    assert "Concat" in ops(composed(b.build(dealt(b, b.concat(two_maps(b), 1), groups))))


def test_parts_of_unlike_sizes_are_not_interleaved(b):
    parts = [b.relu(b.input(name, (1, c, 3))) for name, c in (("x", 2), ("y", 4))]
    assert "Concat" in ops(composed(b.build(dealt(b, b.concat(parts, 1), 2))))


def test_a_concat_that_others_read_is_kept(b):
    whole = b.concat(two_maps(b), 1)
    assert "Concat" in ops(composed(b.build(dealt(b, whole, 2), b.relu(whole))))


@st.composite
def moves(draw):
    """A shape, and reshapes and transposes one after another."""
    primes = draw(st.lists(st.sampled_from([1, 2, 2, 3, 4]), min_size=1, max_size=5))
    steps = []
    shape = list(primes)
    for _ in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            perm = draw(st.permutations(range(len(shape))))
            steps.append(("Transpose", tuple(perm)))
            shape = [shape[axis] for axis in perm]
        else:
            total, shape = math.prod(shape), []
            while total > 1 and len(shape) < 4:
                shape.append(
                    draw(st.sampled_from([d for d in range(1, total + 1) if total % d == 0]))
                )
                total //= shape[-1]
            shape.append(total)
            steps.append(("Reshape", tuple(shape)))
    return tuple(primes), steps


@given(case=moves())
def test_any_run_moves_each_element_where_its_steps_do(case):
    shape, steps = case
    b = GraphBuilder()
    x = b.relu(b.input("x", shape))
    for op, argument in steps:
        key = {"Transpose": "perm", "Reshape": "shape"}[op]
        x = b.apply(op, x, **{key: argument})
    graph = b.build(b.relu(x))
    after = compose_movement(graph)
    for node in after.nodes:
        kinds = [after.types[value] for value in node.inputs]
        assert OPERATORS[node.op].infer(kinds, node.attrs) == node.types
    feeds = {"x": np.arange(math.prod(shape), dtype=float).reshape(shape)}
    (wanted,), (got,) = evaluate(graph, feeds).values(), evaluate(after, feeds).values()
    np.testing.assert_array_equal(got, wanted)
    assert len(after.nodes) <= len(graph.nodes)
    assert compose_movement(after) == after
