"""The choice of layouts, and when a reshape is a view."""

import numpy as np
import pytest

from ago.frontend import GraphBuilder
from ago.ir.graph import Layout
from ago.ir.ops import OPERATORS
from ago.ir.tensor import Slice
from ago.models import tiny_mobilenet
from ago.passes import choose_layouts, compose_movement, is_view

LANES = 8


@pytest.fixture
def b():
    return GraphBuilder()


def reshape_node(graph):
    return next(node for node in graph.nodes if node.op == "Reshape")


def a_map_of(b, x):
    """A pool of one pixel, whose input and output are channels-last maps."""
    return b.max_pool(x, 1)


def a_map(b, shape):
    return a_map_of(b, b.input("x", shape))


def test_activations_are_channels_last_and_the_rest_row_major():
    graph = choose_layouts(tiny_mobilenet(), LANES)
    for name in (*graph.inputs, *graph.outputs, *graph.params):
        assert graph.types[name].layout is None
    for node in graph.nodes:
        if node.type.rank == 4:
            assert node.type.layout == Layout.channels_last(4, LANES)
    assert graph.types["flatten"].layout == Layout.row_major(2, LANES)


def test_layouts_change_nothing_else():
    graph = tiny_mobilenet()
    plain = choose_layouts(graph, LANES)
    assert [(n.name, n.op, n.inputs, n.attrs) for n in plain.nodes] == [
        (n.name, n.op, n.inputs, n.attrs) for n in graph.nodes
    ]
    assert choose_layouts(choose_layouts(graph, 4), LANES) == plain


def test_ranks_without_channels_last(b):
    x = b.input("x", (2, 3))
    scalar = b.reduce_mean(b.relu(x), (0, 1), keepdims=False)
    five = b.relu(b.reshape(x, (2, 3, 1, 1, 1)))
    graph = choose_layouts(b.build(b.add(b.relu(scalar), b.relu(five))), LANES)
    assert graph.types["relu0"].layout == Layout.row_major(2, LANES)
    assert graph.types["relu1"].layout == Layout.row_major(5)
    assert graph.types["relu2"].layout == Layout.row_major(0)


@pytest.mark.parametrize("channels", [3, 8, 17, 1280])
@pytest.mark.parametrize("batch", [1, 2, 5])
def test_the_flatten_of_a_pooled_map_is_a_view(b, channels, batch):
    pooled = b.global_average_pool(b.input("x", (batch, channels, 4, 4)))
    y = b.relu(b.flatten(pooled))
    graph = choose_layouts(b.build(y), LANES)
    assert is_view(graph, reshape_node(graph))


@pytest.mark.parametrize(
    ("shape", "target", "view"),
    [
        ((1, 16, 1, 1), (1, 16), True),
        ((1, 17, 1, 1), (1, 17), True),
        ((1, 1, 4, 4), (1, 16), True),  # too few channels to round
        ((2, 9, 1, 1), (1, 18), False),  # lanes of padding lie between the rows
        ((1, 8, 1, 4), (1, 32), False),  # channels are innermost in memory, outermost in the order
        ((1, 8, 2, 2), (1, 8, 4), True),
        ((1, 8, 6), (1, 8, 2, 3), True),
        ((2, 8, 2, 2), (1, 16, 2, 2), False),
    ],
)
def test_reshapes_of_channels_last_maps(b, shape, target, view):
    y = b.reshape(a_map(b, shape), target)
    z = b.relu(y) if len(target) < 3 else a_map_of(b, y)
    graph = choose_layouts(b.build(z), LANES)
    assert is_view(graph, reshape_node(graph)) is view


def test_reshapes_of_row_major_tensors_are_views(b):
    x = b.input("x", (2, 6))
    graph = choose_layouts(b.build(b.reshape(b.relu(b.reshape(x, (3, 4))), (4, 3))), LANES)
    assert [is_view(graph, node) for node in graph.nodes] == [True, False, True]


