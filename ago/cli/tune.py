"""`ago tune`: search for faster schedules of a model, as long as one likes.

Read `tune_command` first. What it finds is in a database; `--database` gives it to other commands.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bars

from ago.cli.arguments import Request, model_options
from ago.cli.console import print_json
from ago.cli.group import examples
from ago.contest import Contest
from ago.errors import InputError
from ago.tune.log import SessionLog
from ago.tune.progress import Progress, Result, Watch
from ago.tune.report import write_report
from ago.tune.runners import ESTIMATED, RUNNERS
from ago.tuning import Tuning, tune_graph

INTERRUPTED = 130
"""Exit code after Ctrl-C, as of any program that the signal ends."""


@click.command(
    "tune",
    short_help="Search for faster schedules of a model.",
    epilog=examples(
        ("ago tune model.onnx --minutes 20", "as long as you like; Ctrl-C loses nothing"),
        ("ago tune model.onnx --trials 300", "the same command goes on where it stopped"),
        ("ago tune model.onnx --trials 300 --report tuning.html", "with curves"),
        ("ago tune model.onnx --minutes 20 --target cortex-a76 --runner ssh:pi", "on a device"),
        ("ago tune model.onnx --trials 100 --target cortex-a76 --estimate", "without one"),
        ("ago run model.onnx --database tuning.db", "use what was found"),
    ),
)
@model_options
@click.option("--trials", type=click.IntRange(min=1), help="Candidates, earlier ones included.")
@click.option("--minutes", type=click.FloatRange(min=0), help="Time of this search.")
@click.option("--seed", default=0, show_default=True, help="Of every random choice.")
@click.option(
    "--reformer/--no-reformer",
    default=True,
    show_default=True,
    help="Tune parts with one convolution or matrix product at most first.",
)
@click.option(
    "--log",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for each trial and the reason of each that failed; by default beside the database.",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Page with curves, predictions and accepted decisions, as HTML.",
)
@click.option(
    "--runner",
    "runners",
    multiple=True,
    metavar="DEVICE",
    help=f"Who measures: {RUNNERS}; by default this machine. Several share the work.",
)
@click.option("--estimate", is_flag=True, help=f"The same as --runner {ESTIMATED}: no device.")
def tune_command(
    request: Request,
    trials: int | None,
    minutes: float | None,
    seed: int,
    reformer: bool,
    log: Path | None,
    report: Path | None,
    runners: tuple[str, ...],
    estimate: bool,
) -> None:
    """Search for faster schedules of MODEL on this machine, or on a device.

    Every trial is kept in the database (--database, by default your own). The search may be stopped
    at any moment: what was found is used by `ago run`, `ago optimize` and others with --database,
    and the same command goes on where it stopped. Nothing gets slower than it is without a search.
    """
    if trials is None and minutes is None:
        raise click.UsageError("give --trials or --minutes, or both")
    tuning = Tuning.of(
        trials or 0,
        minutes,
        seed=seed,
        database=request.database,
        reformer=reformer,
        runners=(ESTIMATED,) if estimate else runners,
    )
    what = "--log" if log else "the log beside the database,"
    log = log or tuning.database.with_suffix(".log")
    _require_writable(what, log)
    if report is not None:
        _require_writable("--report", report)
    written = SessionLog(log)
    graph = request.load()
    course: list[Progress] = []
    with _progress_bar() as draw:

        def watch(progress: Progress) -> None:
            course.append(progress)
            written.watch(progress)
            draw(progress)

        def tell(message: str) -> None:
            written.tell(message)
            click.echo(message, err=True)

        result, contest = tune_graph(graph, request.options, tuning, watch=watch, tell=tell)
    written.finish(result)
    if request.json:
        print_json(_as_data(result, contest, tuning.database))
    else:
        click.echo(str(result))
        if contest is not None:
            click.echo(str(contest))
        click.echo(f"kept in {tuning.database}; log in {written.path}")
    if report is not None:
        write_report(report, graph.name, result, course)
    if result.interrupted:
        click.echo("stopped: the same command goes on", err=True)
        raise click.exceptions.Exit(INTERRUPTED)


def _require_writable(what: str, path: Path) -> None:
    """Refuse a file that could not be written when the search is over.

    Raises:
        InputError: Says what it is, and why.
    """
    is_new = not path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("a", encoding="utf-8").close()
        if is_new:
            path.unlink()
    except OSError as error:
        raise InputError(f"{what} {path} cannot be written: {error}") from error


@contextlib.contextmanager
def _progress_bar() -> Iterator[Watch]:
    """Draws trials, best time, gain, remaining time and the task; nothing where nobody looks."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.fields[trials]} trials"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[best]:.3f} ms, {task.fields[gain]:+.1%}"),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.description}", style="dim"),
    )
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        what = "measuring the default schedules"
        bar = bars.add_task(what, total=1.0, trials=0, best=0.0, gain=0.0, left="")

        def draw(progress: Progress) -> None:
            bars.update(
                bar,
                completed=progress.share,
                description=progress.label[:48],
                trials=progress.trials,
                best=1e3 * progress.best,
                gain=progress.default / progress.best - 1.0 if progress.best else 0.0,
                left=_clock(progress.remaining),
            )

        yield draw


def _clock(seconds: float | None) -> str:
    """A time for people: `4:07 left`."""
    return "" if seconds is None else f"{int(seconds) // 60}:{int(seconds) % 60:02} left"


def _as_data(result: Result, contest: Contest | None, database: Path) -> dict[str, object]:
    return {
        "database": str(database),
        "trials": result.trials,
        "elapsed_seconds": round(result.elapsed, 1),
        "interrupted": result.interrupted,
        "default_seconds": result.default,
        "best_seconds": result.best,
        "default_in_place_seconds": None if contest is None else contest.default,
        "best_in_place_seconds": None if contest is None else contest.tuned,
        "statuses": dict(result.statuses),
        "refusals": dict(result.refusals),
        "tasks": [
            {
                "label": task.task.label,
                "workload": task.task.key.workload,
                "uses": task.task.uses,
                "trials": len(task.records),
                "default_seconds": task.default,
                "best_seconds": task.best,
                "decisions": {} if task.chosen is None else dict(task.chosen.decisions),
            }
            for task in result.tasks
        ],
    }
