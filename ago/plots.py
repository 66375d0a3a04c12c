"""Plots of tuning, with matplotlib: `pip install 'ago-compiler[plots]'`.

Read `tuning_curves` first. `ago tune --report` makes a page without matplotlib.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ago.errors import InputError
from ago.tune.database import Database
from ago.tune.record import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def tuning_curves(database: str | os.PathLike[str], workload: str = "") -> Figure:
    """Plot how fast each task's best schedule became, relative to its first, the default.

    Args:
        database: File of tuning records.
        workload: Beginning of the keys of the tasks to show; by default all.

    Returns:
        The figure; save it with `savefig`.

    Raises:
        InputError: There is no such file, or no such task.
        ImportError: matplotlib is not installed.
    """
    figure, axes = _figure()
    for key, records in _tasks(database, workload):
        times = [record.seconds for record in records]
        first = next(t for t in times if t is not None)
        best: list[float] = []
        for time in times:
            best.append(min(best[-1] if best else first, time or first))
        places = range(1, len(best) + 1)
        axes.step(places, [b / first for b in best], where="post", label=key[:8])
    axes.set(xlabel="trial", ylabel="best time over the first's")
    axes.legend(fontsize="small")
    return figure


def trial_times(database: str | os.PathLike[str], workload: str) -> Figure:
    """Plot every trial of a task, and the best so far.

    Args:
        database: File of tuning records.
        workload: The task's key, or its beginning.

    Returns:
        The figure.

    Raises:
        InputError: There is no such file, or no such task.
        ImportError: matplotlib is not installed.
    """
    figure, axes = _figure()
    for key, records in _tasks(database, workload):
        timed = [(n, 1e6 * r.seconds) for n, r in enumerate(records, 1) if r.seconds is not None]
        axes.plot([n for n, _ in timed], [t for _, t in timed], ".", label=key[:8])
        best = [min(t for _, t in timed[: n + 1]) for n in range(len(timed))]
        axes.step([n for n, _ in timed], best, where="post")
    axes.set(xlabel="trial", ylabel="µs", yscale="log")
    axes.legend(fontsize="small")
    return figure


def _figure() -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure  # deferred: heavy, and an extra

    figure = Figure(figsize=(7, 4), layout="constrained")
    return figure, figure.add_subplot()


def _tasks(path: str | os.PathLike[str], workload: str) -> Iterator[tuple[str, Sequence[Record]]]:
    """The tasks with at least one time, by their keys."""
    if not Path(path).is_file():
        raise InputError(f"there is no tuning database {os.fspath(path)!r}")
    with Database(path) as database:
        keys = [task.key for task in database.tasks() if task.seconds is not None]
        found = [key for key in keys if key.workload.startswith(workload)]
        if not found:
            known = ", ".join(key.workload for key in keys) or "none"
            raise InputError(f"no measured task begins with {workload!r}; there are: {known}")
        for key in found:
            yield key.workload, list(database.records(key))
