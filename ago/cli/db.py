"""`ago db`: look into tuning databases, and move records between them.

Read `db_command` first.
"""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

import click

from ago.cli.console import print_json, print_table
from ago.cli.group import examples
from ago.schedule.trace import Trace
from ago.tune.database import Database
from ago.tune.record import Record, TaskKey

_DATABASE = click.argument("database", type=click.Path(exists=True, dir_okay=False, path_type=Path))


_NEW_DATABASE = click.argument("database", type=click.Path(dir_okay=False, path_type=Path))


@click.group(
    "db",
    short_help="Look into tuning databases.",
    epilog=examples(
        ("ago db list tuning.db", "tasks, trials, best times"),
        ("ago db best tuning.db WORKLOAD", "the fastest schedule of a task, as Python"),
        ("ago db export tuning.db records.jsonl", "all records as lines of JSON"),
        ("ago db import tuning.db records.jsonl", "add such lines"),
        ("ago db merge tuning.db other.db", "add another database's records"),
        ("ago db prune tuning.db --keep 20", "keep the fastest of each task"),
    ),
)
def db_command() -> None:
    """Look into tuning databases, and move records between them."""


@db_command.command(
    "list",
    epilog=examples(
        ("ago db list tuning.db", "a line for each task"),
        ("ago db list tuning.db --json", "the same as data"),
    ),
)
@_DATABASE
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_command(database: Path, as_json: bool) -> None:
    """List the tasks of DATABASE with their trials and best times."""
    with Database(database) as opened:
        tasks = opened.tasks()
    if as_json:
        print_json(
            [
                {
                    "workload": task.key.workload,
                    "features": task.key.features,
                    "space": task.key.space,
                    "trials": task.trials,
                    "failed": task.failed,
                    "seconds": task.seconds,
                }
                for task in tasks
            ]
        )
        return
    rows = []
    for task in tasks:
        best = "" if task.seconds is None else f"{1e6 * task.seconds:.2f}"
        figures = (str(task.key.space), str(task.trials), str(task.failed), best)
        rows.append((task.key.workload, task.key.features, *figures))
    print_table(("workload", "features", "space", "trials", "failed", "best, µs"), rows)


@db_command.command(
    "best",
    epilog=examples(
        ("ago db best tuning.db dense", "as Python, of each task whose key begins so"),
        ("ago db best tuning.db dense --json", "the records as lines of JSON"),
    ),
)
@_DATABASE
@click.argument("workload")
@click.option("--json", "as_json", is_flag=True, help="Print the whole record as JSON.")
def best_command(database: Path, workload: str, as_json: bool) -> None:
    """Print the fastest schedule of WORKLOAD, a key that `ago db list` shows or its beginning."""
    with Database(database) as opened:
        for key in _matching(opened, workload):
            record = opened.best(key)
            if record is not None:
                click.echo(record.to_json() if as_json else _text(record))


@db_command.command(
    "export",
    epilog=examples(
        ("ago db export tuning.db records.jsonl", "all records"),
        ("ago db export tuning.db -", "to standard output"),
    ),
)
@_DATABASE
@click.argument("lines", type=click.File("w", encoding="utf-8"))
def export_command(database: Path, lines: TextIO) -> None:
    """Write all records of DATABASE to LINES, one JSON object a line; - is standard output."""
    with Database(database) as opened:
        for line in opened.export_lines():
            lines.write(f"{line}\n")


@db_command.command(
    "import",
    epilog=examples(("ago db import tuning.db records.jsonl", "what `ago db export` wrote")),
)
@_NEW_DATABASE
@click.argument("lines", type=click.File(encoding="utf-8"))
def import_command(database: Path, lines: TextIO) -> None:
    """Add the records in LINES to DATABASE, which is made if missing; all lines or none."""
    with Database(database) as opened:
        click.echo(f"{opened.import_lines(lines)} new records")


@db_command.command(
    "merge",
    epilog=examples(
        ("ago db merge tuning.db a.db b.db", "records of several machines in one file")
    ),
)
@_NEW_DATABASE
@click.argument("others", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def merge_command(database: Path, others: tuple[Path, ...]) -> None:
    """Add the records of OTHERS to DATABASE, which is made if missing."""
    with Database(database) as opened:
        for path in others:
            with Database(path) as other:
                click.echo(f"{path}: {opened.merge(other)} new records")


@db_command.command(
    "prune",
    epilog=examples(("ago db prune tuning.db --keep 20", "of each task, the fastest first")),
)
@_DATABASE
@click.option("--keep", type=click.IntRange(min=1), default=100, show_default=True)
def prune_command(database: Path, keep: int) -> None:
    """Remove all but the fastest records of each task."""
    with Database(database) as opened:
        click.echo(f"removed {opened.prune(keep)} records")


def _matching(database: Database, beginning: str) -> list[TaskKey]:
    keys = [task.key for task in database.tasks()]
    found = [key for key in keys if key.workload.startswith(beginning)]
    if not found:
        known = ", ".join(key.workload for key in keys) or "none"
        raise click.ClickException(f"no task begins with {beginning!r}; there are: {known}")
    return found


def _text(record: Record) -> str:
    assert record.seconds is not None
    script = Trace.from_json(record.trace).to_python()
    time = f"{1e6 * record.seconds:.2f} µs ± {record.spread:.1%}"
    return f"# {record.key}: {time} on {record.host or 'an unknown machine'}\n{script}"
