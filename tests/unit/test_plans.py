"""Fusion plans as a user sees them: printed, as data, and switched off."""

import numpy as np
import pytest

import ago
from ago.fuse import Plans
from ago.options import Options
from ago.pipeline import compile_graph
from ago.target import TARGETS
from tests.support.fused import AVX2, weights


def block(size=56):
    """A block whose middle is larger than the caches of the target."""
    b = ago.GraphBuilder("block")
    x = b.input("x", (1, 16, size, size))
    y = b.relu6(b.conv(x, weights(96, 16, 1, 1), name="expand"))
    y = b.relu6(b.conv(y, weights(96, 1, 3, 3), pads=1, group=96, name="depthwise"))
    return b.build(b.conv(y, weights(24, 96, 1, 1), name="project"))


@pytest.fixture(scope="module")
def plans():
    return compile_graph(block(), Options(AVX2)).plans


def test_a_plan_names_operators_rings_and_losers(plans):
    assert isinstance(plans, Plans)
    text = str(plans)
    for part in (
        "(project)",
        "(expand, depthwise.pad)",
        "a ring of",
        "recompute 1.0",
        "lost: ",
        "apart: ",
    ):
        assert part in text


def test_a_plan_is_data(plans):
    (fused,) = [step for step in plans.to_dict() if step["nests"]]
    (nest,) = fused["nests"]
    assert len(nest["rings"]) == len(nest["stages"]) - 1
    assert set(nest["recompute_factors"]) == set(nest["rings"])
    assert "apart" in fused["others"]
    assert fused["cycles"] == pytest.approx(
        sum(nest[term] for term in ("traffic", "weights", "tiles", "rows", "recompute")), abs=3
    )


def test_the_switch_keeps_convolutions_apart():
    off = compile_graph(block(), Options(AVX2, intensive_fusion=False))
    assert all(kernel.fusion.taken.choices == () for kernel in off.kernels)
    assert (
        off.artifact.workspace_bytes
        > 2 * compile_graph(block(), Options(AVX2)).artifact.workspace_bytes
    )


def test_every_target_has_plans():
    for name in ("cortex-a76", "portable"):
        compilation = compile_graph(block(28), Options(TARGETS[name]))
        assert len(compilation.plans.subgraphs) == len(compilation.kernels)


def test_plans_and_the_switch_survive_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("AGO_CACHE_DIR", str(tmp_path))
    graph = block(28)
    x = np.random.default_rng(0).integers(-2, 3, (1, 16, 28, 28)).astype(np.float32)
    nets = [ago.optimize(graph, intensive_fusion=on) for on in (True, False, True)]
    results = [net(x) for net in nets]
    np.testing.assert_array_equal(results[0], results[1])
    assert str(nets[2].plans) == str(nets[0].plans)
    assert str(nets[1].plans) != str(nets[0].plans)
    assert nets[1].artifact.sources != nets[0].artifact.sources
    assert nets[2].artifact.sources == nets[0].artifact.sources