def test_rows_that_are_rounded_are_no_view_of_rows_that_are_not(b):
    x = a_map(b, (2, 10, 1, 1))
    graph = choose_layouts(b.build(b.flatten(x)), LANES)
    assert not is_view(graph, reshape_node(graph))


def test_a_view_is_never_longer_than_what_it_looks_at(b):
    x = b.input("x", (1, 6, 1, 1))
    graph = choose_layouts(b.build(b.relu(b.flatten(x))), LANES)
    assert graph.types["reshape0"].nbytes == graph.types["x"].nbytes == 24
    assert is_view(graph, reshape_node(graph))


def node_of(graph, op):
    return next(node for node in graph.nodes if node.op == op)


def test_what_stands_between_a_convolution_and_its_reader_is_channels_last(b):
    x = a_map(b, (1, 8, 4, 4))
    y = b.apply("Pad", b.relu(x), mode="edge", pads=(0, 0, 1, 1) * 2, value=0.0)
    graph = choose_layouts(b.build(a_map_of(b, y)), LANES)
    assert {graph.types[v].layout for v in ("maxpool0", "relu0", "pad0")} == {
        Layout.channels_last(4, LANES)
    }


def test_sequences_are_row_major(b):
    x = b.matmul(b.input("x", (2, 7, 8)), b.constant(np.ones((8, 8))))
    graph = choose_layouts(b.build(b.relu(b.add(b.relu(x), 1.0))), LANES)
    assert graph.types["add0"].layout == Layout.row_major(3)


def test_a_transpose_lies_as_its_input_does(b):
    x = a_map(b, (2, 8, 3, 5))
    y = b.apply("Transpose", x, perm=(0, 2, 3, 1))
    graph = choose_layouts(b.build(b.matmul(y, b.constant(np.ones((8, 8))))), LANES)
    assert graph.types["transpose0"].layout == Layout.row_major(4)
    assert is_view(graph, node_of(graph, "Transpose"))


def test_a_channel_shuffle_copies_once(b):
    x = b.reshape(a_map(b, (1, 16, 3, 3)), (1, 2, 8, 3, 3))
    y = b.reshape(b.apply("Transpose", x, perm=(0, 2, 1, 3, 4)), (1, 16, 3, 3))
    graph = choose_layouts(b.build(a_map_of(b, y)), LANES)
    views = [n.name for n in graph.nodes if is_view(graph, n)]
    assert views == ["reshape0", "transpose0"]


@pytest.mark.parametrize(
    ("start", "count", "view"), [(0, 8, True), (8, 16, True), (4, 8, True), (8, 12, False)]
)
def test_slices_of_whole_vectors_are_views(b, start, count, view):
    x = a_map(b, (1, 32, 3, 3))
    whole = {"starts": (0, start, 0, 0), "steps": (1, 1, 1, 1), "shape": (1, count, 3, 3)}
    graph = choose_layouts(b.build(a_map_of(b, b.apply("Slice", x, **whole))), LANES)
    assert is_view(graph, node_of(graph, "Slice")) is view


def test_slices_with_steps_are_no_views(b):
    x = a_map(b, (1, 32, 3, 3))
    every = {"starts": (0, 0, 0, 0), "steps": (1, 2, 1, 1), "shape": (1, 16, 3, 3)}
    graph = choose_layouts(b.build(a_map_of(b, b.apply("Slice", x, **every))), LANES)
    assert not is_view(graph, node_of(graph, "Slice"))


