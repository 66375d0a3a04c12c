"""Profiles: what is measured, what is estimated, and what is counted."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import ago
from ago.errors import InputError
from ago.frontend import GraphBuilder
from ago.ir.examples import matmul
from ago.ir.graph import Graph
from ago.ir.work import Work, stage_flop
from ago.runtime.net import Net
from ago.runtime.profile import Profile
from ago.runtime.verify import random_inputs


def two_layers() -> Graph:
    b = GraphBuilder("two layers")
    x = b.input("x", (6, 8))
    hidden = b.apply("Sigmoid", b.matmul(x, np.ones((8, 16))), name="act")
    return b.build(b.reduce_mean(b.matmul(hidden, np.ones((16, 4))), (0,)))


class Ideal:
    """A machine that takes one nanosecond a multiply-add."""

    def least_seconds(self, work: Work) -> float:
        return 1e-9 * work.flop


@pytest.fixture(scope="module")
def net() -> Net:
    return ago.optimize(two_layers(), partitioner="relay")


@pytest.fixture
def profile(net: Net, monkeypatch: pytest.MonkeyPatch) -> Profile:
    monkeypatch.setattr("ago.api._machine", Ideal)
    fresh = ago.optimize(two_layers(), partitioner="relay")
    return fresh.profile(rounds=2)


def test_every_step_is_timed_and_counted(profile):
    assert [step.index for step in profile.steps] == list(range(len(profile.steps)))
    assert all(step.seconds > 0 for step in profile.steps)
    assert sum(step.work.flop for step in profile.steps) == 2 * 6 * 8 * 16 + 2 * 6 * 16 * 4 + 6 * 4
    for step in profile.steps:
        assert step.roofline == pytest.approx(1e-9 * step.work.flop / step.seconds)
        assert step.gflops == pytest.approx(step.work.flop / step.seconds / 1e9)


def test_the_operators_of_a_step_share_its_time(profile):
    nodes = [operator.node for step in profile.steps for operator in step.operators]
    assert len(nodes) == len(set(nodes))
    for step in profile.steps:
        assert sum(o.seconds for o in step.operators) == pytest.approx(step.seconds)
    kinds = profile.by_operator
    assert {"MatMul", "Sigmoid", "ReduceMean"} <= set(kinds)
    assert sum(kinds.values()) == pytest.approx(profile.seconds)
    assert list(kinds.values()) == sorted(kinds.values(), reverse=True)


def test_it_prints_and_becomes_plain_data(profile):
    data = json.loads(json.dumps(profile.to_dict()))
    assert len(data["steps"]) == len(profile.steps)
    assert "operators_estimated" in data
    assert math.isclose(data["us"], 1e6 * profile.seconds, abs_tol=1e-2)
    text = str(profile)
    assert "by operator, estimated: " in text
    assert all(step.label[:20] in text for step in profile.steps)


def test_a_profile_runs_the_model_on_given_inputs(net):
    inputs = random_inputs(net.artifact.inputs, 3)
    before = net.run(inputs)
    with pytest.raises(InputError, match="expected f"):
        net.profile({"x": np.zeros((6, 7), np.float32)})
    with pytest.raises(InputError, match="rounds=0"):
        net.profile(inputs, rounds=0)
    after = net.run(inputs)
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array)


def test_work_of_a_product():
    program = matmul(4, 16, 5)
    work = Work.of(program)
    assert work.flop == 2 * 4 * 16 * 5
    assert work.written_bytes == 4 * 4 * 16
    assert work.read_bytes == 4 * (4 * 5 + 5 * 16)
    assert Work.of(program, {"A": 100}).read_bytes == 100 + 4 * 5 * 16
    assert sum(work.shares.values()) == pytest.approx(1.0)
    assert [stage_flop(stage) for stage in program.stages] == [work.flop]
