"""What tuning found is applied: by decisions, by the frozen trace, or not at all."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

import ago
from ago.autoschedule import sketch_program
from ago.autoschedule.space import Space
from ago.ir.graph import Graph
from ago.options import Options
from ago.pipeline import compile_graph, find_tasks
from ago.schedule.chooser import GuidedChooser
from ago.target import resolve_target
from ago.tune.known import apply_record, preferred
from ago.tune.record import Record, TaskKey
from ago.tune.task import Task

OPTIONS = Options(resolve_target("x86-64-v3"))


def network() -> Graph:
    b = ago.GraphBuilder("two")
    x = b.input("x", (1, 8, 12, 12))
    y = b.relu(b.conv(x, np.ones((24, 8, 1, 1), np.float32)))
    return b.build(b.conv(y, np.ones((16, 24, 1, 1), np.float32)))


@pytest.fixture(scope="module")
def task() -> Task:
    (found,) = find_tasks(network(), OPTIONS)
    return found


@pytest.fixture(scope="module")
def record(task: Task) -> Record:
    """Of a schedule that is not the default."""
    space, rng = Space(task.program, task.target, intensive=task.intensive), Random(1)
    default = space.default()
    wanted = next(c for c in iter(lambda: space.random(rng), None) if c != default)
    trace = sketch_program(task.program, task.target, GuidedChooser(wanted)).schedule.trace
    return Record(task.key, dict(trace.decisions), trace.to_json(), "ok", 1e-5, host="here")


def test_the_compiler_takes_the_schedule_that_is_known(task: Task, record: Record) -> None:
    compilation = compile_graph(network(), OPTIONS, known={task.key: record}.get)
    (kernel,) = compilation.kernels
    assert dict(kernel.trace.decisions) == record.decisions
    assert kernel.trace != compile_graph(network(), OPTIONS).kernels[0].trace


def test_a_frozen_trace_applies_where_its_decisions_are_no_longer_offered(
    task: Task, record: Record
) -> None:
    old = replace(record, decisions={"gone/tile": (1, 1)})
    applied, expected = apply_record(old, task), apply_record(record, task)
    assert applied is not None
    assert expected is not None
    assert applied.program == expected.program


def test_where_nothing_applies_the_default_is_built(
    task: Task, record: Record, caplog: pytest.LogCaptureFixture
) -> None:
    broken = replace(record, decisions={}, trace="[]")
    compilation = compile_graph(network(), OPTIONS, known={task.key: broken}.get)
    assert compilation.artifact.sources == compile_graph(network(), OPTIONS).artifact.sources
    assert "does not apply" in caplog.text


def test_without_intensive_fusion_it_is_another_task(task: Task) -> None:
    (apart,) = find_tasks(network(), replace(OPTIONS, intensive_fusion=False))
    assert apart.key != task.key
    assert apart.key.workload == task.key.workload


def timed(seconds: float | None, host: str = "a", level: int = 0) -> Record:
    key = TaskKey("0" * 16, "avx2x8")
    status = "crash" if seconds is None else "ok"
    return Record(key, {"s/tile": str(seconds)}, "[]", status, seconds, host=host, level=level)


@pytest.mark.parametrize(
    ("records", "host", "best"),
    [
        ([timed(2.0), timed(1.0), timed(1.5)], None, 1.0),
        ([timed(1.0), timed(0.995)], None, 1.0),  # a tie within 1 %
        ([timed(None), timed(None)], None, None),
        ([timed(2.0), timed(0.1, "b"), timed(1.5)], None, 1.5),  # the host with most records
        ([timed(2.0), timed(0.1, "b"), timed(1.5)], "b", 0.1),
        ([timed(2.0), timed(1.0)], "c", 1.0),
        ([timed(2.0, level=1), timed(1.0), timed(1.5, level=1)], None, 1.5),  # 1.0 by luck
        ([timed(2.0, level=2), timed(1.5, level=1), timed(2.1, level=2)], None, 2.0),
    ],
)
def test_which_record_is_preferred(
    records: list[Record], host: str | None, best: float | None
) -> None:
    found = preferred(records, host)
    assert (found and found.seconds) == best
