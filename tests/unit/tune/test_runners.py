"""Runners by name, and tuning with one that is not this machine."""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import ago
from ago.errors import DeviceError, InputError
from ago.frontend import GraphBuilder
from ago.ir.graph import Graph
from ago.options import Options
from ago.pipeline import compile_graph
from ago.runtime.ssh import SshTransport
from ago.target import TARGETS, detect_host
from ago.tune.database import Database
from ago.tune.device_runner import DeviceRunner
from ago.tune.hosts import HostsRunner
from ago.tune.local import LocalRunner
from ago.tune.runners import open_runner
from ago.tune.trial import Job
from ago.tune.trial_run import Limits
from ago.tuning import Tuning, known_schedules, tune_graph
from tests.support.broken import small_task

HOST = detect_host()
A76 = TARGETS["cortex-a76"]


def layer() -> Graph:
    b = GraphBuilder("layer")
    return b.build(b.relu(b.matmul(b.input("x", (6, 8)), b.constant([[0.5] * 16] * 8))))


def test_names_and_runners():
    with open_runner((), HOST) as here:
        assert isinstance(here, LocalRunner)
    with open_runner(("ssh:pi",), A76) as one:
        assert isinstance(one, DeviceRunner)
        assert one.host == "pi"
    with open_runner(("ssh:pi1", "ssh:pi2"), A76) as several:
        assert isinstance(several, HostsRunner)
        assert several.host == "pi1"
    with (
        pytest.raises(InputError, match="names no runner: expected one of estimated, emulated"),
        open_runner(("pi",), A76),
    ):
        pass


def test_tuning_on_a_device(tmp_path):
    file = tmp_path / "tuning.db"
    net = ago.optimize(layer(), trials=3, database=file, runner="local", reformer=False)
    with Database(file) as database:
        records = list(database.records())
    assert [record.status for record in records] == ["ok"] * 3
    assert net.artifact.target == HOST


def test_threads_share_what_was_tuned_on_one(tmp_path):
    """The first trial is the default schedule; here another one is made to win."""
    b = GraphBuilder("wide")
    graph = b.build(b.relu(b.matmul(b.input("x", (64, 32)), b.constant([[0.5] * 48] * 32))))
    file = tmp_path / "tuning.db"
    options = {"database": file, "runner": "local", "reformer": False, "threads": 3}
    net = ago.optimize(graph, trials=2, **options)
    x = np.random.default_rng(0).standard_normal((64, 32), np.float32)
    np.testing.assert_array_equal(net(x), ago.optimize(graph)(x))
    with Database(file) as database:
        first, other = database.records()
        database.revise([replace(first, seconds=2.0), replace(other, seconds=1.0)])
    shared_by = Options(HOST, threads=3)
    known = known_schedules(file, shared_by)
    (shared,) = compile_graph(graph, shared_by, known=known.get).kernels
    assert shared.function.parts
    decided = dict(shared.trace.decisions)
    assert {key: decided.get(key) for key in other.decisions} == dict(other.decisions)


def test_an_executor_and_a_device_are_too_many(tmp_path):
    with ThreadPoolExecutor(1) as pool, pytest.raises(InputError, match="not both"):
        ago.optimize(layer(), trials=3, executor=pool, runner="local")


def test_who_estimates_does_not_share():
    with pytest.raises(InputError, match="give it alone"), open_runner(("estimated", "adb"), A76):
        pass


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("trials", value) for value in (float("nan"), 2.5, True, "3", -1)),
        *(("minutes", value) for value in (float("nan"), float("inf"), "a", True, -1)),
        ("database", 3),
        ("executor", 3),
        ("runner", 3),
        ("runner", ("ssh:pi", 3)),
    ],
)
def test_what_is_no_option_of_a_search_is_named(name, value):
    with pytest.raises(InputError, match=f"^{name}="):
        ago.optimize(layer(), **{"trials": 3, name: value})


def test_a_profile_needs_a_device():
    net = ago.optimize(layer())
    with pytest.raises(InputError, match=r"^runner=3: expected a device"):
        net.profile(runner=3)


def test_a_host_that_never_answered_is_not_waited_for():
    """Its patience would outlast any test."""
    transport = SshTransport("no-such-host.invalid")
    runner = DeviceRunner(transport, Limits(patience_seconds=1e9))
    with (
        contextlib.closing(runner),
        pytest.raises(DeviceError, match=r"^no-such-host\.invalid could not be reached: ."),
    ):
        runner.run([Job(small_task(HOST), {})])


def test_a_model_without_schedules_has_nothing_to_tune(tmp_path):
    b = GraphBuilder("views")
    graph = b.build(b.reshape(b.input("x", (2, 3)), (3, 2)))
    tuning = Tuning.of(3, None, database=tmp_path / "t.db")
    result, contest = tune_graph(graph, Options(HOST), tuning)
    assert contest is None
    assert str(result).startswith("nothing to tune")
