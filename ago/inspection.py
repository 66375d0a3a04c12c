"""Watching a compilation from outside: numbered files, and a ladder of messages.

Read `Event` first: the pipeline tells a `Watch` each value it made and how long that took. The
environment variable AGO_DUMP names a directory for `Dump`, AGO_DEBUG a level for `Messages`;
where neither is set nobody watches, and nothing is printed or timed.

| AGO_DEBUG | adds |
|---|---|
| 1 | the graph passes, with milliseconds |
| 2 | the partition, and each kernel's nodes |
| 3 | each decision, with the analytic model's terms |
| 4 | each kernel's naive and scheduled nest |
| 5 | each primitive, with the program after it |
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO

from ago.errors import InputError
from ago.fuse import NO_FUSION, FusionChoice
from ago.ir.program import Program
from ago.schedule.decisions import Choice
from ago.schedule.trace import Trace

Stage = Literal["graph", "partition", "nest", "schedule", "c"]

LEVELS = range(6)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """How a kernel was scheduled.

    Attributes:
        naive: The program before.
        program: The program after.
        trace: What was applied.
        choices: What was decided; empty where an equal kernel's schedule is shared.
        fusion: The fusion plan it was made by, among the others.
    """

    naive: Program
    program: Program
    trace: Trace
    choices: tuple[Choice, ...] = ()
    fusion: FusionChoice = NO_FUSION

    def __str__(self) -> str:
        return str(self.program)


@dataclass(frozen=True, slots=True)
class Event:
    """One value that the compiler made.

    Attributes:
        stage: Which part of the compiler made it.
        name: The pass or the kernel.
        value: What it made; it prints.
        seconds: How long that took.
        unchanged: Whether the value is the one from before.
        about: What the kernel computes, for people.
    """

    stage: Stage
    name: str
    value: object
    seconds: float
    unchanged: bool = False
    about: str = ""

    def __str__(self) -> str:
        what = self.name if self.stage in ("graph", "partition") else f"{self.name} {self.stage}"
        about = f" {self.about}" if self.about else ""
        return f"{what}{about}: {1e3 * self.seconds:.1f} ms" + (
            " (unchanged)" if self.unchanged else ""
        )


Watch = Callable[[Event], None]
"""Told of each event, in order."""


def is_watched(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether someone wants to see how a model is compiled, rather than find it in a cache."""
    return any(environment.get(name) for name in ("AGO_DUMP", "AGO_DEBUG"))


def watch_from_environment(name: str, environment: Mapping[str, str] = os.environ) -> Watch | None:
    """Who watches a compilation; None for nobody.

    Args:
        name: Of the graph; its files go to a directory of that name.
        environment: Holds AGO_DUMP, AGO_DEBUG, or neither.

    Raises:
        InputError: AGO_DEBUG is no level, or the directory in AGO_DUMP cannot be written.
    """
    watches: list[Watch] = []
    if environment.get("AGO_DUMP"):
        try:
            watches.append(Dump(Path(environment["AGO_DUMP"]) / _file_name(name)))
        except OSError as error:
            raise InputError(f"AGO_DUMP={environment['AGO_DUMP']}: {error.strerror}") from error
    level = environment.get("AGO_DEBUG") or "0"
    if level not in map(str, LEVELS):
        raise InputError(f"AGO_DEBUG={level}: levels are 0 to {LEVELS[-1]}")
    if level != "0":
        watches.append(Messages(int(level), sys.stderr))
    if not watches:
        return None

    def watch(event: Event) -> None:
        for each in watches:
            each(event)

    return watch


class Dump:
    """Writes each value to a numbered file whose first line says what it is and what it took.

    Args:
        directory: Made if it is not there; numbered files in it from an earlier run are removed.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        for old in directory.glob("[0-9][0-9][0-9][0-9]-*"):
            old.unlink()
        self._directory = directory
        self._count = 0

    def __call__(self, event: Event) -> None:
        """Write the files of an event."""
        if isinstance(event.value, Scheduled):
            self._write(event, "decisions.txt", _decisions_text(event.value))
            self._write(event, "primitives.py", "\n".join(primitive_texts(event.value)))
        suffix = {"c": "c", "nest": "nest.py", "schedule": "schedule.py"}
        self._write(event, suffix.get(event.stage, "txt"), str(event.value))

    def _write(self, event: Event, suffix: str, text: str) -> None:
        mark = "-unchanged" if event.unchanged else ""
        path = self._directory / f"{self._count:04}-{_file_name(event.name)}{mark}.{suffix}"
        head = f"/* {event} */" if event.stage == "c" else f"# {event}"
        path.write_text(f"{head}\n{text.rstrip()}\n", encoding="utf-8")
        self._count += 1


class Messages:
    """Prints what a level of the ladder asks for.

    Args:
        level: 1 to 5.
        stream: Where to.
    """

    def __init__(self, level: int, stream: TextIO) -> None:
        self._level = level
        self._stream = stream

    def __call__(self, event: Event) -> None:
        """Print the lines about an event."""
        for line in self._lines(event):
            print(line, file=self._stream)

    def _lines(self, event: Event) -> Iterator[str]:
        if self._level >= (1 if event.stage == "graph" else 2):
            yield f"ago: {event}"
        if event.stage == "partition" and self._level >= 2:
            yield str(event.value)
        if isinstance(event.value, Scheduled) and self._level >= 3:
            yield _decisions_text(event.value).rstrip()
        if event.stage in ("nest", "schedule") and self._level >= 4:
            yield str(event.value).rstrip()
        if isinstance(event.value, Scheduled) and self._level >= 5:
            yield from primitive_texts(event.value)


def primitive_texts(scheduled: Scheduled, only: str | None = None) -> Iterator[str]:
    """Each applied primitive, as a comment, with the program after it.

    Args:
        scheduled: A kernel.
        only: Name of a primitive; all for None.
    """
    for number, (instruction, program) in enumerate(scheduled.trace.steps(scheduled.naive)):
        if instruction is not None and only in (None, instruction.primitive):
            yield f"# {number}: {instruction}\n{program}"


def _decisions_text(scheduled: Scheduled) -> str:
    lines = [f"  {choice}" for choice in scheduled.choices]
    lines = lines or [f"  {key} = {value}" for key, value in scheduled.trace.decisions]
    return "\n".join(lines or ["  no decision"])


def _file_name(name: str) -> str:
    return re.sub(r"\W+", "_", name)
