"""Artifacts on disk, found again and made again."""

import numpy as np
import pytest

import ago
from ago.runtime.cache import Cache

INPUT = np.array([[-1.0, 0.0, 2.0, np.inf]], np.float32)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AGO_CACHE_DIR", str(tmp_path / "cache"))


def clamp():
    b = ago.GraphBuilder("clamp")
    return ago.optimize(b.build(b.relu(b.input("x", (1, 4)))))


def scale(factor):
    """What a model of one weight makes of 1."""
    b = ago.GraphBuilder("scale")
    y = b.mul(b.input("x", (1, 4)), np.full((1, 4), factor, np.float32))
    return ago.optimize(b.build(y))(np.ones((1, 4), np.float32))[0, 0]


def entries(pattern):
    return sorted((Cache().root / "entries").rglob(pattern))


def test_the_second_time_nothing_is_compiled(monkeypatch):
    clamp()

    def fail(*args, **kwargs):
        raise AssertionError("compiled again")

    monkeypatch.setattr(ago.api, "compile_graph", fail)
    np.testing.assert_array_equal(clamp()(INPUT), np.maximum(INPUT, 0))


@pytest.mark.parametrize("damage", ["{", ""])
@pytest.mark.parametrize("pattern", ["artifact.json", "weights.bin", "*.so", "*.dylib"])
def test_a_damaged_entry_is_made_again(pattern, damage):
    scale(3.0)
    for path in entries(pattern):
        path.unlink()  # not in place: the library is mapped
        path.write_text(damage)
    assert scale(3.0) == 3.0


def test_a_graph_of_other_weights_is_another_model():
    assert [scale(1.0), scale(2.0)] == [1.0, 2.0]
