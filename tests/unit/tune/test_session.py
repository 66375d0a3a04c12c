"""Sessions on made-up times: what is kept, resumed, checked, and never slower than the default."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ago.ir import define
from ago.target import resolve_target
from ago.tune.database import Database
from ago.tune.known import preferred
from ago.tune.progress import Budget, Progress, Result
from ago.tune.session import Settings, tune
from ago.tune.task import Task
from ago.tune.trial import Job, Outcome
from tests.support.tuning import FakeRunner, made_up_seconds

TARGET = resolve_target("x86-64-v3")


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    sizes = ((28, 24, 40), (17, 64, 48))
    programs = [
        define("C[i,j] += A[i,k] * B[k,j]", {"A": (i, k), "B": (k, j)}) for i, k, j in sizes
    ]
    return [Task.of(program, TARGET, f"product {n}") for n, program in enumerate(programs)]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "tuning.db") as opened:
        yield opened


def test_tuning_finds_a_faster_schedule_and_the_compiler_is_told(
    tasks: list[Task], database: Database
) -> None:
    result = tune(tasks, FakeRunner(), database, Budget(trials=40))
    assert result.trials == 40
    assert result.best < result.default
    assert [preferred(database.records(t.key)) for t in tasks] == [t.chosen for t in result.tasks]


def test_what_won_alone_is_to_be_timed_in_place_once(tasks: list[Task], database: Database) -> None:
    result = tune(tasks, FakeRunner(), database, Budget(trials=40))
    found = result.challenges
    assert {key: record for key, (_, record) in found.items()} == {
        t.task.key: t.chosen for t in result.tasks
    }
    assert {record.level for pair in found.values() for record in pair} == {1}
    again = result.revised(replace(r, level=2) for pair in found.values() for r in pair)
    assert again.challenges == {}
    assert [t.chosen and t.chosen.level for t in again.tasks] == [2, 2]


def test_each_outcome_is_recorded_before_the_next_proposal(
    tasks: list[Task], database: Database
) -> None:
    seen: list[int] = []

    class Watched(FakeRunner):
        def run(self, jobs: Sequence[Job]) -> list[Outcome]:
            seen.append(len(list(database.records())))
            return super().run(jobs)

    tune(tasks, Watched(), database, Budget(trials=26), Settings(batch=8))
    assert seen[:4] == [0, 2, 10, 18]


def interrupt_after(batches: int) -> Callable[[Progress], None]:
    """A person who presses Ctrl-C."""
    left = [batches]

    def watch(progress: Progress) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    return watch


def test_a_stopped_session_goes_on_as_if_it_had_not_been_stopped(
    tasks: list[Task], tmp_path: Path
) -> None:
    results: list[Result] = []
    with Database(tmp_path / "whole.db") as whole:
        results.append(tune(tasks, FakeRunner(), whole, Budget(trials=40)))
    with Database(tmp_path / "parts.db") as parts:
        first = tune(tasks, FakeRunner(), parts, Budget(trials=40), watch=interrupt_after(3))
        assert first.interrupted
        assert first.trials == 18
        results.append(tune(tasks, FakeRunner(), parts, Budget(trials=40)))
    whole_tasks, resumed_tasks = (result.tasks for result in results)
    assert whole_tasks == resumed_tasks


def test_a_finished_session_measures_nothing_more(tasks: list[Task], database: Database) -> None:
    budget = Budget(trials=30)
    first = tune(tasks, FakeRunner(), database, budget)
    runner = FakeRunner()
    again = tune(tasks, runner, database, budget)
    assert again.tasks == first.tasks
    assert runner.asked == []


def test_proposals_depend_on_the_seed(tasks: list[Task], tmp_path: Path) -> None:
    asked = []
    for number, seed in enumerate((0, 0, 1)):
        runner = FakeRunner()
        with Database(tmp_path / f"{number}.db") as database:
            tune(tasks, runner, database, Budget(trials=20), Settings(seed=seed))
        asked.append(runner.asked)
    assert asked[0] == asked[1]
    assert asked[0] != asked[2]


def test_a_candidate_that_was_lucky_once_does_not_win(
    tasks: list[Task], database: Database
) -> None:
    """Every candidate looks twice as fast the first time it is timed; the default never does."""
    timed: set[str] = set()
    defaults: dict[str, str] = {}

    def flattered(job: Job) -> float:
        text, key = str(sorted(job.decisions.items())), str(job.task.key)
        if defaults.setdefault(key, text) == text:
            return 1e-3
        first = (key + text) not in timed
        timed.add(key + text)
        return 0.5e-3 if first else 1.1e-3

    result = tune(tasks[:1], FakeRunner(flattered), database, Budget(trials=4))
    (task,) = result.tasks
    assert task.chosen is not None
    assert task.chosen.decisions == task.records[0].decisions


def test_a_drifting_clock_does_not_change_what_wins(tasks: list[Task], tmp_path: Path) -> None:
    """The machine gets slower with each batch; the default beside each tells by how much."""

    class Drifting(FakeRunner):
        batches = 0

        def run(self, jobs: Sequence[Job]) -> list[Outcome]:
            self.batches += 1
            pace = 1.0 + 0.3 * self.batches
            self._seconds = lambda job: pace * made_up_seconds(job)
            return super().run(jobs)

    chosen = []
    for runner in (FakeRunner(), Drifting()):
        with Database(tmp_path / f"{type(runner).__name__}.db") as database:
            result = tune(tasks, runner, database, Budget(trials=40))
            chosen.append([t.chosen and t.chosen.decisions for t in result.tasks])
    assert chosen[0] == chosen[1]


def test_failures_cost_a_trial_each_and_are_counted(tasks: list[Task], database: Database) -> None:
    calls = [0]

    def fragile(job: Job) -> float | None:
        calls[0] += 1
        return None if calls[0] > len(tasks) and calls[0] % 3 == 0 else made_up_seconds(job)

    result = tune(tasks, FakeRunner(fragile), database, Budget(trials=30))
    assert result.trials == 30
    assert result.statuses["crash"] == result.refusals["crash"] > 3


def test_a_task_whose_default_cannot_run_is_left_alone(
    tasks: list[Task], database: Database
) -> None:
    broken = tasks[0].key
    runner = FakeRunner(lambda job: None if job.task.key == broken else made_up_seconds(job))
    result = tune(tasks, runner, database, Budget(trials=12))
    assert [len(t.records) for t in result.tasks] == [1, 11]
    assert result.tasks[0].chosen is None


def test_time_runs_out(tasks: list[Task], database: Database) -> None:
    ticks = iter(range(1000))
    budget = Budget(seconds=10.0)
    result = tune(tasks, FakeRunner(), database, budget, clock=lambda: float(next(ticks)))
    assert 2 <= result.trials < 60
    assert not result.interrupted


def test_what_another_machine_measured_is_not_compared(
    tasks: list[Task], database: Database
) -> None:
    class Elsewhere(FakeRunner):
        host = "elsewhere"

    tune(tasks, Elsewhere(lambda job: 1e-9), database, Budget(trials=10))
    result = tune(tasks, FakeRunner(), database, Budget(trials=10))
    assert result.trials == 10
    assert all(r.host == "nowhere" for t in result.tasks for r in t.records)
