"""Output for people: progress on stderr, tables and text on stdout.

Read `progress_bar` first. Nothing is drawn where stderr is not a terminal.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table

from ago.progress import Progress


@contextlib.contextmanager
def progress_bar() -> Iterator[Progress]:
    """A progress callback that draws one bar a phase, and cleans up after itself."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description:<14}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks = {}

        def report(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=total)
            bars.update(tasks[phase], completed=done, total=total)

        yield report


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner for work whose length is not known."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def print_json(value: object) -> None:
    """Print one JSON value on stdout."""
    click.echo(json.dumps(value, indent=2))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table whose first column is text and whose others are aligned to the right."""
    table = Table(box=None, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    _stdout().print(table)


def print_facts(facts: Mapping[str, str]) -> None:
    """Print names and values in two columns."""
    width = max(map(len, facts))
    for name, value in facts.items():
        click.echo(f"{name:<{width}}  {value}")


def bytes_text(count: int) -> str:
    """A size for people: `3.2 MB`, `640 B`; powers of 1000."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _stdout() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 200  # a file or a pipe has no width to wrap at
    return console
