"""Profiles taken on a device: as a program here, and of AArch64 code under qemu."""

import json
import shutil

import numpy as np
import pytest

import ago
from ago.frontend import GraphBuilder
from ago.ir.graph import Graph
from ago.runtime.net import Net
from ago.runtime.transport import QEMU_AARCH64
from ago.target import TARGETS


def two_layers() -> Graph:
    b = GraphBuilder("two layers")
    x = b.input("x", (6, 8))
    hidden = b.apply("Sigmoid", b.matmul(x, np.ones((8, 16))), name="act")
    return b.build(b.matmul(hidden, np.ones((16, 4))))


@pytest.fixture(scope="module")
def net() -> Net:
    return ago.optimize(two_layers(), partitioner="relay")


def test_a_program_here(net):
    profile = net.profile(rounds=3, runner="local")
    assert len(profile.steps) == len(net.anatomy.steps) == 2
    assert all(step.seconds > 0 for step in profile.steps)
    assert profile.visit is not None
    text = json.loads(json.dumps(profile.to_dict()))
    assert set(text["device"]) == {"name", "before", "after", "drift", "warning"}
    assert f"on {profile.visit.device}: before" in str(profile)


def test_the_roofline_is_the_arithmetic_at_the_device_s_clock(net, monkeypatch):
    def read(self, path: str) -> str:
        return "2000000\n" if "cpufreq" in path else ""

    monkeypatch.setattr("ago.runtime.transport.LocalTransport.read", read)
    profile = net.profile(rounds=2, runner="local")
    target = net.artifact.target
    for step in profile.steps:
        least = step.work.flop / (2 * target.lanes * target.fma_pipes * 2e9)
        assert step.least_seconds == pytest.approx(least)
    monkeypatch.setattr("ago.runtime.transport.LocalTransport.read", lambda self, path: "")
    silent = net.profile(rounds=2, runner="local")
    assert [step.roofline for step in silent.steps] == [None, None]
    assert " -  " in str(silent)


@pytest.mark.skipif(shutil.which(QEMU_AARCH64[0]) is None, reason="needs qemu-aarch64")
def test_code_for_another_cpu(net):
    foreign = ago.optimize(two_layers(), TARGETS["cortex-a76"], partitioner="relay")
    profile = foreign.profile(rounds=2, runner="qemu")
    native = net.profile(rounds=1, runner="local")
    assert [s.work.flop for s in profile.steps] == [s.work.flop for s in native.steps]
    assert profile.target == "cortex-a76"