def test_parts_of_other_axes_are_views(b):
    x = b.matmul(b.input("x", (2, 7, 8)), b.constant(np.ones((8, 60))))
    parts = b.apply("Transpose", b.reshape(x, (2, 7, 3, 4, 5)), perm=(2, 0, 3, 1, 4))
    cut = {"starts": (1, 0, 0, 0, 0), "steps": (1,) * 5, "shape": (1, 2, 4, 7, 5)}
    part = b.reshape(b.apply("Slice", parts, **cut), (2, 4, 7, 5))
    graph = choose_layouts(b.build(b.matmul(part, b.input("y", (2, 4, 5, 7)))), LANES)
    assert all(is_view(graph, node) for node in graph.nodes if node.op != "MatMul")
    assert graph.types["reshape1"].layout == Layout((0, 2, 1, 3), 1, Slice(4, 12, 1))


def test_tokens_joined_along_a_sequence_lie_in_the_result(b):
    weight = b.constant(np.ones((8, 8)))
    parts = [b.matmul(b.input(name, (2, rows, 8)), weight) for name, rows in (("x", 1), ("y", 6))]
    graph = choose_layouts(b.build(b.relu(b.concat(parts, 1))), LANES)
    assert is_view(graph, node_of(graph, "Concat"))
    assert graph.types["matmul1"].layout == Layout((0, 1, 2), 1, Slice(1, 7, 1))


@pytest.mark.parametrize("seed", range(40))
def test_what_is_called_a_view_is_one(seed):
    """The elements of a view, by its own layout, are those of the result, in its input's memory."""
    rng = np.random.default_rng(seed)
    b = GraphBuilder()
    x = b.input("x", tuple(rng.integers(1, 5, 4)))
    values = [a_map_of(b, x) if seed % 2 else b.relu(x)]
    for _ in range(4):
        values.append(random_view(b, rng, values[-1]))
    graph = choose_layouts(b.build(b.relu(values[-1])), 2)
    memory = np.full(graph.types[values[0].name].physical_shape, -1.0)
    array = np.arange(float(values[0].type.size)).reshape(values[0].shape)
    by_layout(memory, graph.types[values[0].name])[...] = array
    for node in graph.nodes[1:-1]:
        (array,) = OPERATORS[node.op].reference([array], node.attrs)
        if not is_view(graph, node):
            return
        np.testing.assert_array_equal(by_layout(memory, node.type), array)


def random_view(b, rng, x):
    rank = len(x.shape)
    kind = rng.integers(3)
    if kind == 0:
        return b.apply("Transpose", x, perm=tuple(int(axis) for axis in rng.permutation(rank)))
    if kind == 1:
        starts = tuple(int(rng.integers(extent)) for extent in x.shape)
        shape = tuple(int(rng.integers(1, e - s + 1)) for e, s in zip(x.shape, starts, strict=True))
        return b.apply("Slice", x, starts=starts, steps=(1,) * rank, shape=shape)
    place = int(rng.integers(rank))
    merged = x.shape[place : place + 2]
    return b.reshape(x, (*x.shape[:place], int(np.prod(merged)), *x.shape[place + 2 :], 1))


def by_layout(memory, kind):
    """The elements of a tensor in some memory, in logical order."""
    layout = kind.layout or Layout.row_major(kind.rank)
    wide = memory.ravel()[: int(np.prod(kind.physical_shape))].reshape(kind.physical_shape)
    cut = [
        slice(s, s + kind.shape[axis]) for axis, s in zip(layout.order, layout.starts, strict=True)
    ]
    return wide[tuple(cut)].transpose([layout.order.index(axis) for axis in range(kind.rank)])


@pytest.mark.parametrize(("size", "views"), [(8, True), (5, False)])
def test_products_are_written_where_they_are_read_as_rows(b, size, views):
    product = b.matmul(b.input("x", (2, 3, 4, 6)), np.ones((6, size)))
    rows = b.reshape(b.apply("Transpose", product, perm=(0, 2, 1, 3)), (2, 4, 3 * size))
    graph = compose_movement(b.build(b.matmul(rows, np.ones((3 * size, 8)))))
    graph = choose_layouts(graph, LANES)
    (moved,) = (node for node in graph.nodes if node.op == "Rearrange")
    assert is_view(graph, moved) == views
