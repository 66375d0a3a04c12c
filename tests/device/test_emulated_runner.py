"""Emulated trials: counts are the same each time, and each failure costs its own trial."""

import numpy as np
import pytest

from ago.errors import DeviceError
from ago.target import TARGETS
from ago.tune import emulated
from ago.tune.emulated import EmulatedRunner, relative_error
from ago.tune.runners import open_runner
from ago.tune.trial import Job
from tests.support.broken import job, make_broken, small_task

A76 = TARGETS["cortex-a76"]


@pytest.fixture(autouse=True)
def with_unicorn():
    pytest.importorskip("unicorn")


def test_counts_are_the_same_each_time():
    task = small_task(A76)
    counts = []
    for _ in range(2):
        with open_runner(("emulated",), A76) as runner:
            (outcome,) = runner.run([Job(task, {})])
        assert outcome.status == "ok", outcome.reason
        counts.append(round(1e9 * outcome.seconds))
    assert counts[0] == counts[1]
    assert counts[0] > 12 * 32 * 24 / 4  # no fewer than its multiply-adds, four at once


def test_each_failure_costs_its_own_trial(monkeypatch):
    monkeypatch.setattr(emulated, "make_candidate", make_broken)
    task = small_task(A76)
    kinds = ["", "crash", "wrong", "build", "hang", "nan"]
    runner = EmulatedRunner(A76, seconds=1.0)
    outcomes = runner.run([job(task, how, number) for number, how in enumerate(kinds)])
    statuses = ["ok", "crash", "wrong", "build", "timeout", "wrong"]
    assert [outcome.status for outcome in outcomes] == statuses


def test_other_cpus_are_refused():
    with pytest.raises(DeviceError, match="AArch64 CPUs, not x86-64-v3"):
        EmulatedRunner(TARGETS["x86-64-v3"])


def test_errors_are_relative_to_the_largest_value():
    wanted = np.array([1.0, -4.0, np.inf], np.float32)
    assert relative_error(wanted.copy(), wanted) == 0.0
    assert relative_error(np.array([1.0, -3.0, np.inf], np.float32), wanted) == 0.25
    assert relative_error(np.array([1.0, np.nan, np.inf], np.float32), wanted) == np.inf
    assert relative_error(np.array([1.0, -4.0, 0.0], np.float32), wanted) == np.inf
    unwritten = np.array([2.0, 0.0], np.float32)
    unwritten.view(np.uint32)[1] = 0xFFFFFFFF
    assert relative_error(np.array([2.0, 9.0], np.float32), unwritten) == 0.0
    assert relative_error(np.array([3]), np.array([4])) == np.inf
