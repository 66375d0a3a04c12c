"""A file that tells what a session did: each trial a line, and at the end what was refused.

Read `SessionLog` first. Lines are written as they happen, so that a session that was killed has its
log, too.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from ago.tune.progress import Progress, Result
from ago.tune.record import Record, decisions_text


class SessionLog:
    """Appends to a file.

    Args:
        path: The file; made if missing, with its directory.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def watch(self, progress: Progress) -> None:
        """Write the trials of a batch."""
        head = f"{1e3 * progress.best:.3f} ms ({1e3 * progress.default:.3f} by default)"
        lines = [f"{progress.trials} trials, {head}: {progress.label}"]
        self._write([*lines, *map(_line, progress.records)])

    def tell(self, message: str) -> None:
        """Write a message."""
        self._write([message])

    def finish(self, result: Result) -> None:
        """Write what came out, with every refusal code counted."""
        counts = [f"  {count:6} {code}" for code, count in result.refusals.most_common()]
        failed = ["failed trials by code:", *counts] if counts else ["no trial failed"]
        stopped = ["stopped before the budget was used up"] if result.interrupted else []
        self._write([*str(result).splitlines(), *failed, *stopped])

    def _write(self, lines: list[str]) -> None:
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(f"{now} {line}\n" for line in lines)


def _line(record: Record) -> str:
    ended = record.reason if record.seconds is None else f"{1e6 * record.seconds:.2f} µs"
    return f"  {record.status} {ended} {record.key.workload} {decisions_text(record.decisions)}"
