"""Artifacts on disk, found again and made again."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

import ago
from ago.autoschedule.space import Space
from ago.options import Options
from ago.pipeline import find_tasks
from ago.runtime.cache import Cache
from ago.target import resolve_target
from ago.tune.database import Database
from ago.tune.local import LocalRunner
from ago.tune.record import Record

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


def product(columns):
    b = ago.GraphBuilder("product")
    weight = b.constant(np.ones((8, columns), np.float32))
    return b.build(b.matmul(b.input("x", (6, 8)), weight))


@pytest.fixture
def tuned(tmp_path):
    """A database that knows another schedule of a product than the default."""
    options = Options(resolve_target("host"))
    file = tmp_path / "tuning.db"

    def learn(graph):
        (task,) = find_tasks(graph, options)
        space = Space(task.program, task.target)
        default = space.default()
        other = space.mutate(default, Random(1))
        host = LocalRunner().host
        with Database(file) as database:
            for decisions, seconds in ((default, 2e-6), (other, 1e-6)):
                trace = space.build(decisions).trace
                record = Record(task.key, dict(trace.decisions), trace.to_json(), "ok", seconds)
                database.add([replace(record, host=host)])

    learn(product(32))
    return file, learn


def test_records_of_other_models_leave_an_artifact_as_it_is(tuned, monkeypatch):
    file, learn = tuned
    compiled = []
    real = ago.api.compile_graph

    def count(graph, *args):
        compiled.append(graph.name)
        return real(graph, *args)

    monkeypatch.setattr(ago.api, "compile_graph", count)
    first = ago.optimize(product(32), database=file).artifact
    assert len(compiled) == 1
    learn(product(48))
    assert ago.optimize(product(32), database=file).artifact.traces == first.traces
    assert len(compiled) == 1
    assert ago.optimize(product(32)).artifact.traces != first.traces
    assert len(compiled) == 2


def test_a_damaged_list_of_workloads_is_made_again(tuned):
    file, _ = tuned
    first = ago.optimize(product(32), database=file).artifact
    (names,) = entries("names.json")
    names.write_text("{", encoding="utf-8")
    assert ago.optimize(product(32), database=file).artifact == first
