"""Each way in which a candidate fails is a status that costs it alone; the rest are measured."""

from dataclasses import replace

import numpy as np
import pytest

from ago.ir.examples import chain, matmul
from ago.ir.interpreter import interpret
from ago.runtime.toolchain import Toolchain
from ago.runtime.transport import LocalTransport
from ago.target import detect_host
from ago.tune import device_runner
from ago.tune.device_runner import DeviceRunner
from ago.tune.local import LocalRunner
from ago.tune.reference import reference_of
from ago.tune.task import Task
from ago.tune.trial import Job
from ago.tune.trial_run import Limits
from tests.support.broken import job, make_broken, small_task

HOST = detect_host()
QUICK = Limits(seconds=0.5, rounds=6, batch_seconds=0.5, memory_bytes=32 << 20)


@pytest.fixture
def runner(monkeypatch):
    monkeypatch.setattr(device_runner, "make_candidate", make_broken)
    made = LocalRunner(QUICK)
    yield made
    made.close()


def test_each_failure_costs_its_own_trial(runner):
    task = small_task(HOST)
    how = ["", "crash", "hang", "wrong", "build", "", "trap", "nan", "late", "hog"]
    outcomes = runner.run([job(task, kind, number) for number, kind in enumerate(how)])
    statuses = ["ok", "crash", "timeout", "wrong", "build", "ok", "crash", "wrong", "crash"]
    statuses += ["memory"]
    assert [outcome.status for outcome in outcomes] == statuses
    assert all((o.reason == "") == (o.status == "ok") for o in outcomes)
    assert "SIGSEGV" in outcomes[1].reason
    assert "this is no C" in outcomes[4].reason
    assert "33,554,432 B are allowed" in outcomes[9].reason
    assert [o.decisions["test/number"] for o in outcomes] == list(range(len(how)))


def test_systems_with_a_libc_isolate_alike(runner, monkeypatch):
    monkeypatch.setattr(Toolchain, "needs_no_libc", lambda self, target: False)
    task = small_task(HOST)
    kinds = ["", "crash", "hang", "wrong", "hog"]
    outcomes = runner.run([job(task, kind, number) for number, kind in enumerate(kinds)])
    statuses = [outcome.status for outcome in outcomes]
    assert statuses == ["ok", "crash", "timeout", "wrong", "memory"]


def test_what_the_naive_nest_leaves_unwritten_is_not_compared(runner):
    program = small_task(HOST).program
    wide = program.with_buffer(replace(program.buffer("C"), shape=(12, 40)))
    task = Task.of(wide, HOST, "32 columns of 40")
    outcomes = runner.run([job(task), job(task, "beside", 1), job(task, "wrong", 2)])
    assert [outcome.status for outcome in outcomes] == ["ok", "ok", "wrong"]


def test_memory_beyond_the_limit_is_not_even_tried(monkeypatch):
    runner = LocalRunner(Limits(memory_bytes=1000))
    (outcome,) = runner.run([Job(small_task(HOST), {})])
    runner.close()
    assert outcome.status == "memory"
    assert "1,000 B allowed" in outcome.reason


def test_equal_jobs_are_measured_once(runner):
    task = small_task(HOST)
    first, second, third = runner.run([job(task), job(task, number=1), job(task)])
    assert first == third
    assert first.decisions != second.decisions


def test_a_real_job_has_decisions_trace_and_time():
    runner = LocalRunner(QUICK)
    task = small_task(HOST)
    (outcome,) = runner.run([Job(task, {})])
    runner.close()
    assert outcome.status == "ok"
    assert outcome.seconds is not None
    assert outcome.seconds > 0
    assert outcome.decisions
    assert task.key.workload in outcome.trace
    assert runner.host == LocalTransport().name


def test_the_incumbent_is_timed_again_with_every_batch(runner, monkeypatch):
    sent: list[int] = []
    real = device_runner.run_trials

    def counted(program, *rest):
        sent.append(len(program.numbers))
        return real(program, *rest)

    monkeypatch.setattr(device_runner, "run_trials", counted)
    task = small_task(HOST)
    runner.run([job(task)])
    runner.run([job(task, number=1), job(task, number=2)])
    assert sent == [1, 3]
    assert runner.drift > 0


def test_a_drifting_clock_is_divided_out(runner, monkeypatch):
    slow = 1.0

    def faked(program, *rest):
        return [device_runner.Ending("ok", times=(slow * 2e-3,) * 5) for _ in program.numbers]

    monkeypatch.setattr(device_runner, "run_trials", faked)
    task = small_task(HOST)
    (first,) = runner.run([job(task)])
    slow = 1.5
    (second,) = runner.run([job(task, number=1)])
    assert runner.drift == pytest.approx(1.5)
    assert second.seconds == first.seconds == 2e-3


def test_a_difference_within_the_noise_is_a_tie(runner, monkeypatch):
    rows = iter([(1e-3, 1.1e-3), (0.998e-3, 1.004e-3, 1e-3), (0.9e-3, 1.2e-3, 1e-3)])

    def faked(program, *rest):
        return [device_runner.Ending("ok", times=(t,) * 4) for t in next(rows)]

    monkeypatch.setattr(device_runner, "run_trials", faked)
    task = small_task(HOST)
    found = [
        [o.seconds for o in runner.run([job(task, number=2 * k), job(task, number=2 * k + 1)])]
        for k in range(3)
    ]
    assert found == [[1e-3, 1.1e-3], [1e-3, 1e-3], [0.9e-3, 1.2e-3]]


def test_tasks_are_not_mixed(runner):
    tasks = [small_task(HOST), small_task(HOST, 48)]
    jobs = [job(tasks[number % 2], number=number) for number in range(4)]
    outcomes = runner.run(jobs)
    assert [o.status for o in outcomes] == ["ok"] * 4
    assert [o.decisions["test/number"] for o in outcomes] == [0, 1, 2, 3]


def test_nothing_to_run():
    assert DeviceRunner(LocalTransport()).run([]) == []


@pytest.mark.parametrize("program", [matmul(4, 6, 5, relu=True), chain(5, 7)])
def test_the_reference_is_what_the_program_means(program):
    found = reference_of(program)
    wanted = interpret(program, found.operands)
    assert wanted.keys() == found.expected.keys()
    for name, array in wanted.items():
        assert np.allclose(found.expected[name], array, rtol=1e-5, atol=1e-6)
        assert found.expected[name].any()
