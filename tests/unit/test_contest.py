"""Schedules that won alone are timed in place; those that lose there are withdrawn."""

from collections.abc import Sequence

import numpy as np
import pytest

import ago.contest
from ago.autoschedule.space import Space
from ago.contest import contest
from ago.frontend import GraphBuilder
from ago.ir.graph import Graph
from ago.options import Options
from ago.partition import one_by_one
from ago.pipeline import find_tasks
from ago.runtime.compare import fastest_steps
from ago.runtime.net import Net
from ago.target import resolve_target
from ago.tune.record import Record, TaskKey
from ago.tune.task import Task

OPTIONS = Options(resolve_target("host"))


def network() -> Graph:
    """Two products of the same sizes and one of others."""
    b = GraphBuilder("products")
    x = b.input("x", (4, 16))
    for columns in (16, 16, 24):
        x = b.matmul(x, np.ones((x.shape[1], columns), np.float32))
    return b.build(x)


def record(task: Task, decisions: dict[str, object], seconds: float) -> Record:
    trace = Space(task.program, task.target).build(decisions).trace
    return Record(task.key, dict(trace.decisions), trace.to_json(), "ok", seconds, host="here")


@pytest.fixture(scope="module")
def chosen() -> dict[TaskKey, tuple[Record, Record]]:
    """For each task the default, and a schedule with the smallest register tile."""
    found = {}
    for task in find_tasks(network(), OPTIONS, one_by_one):
        default = Space(task.program, task.target).default()
        small = {key: (1, 1) if key.endswith("/tile") else v for key, v in default.items()}
        found[task.key] = (record(task, default, 3e-6), record(task, small, 2e-6))
    return found


def test_a_schedule_that_loses_in_place_gets_the_time_it_deserves(
    chosen: dict[TaskKey, tuple[Record, Record]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def times(nets: Sequence[Net], rounds: int) -> list[list[float]]:
        return [[2.0, 2.0, 5.0], [1.0, 1.5, 6.0]]

    monkeypatch.setattr(ago.contest, "fastest_steps", times)
    found = contest(network(), OPTIONS, chosen, one_by_one)
    assert (found.default, found.tuned) == (9.0, 7.5)
    assert found.withdrawn == 1
    defaults, others = found.records[::2], found.records[1::2]
    assert [r.decisions for r in defaults] == [base.decisions for base, _ in chosen.values()]
    assert [r.seconds for r in others] == pytest.approx([3e-6 * 2.5 / 4, 3e-6 * 6 / 5])
    assert {r.level for r in found.records} == {2}


def test_a_tie_goes_to_the_default(
    chosen: dict[TaskKey, tuple[Record, Record]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ago.contest, "fastest_steps", lambda nets, rounds: [[2.0] * 3, [1.99] * 3])
    found = contest(network(), OPTIONS, chosen, one_by_one)
    assert found.tuned == found.default
    assert found.withdrawn == 2


def test_networks_are_timed_step_by_step(chosen: dict[TaskKey, tuple[Record, Record]]) -> None:
    found = contest(network(), OPTIONS, chosen, one_by_one)
    assert 0.0 < found.tuned <= found.default


def test_each_step_of_each_network_has_a_time() -> None:
    nets = [ago.optimize(network(), partitioner=one_by_one) for _ in range(2)]
    times = fastest_steps(nets, 2)
    assert [len(steps) for steps in times] == [3, 3]
    assert all(seconds > 0.0 for steps in times for seconds in steps)
