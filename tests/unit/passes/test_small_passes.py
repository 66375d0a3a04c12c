"""Constant folding, identities, clips and Gemm's factors."""

import numpy as np
import pytest

from ago.frontend import GraphBuilder
from ago.ir.evaluate import evaluate
from ago.passes import eliminate_identities, fold_constants, fold_gemm, fuse_clips
from tests.support.onnx_models import integers

INF = np.inf


@pytest.fixture
def b():
    return GraphBuilder()


@pytest.fixture
def x(b):
    return b.input("x", (2, 3))


def ops(graph):
    return [node.op for node in graph.nodes]


def same(before, after):
    feeds = {"x": integers(before.types["x"].shape, 3)}
    wanted, got = evaluate(before, feeds), evaluate(after, feeds)
    assert list(wanted) == list(got)
    for name, value in wanted.items():
        np.testing.assert_array_equal(got[name], value)


# fold_constants


def test_a_chain_of_constants_becomes_one(b, x):
    scale = b.relu(b.add(b.constant(integers((3,))), 1.0))
    graph = b.build(b.mul(x, scale))
    folded = fold_constants(graph)
    assert ops(folded) == ["Mul"]
    assert len(folded.params) == 1
    same(graph, folded)


def test_a_constant_output_stays_an_identity(b, x):
    constant = b.relu(b.constant(integers((3,))), name="c")
    graph = b.build(b.add(x, constant), constant)
    folded = fold_constants(graph)
    assert sorted(ops(folded)) == ["Add", "Identity"]
    assert fold_constants(folded) == folded
    same(graph, folded)


# eliminate_identities


def test_identities_of_every_kind_go(b, x):
    y = b.identity(b.relu(x))
    y = b.pad(b.reshape(b.clip(y), (2, 3)), (0, 0, 0, 0))
    y = b.apply("Expand", b.apply("Cast", y, to="f32"), shape=(2, 3))
    y = b.apply("Slice", y, shape=(2, 3), starts=(0, 0), steps=(1, 1))
    graph = b.build(b.relu(y))
    assert ops(eliminate_identities(graph)) == ["Relu", "Relu"]
    same(graph, eliminate_identities(graph))


def test_what_changes_an_element_its_type_or_its_place_stays(b, x):
    y = b.apply("Slice", x, shape=(2, 3), starts=(0, 2), steps=(1, -1))
    y = b.apply("Cast", b.apply("Cast", y, to="i32"), to="f32")
    y = b.apply(
        "Expand", b.apply("Slice", y, shape=(1, 3), starts=(1, 0), steps=(1, 1)), shape=(2, 3)
    )
    graph = b.build(b.relu(y))
    assert ops(eliminate_identities(graph)) == ["Slice", "Cast", "Cast", "Slice", "Expand", "Relu"]
    same(graph, eliminate_identities(graph))


def test_dead_nodes_go(b, x):
    b.relu(b.add(x, 1.0))
    graph = b.build(b.mul(x, 2.0))
    assert ops(eliminate_identities(graph)) == ["Mul"]
    assert len(eliminate_identities(graph).params) == 1


def test_an_output_passes_its_name_to_the_node_before(b, x):
    y = b.relu(x, name="inner")
    z = b.add(y, 1.0)
    graph = b.build(b.identity(y, name="y"), z)
    cleaned = eliminate_identities(graph)
    assert [(node.op, node.output) for node in cleaned.nodes] == [("Relu", "y"), ("Add", "add0")]
    same(graph, cleaned)


def test_two_names_of_one_value_need_a_copy(b, x):
    y = b.relu(x, name="y")
    graph = b.build(y, b.identity(y, name="z"))
    assert ops(eliminate_identities(graph)) == ["Relu", "Identity"]
    same(graph, eliminate_identities(graph))


def test_two_copies_of_an_inner_value(b, x):
    y = b.relu(x)
    graph = b.build(b.identity(y, name="y"), b.identity(y, name="z"))
    assert ops(eliminate_identities(graph)) == ["Relu", "Identity"]
    same(graph, eliminate_identities(graph))


def test_an_output_that_is_an_input_needs_a_copy(b, x):
    graph = b.build(b.identity(b.identity(x), name="y"))
    assert ops(eliminate_identities(graph)) == ["Identity"]
    same(graph, eliminate_identities(graph))


def test_reshapes_join(b, x):
    graph = b.build(b.relu(b.reshape(b.reshape(b.relu(x), (6,)), (3, 2))))
    assert ops(eliminate_identities(graph)) == ["Relu", "Reshape", "Relu"]
    same(graph, eliminate_identities(graph))
    back = b.build(b.relu(b.reshape(b.reshape(b.relu(x), (6,)), (2, 3))))
    assert ops(eliminate_identities(back)) == ["Relu", "Relu"]


# fuse_clips


def bounds(graph):
    return [(node.attrs["min"], node.attrs["max"]) for node in graph.nodes]


@pytest.mark.parametrize(
    ("first", "second", "fused"),
    [
        ((0, INF), (-INF, 6), (0, 6)),
        ((0, 6), (1, 9), (1, 6)),
        ((0, 1), (2, 3), (2, 2)),
        ((2, 3), (0, 1), (1, 1)),
        ((5, 2), (-9, 9), (2, 2)),
        ((-9, 9), (5, 2), (2, 2)),
        ((INF, INF), (0, 6), (6, 6)),
    ],
)
def test_two_clips_become_one(b, x, first, second, fused):
    graph = b.build(b.clip(b.clip(x, *first), *second))
    assert bounds(fuse_clips(graph)) == [fused]
    feeds = {"x": np.array([[np.nan, -INF, -0.5], [2.5, 7, INF]])}
    (wanted,), (got,) = evaluate(graph, feeds).values(), evaluate(fuse_clips(graph), feeds).values()
    np.testing.assert_array_equal(got, wanted)


def test_relus_become_clips(b, x):
    graph = b.build(b.clip(b.relu(b.relu(x)), high=6.0))
    assert bounds(fuse_clips(graph)) == [(0, 6)]


def test_a_clip_that_is_read_elsewhere_stays(b, x):
    y = b.relu(x)
    z = b.clip(y, 1, 2)
    assert ops(fuse_clips(b.build(z, y))) == ["Clip", "Clip"]
    assert ops(fuse_clips(b.build(b.add(y, z)))) == ["Clip", "Clip", "Add"]


# fold_gemm


@pytest.mark.parametrize("trans_b", [False, True])
def test_gemms_factors_go_into_constants(b, x, trans_b):
    w = integers((4, 3) if trans_b else (3, 4))
    graph = b.build(b.gemm(x, w, integers((4,)), trans_b=trans_b, alpha=0.5, beta=2.0))
    folded = fold_gemm(graph)
    attrs = folded.nodes[0].attrs
    assert dict(attrs) == {"trans_a": 0, "trans_b": 0, "alpha": 1.0, "beta": 1.0}
    assert folded.type_of(folded.nodes[0].inputs[1]).shape == (3, 4)
    same(graph, folded)


def test_gemms_computed_operands_keep_their_factors(b):
    x = b.input("x", (2, 2))
    graph = b.build(b.gemm(x, x, x, trans_b=True, alpha=0.5, beta=2.0))
    assert fold_gemm(graph) == graph


def test_a_shared_weight_is_copied(b):
    x = b.input("x", (2, 3))
    w = b.constant(integers((3, 3)), "w")
    graph = b.build(b.gemm(x, w, alpha=2.0), b.matmul(x, w))
    folded = fold_gemm(graph)
    np.testing.assert_array_equal(folded.params["w"], integers((3, 3)))
    same(graph, folded)
