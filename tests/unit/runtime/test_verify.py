"""Verification passes on what is right, and names what is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ago
from ago import linking, pipeline
from ago.autoschedule import sketch_program
from ago.errors import InputError, VerificationError
from ago.frontend import GraphBuilder
from ago.ir.graph import Graph
from ago.ir.lowering import LOWERINGS
from ago.ir.nest import leaves
from ago.ir.value import Call, Const
from ago.memory import plan_workspace
from ago.runtime.verify import relative_error
from ago.runtime.weights import weights_image

INF, NAN = np.inf, np.nan


def small_graph(seed: int = 0) -> Graph:
    """Two fused convolutions with a residual between, and a classifier."""
    rng = np.random.default_rng(seed)
    b = GraphBuilder("verified")
    x = b.input("x", (2, 3, 9, 7))
    stem = b.relu6(b.conv(x, rng.standard_normal((5, 3, 3, 3)), pads=1, name="stem"), name="stem6")
    body = b.conv(stem, rng.standard_normal((5, 5, 1, 1)), rng.standard_normal(5), name="body")
    joined = b.relu(b.add(body, stem, name="join"), name="out")
    pooled = b.flatten(b.global_average_pool(joined, name="pool"), name="flat")
    return b.build(joined, b.gemm(pooled, rng.standard_normal((5, 4)), name="logits"))


@pytest.fixture(scope="module")
def net():
    return ago.optimize(small_graph(), partitioner="relay")


@pytest.fixture
def cold_cache(monkeypatch, tmp_path):
    """An empty cache: a compiler with a fault must not find what a right one made."""
    monkeypatch.setenv("AGO_CACHE_DIR", str(tmp_path))


def test_a_right_model_passes_step_by_step(net):
    report = net.verify()
    assert report.max_error < 1e-6
    assert len(report.steps) == len(net.anatomy.steps)
    assert all(step.error < 1e-6 for step in report.steps)
    assert str(report).startswith("verified: outputs within")
    assert report.to_dict()["max_error"] == report.max_error


def test_inputs_may_be_given_and_may_be_special(net):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 3, 9, 7), np.float32)
    x[0, 0, 4, 3], x[1, 2, 0, 0], x[1, 1, 8, 6] = NAN, INF, -INF
    with np.errstate(invalid="ignore"):
        assert net.verify({"x": x}).max_error < 1e-6


def test_the_seed_decides_the_inputs(net):
    assert net.verify(seed=3) == net.verify(seed=3)
    assert net.verify(seed=3) != net.verify(seed=4)


def test_wrong_inputs_are_refused(net):
    with pytest.raises(InputError, match="expected float32"):
        net.verify({"x": np.zeros((1, 3, 9, 7), np.float32)})


@pytest.mark.usefixtures("cold_cache")
@pytest.mark.parametrize(("op", "named"), [("Clip", "stem6"), ("Add", "join"), ("Gemm", "logits")])
def test_a_wrong_lowering_is_named_by_its_node(monkeypatch, op, named):
    monkeypatch.setitem(LOWERINGS, op, _doubled(LOWERINGS[op]))
    with pytest.raises(VerificationError, match=rf"node (is )?{named}\b"):
        ago.optimize(small_graph(), partitioner="relay").verify()


@pytest.mark.usefixtures("cold_cache")
def test_a_wrong_step_may_read_the_models_input(monkeypatch):
    b = GraphBuilder("first")
    y = b.relu(b.gemm(b.input("x", (3, 4)), np.ones((4, 5))), name="clamp")
    monkeypatch.setitem(LOWERINGS, "Clip", _doubled(LOWERINGS["Clip"]))
    with pytest.raises(VerificationError, match="node clamp alone differs"):
        ago.optimize(b.build(y), partitioner="relay").verify()


def _doubled(lower):
    """A lowering whose last stage computes twice what it should."""

    def wrong(node, lowering):
        lower(node, lowering)
        stage = lowering.stages[-1]
        lowering.stages[-1] = replace(stage, value=Call("mul", (Const(2.0), stage.value)))

    return wrong


@pytest.mark.usefixtures("cold_cache")
def test_a_wrong_weight_is_named_by_its_step():
    net = ago.optimize(small_graph(), partitioner="relay")
    constants = np.frombuffer(net.artifact.weights, np.float32).copy()
    constants[0] += 1.0
    image = weights_image(constants.tobytes(), net.artifact.fingerprint)
    net._weights[:] = np.frombuffer(image, np.uint8)
    with pytest.raises(VerificationError, match=r"step 1 .*stem"):
        net.verify()


@pytest.mark.usefixtures("cold_cache")
def test_a_wrong_fusion_is_named_by_its_nodes(monkeypatch):
    def broken(program, target, **options):
        made = sketch_program(program, target, **options)
        if {stage.name for stage in program.stages} >= {"conv", "add"}:
            made.schedule.program = _shifted(made.schedule.program)
        return made

    monkeypatch.setattr(pipeline, "sketch_program", broken)
    with pytest.raises(VerificationError, match="fusion of body, join"):
        ago.optimize(small_graph(), partitioner="relay").verify()


def _shifted(program):
    """The program with its last store adding 1."""
    last = list(leaves(program.body))[-1]

    def change(stmt):
        if stmt is last:
            return replace(stmt, value=Call("add", (Const(1.0), stmt.value)))
        inner = getattr(stmt, "body", None)
        return stmt if inner is None else replace(stmt, body=tuple(map(change, inner)))

    return program.with_body(tuple(map(change, program.body)))


@pytest.mark.usefixtures("cold_cache")
def test_a_wrong_workspace_plan_is_told_from_wrong_steps(monkeypatch):
    def careless(tensors):
        plan = plan_workspace(tensors)
        return replace(plan, offsets={**plan.offsets, "second": plan.offsets["first"]})

    rng = np.random.default_rng(0)
    b = GraphBuilder("overlapping")
    x = b.input("x", (5, 5))
    values = [x]
    for name in ("first", "between", "second", "third"):  # each reads the one before
        values.append(b.matmul(values[-1], rng.standard_normal((5, 5)), name=name))
    _, first, _, _, third = values
    monkeypatch.setattr(linking, "plan_workspace", careless)
    with pytest.raises(VerificationError, match="each step agrees"):
        ago.optimize(b.build(b.matmul(first, third)), partitioner="relay").verify()


@pytest.mark.parametrize(
    ("got", "expected", "error"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.5], [1.0, 2.0], 0.25),
        ([NAN, 1.0], [NAN, 1.0], 0.0),
        ([NAN, 1.0], [0.0, 1.0], INF),
        ([0.0, 1.0], [NAN, 1.0], INF),
        ([INF, 1.0], [INF, 1.0], 0.0),
        ([-INF, 1.0], [INF, 1.0], INF),
        ([INF, 1.0], [3.0, 1.0], INF),
        ([NAN, -INF], [NAN, -INF], 0.0),
        ([0.0], [0.0], 0.0),
        ([], [], 0.0),
    ],
)
def test_errors_are_relative_to_the_largest_value(got, expected, error):
    assert relative_error(np.array(got, np.float32), np.array(expected)) == error


@pytest.mark.parametrize(
    ("dtype", "got", "expected", "error"),
    [
        (np.int64, [2**53, 7], [2**53 + 1, 7], 0.5),
        (np.int64, [10**6, 10**6], [10**6, 10**6 + 1], 0.5),
        (np.uint8, [1, 2, 3, 4], [1, 2, 3, 4], 0.0),
        (np.bool_, [True, False], [True, True], 0.5),
        (np.int32, [], [], 0.0),
    ],
)
def test_integers_and_bools_are_right_or_wrong(dtype, got, expected, error):
    assert relative_error(np.array(got, dtype), np.array(expected, dtype)) == error
