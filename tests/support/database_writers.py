"""Processes that write to a tuning database, some of which will be killed."""

from __future__ import annotations

import json
from multiprocessing.connection import Connection
from pathlib import Path

from ago.tune.database import Database
from ago.tune.record import Record, TaskKey

KEY = TaskKey("0123456789abcdef", "avx2x8")


def record(number: int, seconds: float | None = None, host: str = "a") -> Record:
    trace = json.dumps({"version": 1, "number": number})
    status = "crash" if seconds is None else "ok"
    reason = "signal 11" if seconds is None else ""
    decisions = {"conv/tile": (number, 2), "conv/order": number}
    return Record(KEY, decisions, trace, status, seconds, 0.01, reason, host)


def write(path: Path, host: str, count: int) -> None:
    with Database(path) as database:
        for number in range(count):
            database.add([record(number, 1e-3, host)])


def write_and_tell(path: Path, host: str, told: Connection) -> None:
    """Writes until it is killed, and tells what is written."""
    with Database(path) as database:
        for number in range(10_000):
            database.add([record(number, 1e-3, host)])
            told.send(number)
