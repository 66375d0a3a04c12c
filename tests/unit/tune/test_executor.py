"""Workers of any executor give what one machine alone gives, also when some of them die."""

import os
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from ago.errors import DeviceError, ToolchainError
from ago.target import detect_host
from ago.tune.database import Database
from ago.tune.executor import ExecutorRunner
from ago.tune.progress import Budget, Progress, Watch
from ago.tune.record import Record
from ago.tune.session import Settings, nobody, tune
from ago.tune.task import Task
from ago.tune.trial import Job, Outcome, Runner
from tests.support.broken import small_task
from tests.support.recorded import POISON, Recorded

HOST = detect_host()


def jobs_of(task: Task, count: int) -> list[Job]:
    return [Job(task, {"test/number": number}) for number in range(count)]


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return [small_task(HOST), small_task(HOST, 48)]


def test_outcomes_are_those_of_one_machine_in_order(tmp_path, tasks):
    recorded = Recorded(tmp_path)
    jobs = [job for task in tasks for job in jobs_of(task, 13)]
    jobs += jobs[3:5]
    alone = recorded.run(jobs)
    with ThreadPoolExecutor(3) as pool:
        assert ExecutorRunner(pool, recorded, batch=4).run(jobs) == alone


def test_times_of_a_slower_worker_are_made_comparable(tmp_path, tasks):
    jobs = jobs_of(tasks[0], 12)
    alone = Recorded(tmp_path).run(jobs)

    class Changing:
        """Hands the batches to machines of different speeds in turn."""

        def __init__(self) -> None:
            self.speeds = iter((1.0, 3.0, 0.5, 2.0))

        def submit(self, run, factory, batch) -> Future:
            done = Future()
            done.set_result(Recorded(tmp_path, next(self.speeds)).run(batch))
            return done

    runner = ExecutorRunner(Changing(), Recorded(tmp_path), batch=4)
    outcomes = runner.run(jobs) + runner.run(jobs[:2])
    for outcome, expected in zip(outcomes, alone + alone[:2], strict=True):
        assert outcome.status == expected.status
        assert outcome.seconds == pytest.approx(expected.seconds)


def test_a_broken_pool_is_an_error_and_counts_nothing(tmp_path, tasks):
    with ProcessPoolExecutor(1) as pool, pytest.raises(DeviceError, match="executor"):
        ExecutorRunner(pool, Recorded(tmp_path)).run([Job(tasks[0], {POISON: 1})])


def test_what_no_worker_can_do_is_an_error(tasks):
    def no_compiler() -> None:
        raise ToolchainError("no usable C compiler")

    with ThreadPoolExecutor(1) as pool, pytest.raises(ToolchainError):
        ExecutorRunner(pool, no_compiler).run(jobs_of(tasks[0], 2))


class Dying:
    """An executor whose workers die with a poisoned job, and once with any."""

    def __init__(self, runner: Recorded) -> None:
        self.runner = runner
        self.first = True

    def submit(self, run, factory, batch: list[Job]) -> Future[list[Outcome]]:
        done: Future[list[Outcome]] = Future()
        if self.first or any(POISON in job.decisions for job in batch):
            done.set_exception(OSError("worker 3 is gone"))
        else:
            done.set_result(self.runner.run(batch))
        self.first = False
        return done


def test_a_job_that_takes_its_worker_along_fails_alone(tmp_path, tasks):
    recorded = Recorded(tmp_path)
    jobs = jobs_of(tasks[0], 6)
    poisoned = [*jobs[:4], Job(tasks[0], {POISON: 1}), *jobs[4:]]
    outcomes = ExecutorRunner(Dying(recorded), recorded, batch=7).run(poisoned)
    assert outcomes[4].status == "crash"
    assert "worker 3 is gone" in outcomes[4].reason
    assert [*outcomes[:4], *outcomes[5:]] == recorded.run(jobs)


def test_tuning_by_dask_workers_one_of_which_is_killed(tmp_path, tasks):
    distributed = pytest.importorskip("distributed")
    recorded = Recorded(tmp_path)

    def tuned(runner: Runner, name: str, watch: Watch = nobody) -> list[Record]:
        with Database(tmp_path / name) as database:
            tune(tasks, runner, database, Budget(trials=30), Settings(batch=8), watch)
            return list(database.records())

    def kill_the_next(progress: Progress) -> None:
        if progress.trials == 10:
            (tmp_path / "kill").touch()

    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        runner = ExecutorRunner(client.get_executor(), recorded, batch=4, host=recorded.host)
        found = tuned(runner, "cluster.db", kill_the_next)
    died = (tmp_path / "died").read_text().split()
    assert len(died) == 1
    assert int(died[0]) != os.getpid()
    assert found == tuned(recorded, "alone.db")
    assert len(found) == 30
