"""Tuning a network: from a graph to a database that knows fast schedules of its workloads.

Read `tune_graph` first; `ago.optimize` and `ago tune` call it. What compiles the graph afterwards
needs the database alone: `known_schedules`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

from ago.contest import Contest, contest
from ago.cost_model.learned import best_model
from ago.errors import InputError
from ago.ir.graph import Graph
from ago.options import Options, require_amount, require_count, require_path
from ago.partition import Partitioner
from ago.pipeline import find_tasks
from ago.progress import Progress, silent
from ago.target import Target, runs_on_host
from ago.tune.database import Database
from ago.tune.executor import ExecutorRunner
from ago.tune.known import preferred
from ago.tune.progress import Budget, Result, Watch
from ago.tune.record import Record, TaskKey
from ago.tune.runners import ESTIMATED, RUNNERS, open_runner
from ago.tune.session import Settings, nobody, tune
from ago.tune.trial import Runner
from ago.tune.trial_run import Tell, tell_nobody

_MOST_CONTESTS = 2
"""Where a schedule does not win in place, the next best of its task is timed there, so often."""

Schedules = dict[TaskKey, Record]
"""The schedules that workloads get, by task."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """How to tune a network.

    Attributes:
        budget: When to stop.
        settings: How to search.
        database: File of the records.
        executor: Runs the trials; by default this machine does, alone.
        runners: Devices that run them, by the names of `open_runner`.
    """

    budget: Budget
    settings: Settings
    database: Path
    executor: Executor | None = None
    runners: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        trials: int,
        minutes: float | None,
        *,
        seed: int = 0,
        database: str | os.PathLike[str] | None = None,
        reformer: bool = True,
        executor: Executor | None = None,
        runners: str | Sequence[str] = (),
    ) -> Tuning:
        """What the arguments of `ago.optimize` mean.

        Raises:
            InputError: An argument is of the wrong kind, the budget has no end, or both an executor
                and devices are given.
        """
        require_count("trials", trials)
        if minutes is not None:
            require_amount("minutes", minutes)
        if database is not None:
            require_path("database", database)
        if executor is not None and not callable(getattr(executor, "submit", None)):
            raise InputError(f"executor={executor!r}: expected a concurrent.futures.Executor")
        names = _runner_names(runners)
        if executor is not None and names:
            raise InputError("give an executor or a runner, not both: each says who measures")
        if not trials and minutes is None:
            raise InputError("tuning has no end: give trials or minutes")
        budget = Budget(trials or None, None if minutes is None else 60.0 * minutes)
        settings = Settings(seed, reformer=reformer, model=best_model(seed))
        path = user_database() if database is None else Path(database)
        return cls(budget, settings, path, executor, names)

    @property
    def is_elsewhere(self) -> bool:
        """Whether others than this machine measure."""
        return self.executor is not None or bool(self.runners)


def _runner_names(given: str | Sequence[str]) -> tuple[str, ...]:
    """Names of runners, of which one may be given as it is."""
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        raise InputError(f"runner={given!r}: expected a name or several: {RUNNERS}")
    return tuple(given)


def user_database() -> Path:
    """Where records are kept unless the caller says: `AGO_DATABASE`, or among the user's data."""
    configured = os.environ.get("AGO_DATABASE")
    return Path(configured) if configured else Path(platformdirs.user_data_dir("ago"), "tuning.db")


def tune_graph(
    graph: Graph,
    options: Options,
    tuning: Tuning,
    partitioner: Partitioner | None = None,
    watch: Watch = nobody,
    progress: Progress = silent,
    tell: Tell = tell_nobody,
) -> tuple[Result, Contest | None]:
    """Search for fast schedules of a graph's workloads.

    Args:
        graph: Of canonical operators.
        options: Target and more. Candidates run on one thread; what several threads share is cut
            when the network is compiled, and keeps the tiles and plans that were found.
        tuning: How to tune.
        partitioner: Cuts the graph into subgraphs, as it will be compiled.
        watch: Told after each batch.
        progress: Told how far the network is compiled, to be timed as a whole.
        tell: Told when a device is waited for, and why.

    Returns:
        What was found; all of it is in the database. Where this machine measured, schedules that
        won alone have won in the network, too.

    Raises:
        InputError: Nobody is named who could run the candidates.
        UnsupportedError: The graph holds operators that cannot be compiled; all are listed.
        DeviceError: Nothing can be measured.
    """
    options = replace(options, threads=1)
    _require_measurable(options.target, tuning)
    tasks = find_tasks(graph, options, partitioner)
    opened = _open_runner(tuning, options.target, tell)
    with Database(tuning.database) as database, opened as runner:
        result = tune(tasks, runner, database, tuning.budget, tuning.settings, watch)
        found = None
        try:
            for _ in range(0 if result.interrupted or tuning.is_elsewhere else _MOST_CONTESTS):
                chosen = result.challenges
                if not chosen:
                    break
                found = contest(graph, options, chosen, partitioner, progress)
                database.revise(found.records)
                result = result.revised(found.records)
        except KeyboardInterrupt:
            result = replace(result, interrupted=True)
    return result, found


def known_schedules(path: str | os.PathLike[str], options: Options) -> Schedules:
    """The schedules in a database.

    Args:
        path: Its file.
        options: How the schedules are used.

    Returns:
        The preferred record of each task, on this machine's times where it has any.

    Raises:
        InputError: There is no such database.
    """
    require_path("database", path)
    if not Path(path).is_file():
        raise InputError(f"there is no tuning database {os.fspath(path)!r}: `ago tune` makes one")
    with Database(path) as database, open_runner((), options.target) as here:
        keys = [task.key for task in database.tasks()]
        found = {key: preferred(database.records(key), here.host) for key in keys}
    return {key: record for key, record in found.items() if record is not None}


@contextlib.contextmanager
def _open_runner(tuning: Tuning, target: Target, tell: Tell) -> Iterator[Runner]:
    """Who measures."""
    if tuning.executor is not None:
        yield ExecutorRunner(tuning.executor)
        return
    with open_runner(tuning.runners, target, tell) as runner:
        yield runner


def _require_measurable(target: Target, tuning: Tuning) -> None:
    """Refuse a search whose candidates nobody can run."""
    if not tuning.is_elsewhere and not runs_on_host(target):
        raise InputError(
            f"this machine cannot run code for {target.name}, nor time it: give a runner, such as "
            f'"ssh:HOST" or "{ESTIMATED}", an executor whose workers can, or a database that was '
            "filled on such a machine"
        )
