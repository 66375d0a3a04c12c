"""Candidates estimated for a CPU that is not there."""

import pytest

from ago.autoschedule.space import Space
from ago.errors import DeviceError, ToolchainError
from ago.ir import define
from ago.target import TARGETS
from ago.tune import estimated
from ago.tune.estimated import HERTZ, EstimatedRunner
from ago.tune.task import Task
from ago.tune.trial import Job
from tests.support.broken import job, make_broken

pytest.importorskip("unicorn")

A76 = TARGETS["cortex-a76"]
ROWS, STEPS, COLUMNS = 28, 32, 48


@pytest.fixture(scope="module")
def runner() -> EstimatedRunner:
    try:
        return EstimatedRunner(A76)
    except ToolchainError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def task() -> Task:
    shapes = {"A": (ROWS, STEPS), "B": (STEPS, COLUMNS)}
    return Task.of(define("C[i,j] += A[i,k] * B[k,j]", shapes), A76, "matmul")


def test_better_tiles_are_estimated_to_be_faster(runner, task) -> None:
    default = Space(task.program, A76).default()
    (key,) = (key for key in default if key.endswith("/tile"))
    jobs = [Job(task, {**default, key: value}) for value in (default[key], (1, 1), default[key])]
    good, bad, again = runner.run(jobs)
    assert good == again
    assert good.status == bad.status == "ok"
    assert good.decisions == default
    assert bad.decisions[key] == (1, 1)
    assert bad.seconds > 2 * good.seconds
    floor = ROWS * STEPS * COLUMNS / (4 * A76.fma_pipes)
    assert floor < good.seconds * HERTZ < 2.5 * floor
    assert "estimated" in runner.host
    assert A76.name in runner.host


def test_instructions_are_counted(runner, task) -> None:
    cost = runner.cost(Job(task, {}))
    products = ROWS * STEPS * COLUMNS // 4
    assert products < cost.instructions < 2 * products
    assert cost.cycles > products / 2


def test_an_emulation_that_does_not_end_is_an_outcome(runner, task, monkeypatch) -> None:
    monkeypatch.setattr(runner, "_seconds", 0.0)
    big = define("C[i,j] += A[i,k] * B[k,j]", {"A": (256, 256), "B": (256, 256)})
    (outcome,) = runner.run([Job(Task.of(big, A76, "large"), {})])
    assert (outcome.status, outcome.seconds) == ("crash", None)
    assert "did not end" in outcome.reason


def test_what_does_not_compile_costs_its_own_trial(runner, task, monkeypatch) -> None:
    monkeypatch.setattr(estimated, "make_candidate", make_broken)
    good, bad, other = runner.run([job(task), job(task, "build", 1), job(task, number=2)])
    assert [good.status, bad.status, other.status] == ["ok", "build", "ok"]
    assert "error" in bad.reason


def test_this_machine_is_measured_not_estimated() -> None:
    with pytest.raises(DeviceError, match="measure"):
        EstimatedRunner(TARGETS["x86-64-v3"])
