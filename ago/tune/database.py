"""Everything that was ever measured: one SQLite file.

Read `Database` first. The file is in WAL mode and every batch of records is one transaction, so
that several processes write at once, and a process that is killed loses at most what it had not
handed over yet. Records are added; `revise` replaces times by better ones, `prune` removes.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from ago.errors import InputError
from ago.tune.record import Record, Status, TaskKey, decisions_text, plain

BUSY_SECONDS = 60.0
"""How long a writer waits for another one."""

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE task (
        id INTEGER PRIMARY KEY,
        workload TEXT NOT NULL,
        features TEXT NOT NULL,
        space INTEGER NOT NULL,
        UNIQUE (workload, features, space)
    );
    CREATE TABLE trial (
        id INTEGER PRIMARY KEY,
        task INTEGER NOT NULL REFERENCES task (id),
        decisions TEXT NOT NULL,
        trace TEXT NOT NULL,
        status TEXT NOT NULL,
        seconds REAL,
        spread REAL NOT NULL,
        reason TEXT NOT NULL,
        host TEXT NOT NULL
    );
    """,
    "CREATE INDEX trial_by_time ON trial (task, seconds);",
    # One machine measures a candidate once: what a resumed or merged session repeats is dropped.
    "CREATE UNIQUE INDEX trial_once ON trial (task, host, decisions);",
    "ALTER TABLE trial ADD COLUMN level INTEGER NOT NULL DEFAULT 0;",
)
"""What makes a file of version `n` one of version `n + 1`; the version is SQLite's user_version."""

_COLUMNS = (
    "workload, features, space, decisions, trace, status, seconds, spread, reason, host, level"
)
_SELECT = f"SELECT {_COLUMNS} FROM trial JOIN task ON task.id = trial.task"


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """What is known of one task.

    Attributes:
        key: The task.
        trials: Records of it.
        failed: Those without a time.
        seconds: The fastest time; None if there is none.
    """

    key: TaskKey
    trials: int
    failed: int
    seconds: float | None


class Database:
    """Tuning records in a file. Use it as a context manager, or `close` it.

    Args:
        path: The file; made if missing, with its directory.

    Raises:
        InputError: The file cannot be opened, is no tuning database, or one of a newer AGO.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.OperationalError) as error:
            raise self._unopened(error) from error
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._migrate()
        except sqlite3.OperationalError as error:
            self.close()
            raise self._unopened(error) from error
        except sqlite3.DatabaseError as error:
            self.close()
            raise InputError(f"{self.path} is no tuning database: {error}") from error
        except InputError:
            self.close()
            raise

    def _unopened(self, error: Exception) -> InputError:
        return InputError(
            f"the tuning database {str(self.path)!r} cannot be opened: {error}; "
            "name a file that you may write"
        )

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def add(self, records: Iterable[Record]) -> int:
        """Add records in one transaction.

        Args:
            records: Those of decisions that the same host has measured already are left out.

        Returns:
            How many were new.
        """
        with self._transaction():
            return sum(self._add(record) for record in records)

    def revise(self, records: Iterable[Record]) -> None:
        """Replace what a host measured of the same decisions before, in one transaction.

        Args:
            records: Better measurements; those of decisions that are not there are added.
        """
        with self._transaction():
            for record in records:
                if not self._add(record):
                    self._replace(record)

    def best(self, key: TaskKey) -> Record | None:
        """The fastest record of a task, the oldest of equals; None if it has none with a time."""
        return next(self._records("seconds IS NOT NULL", key, "seconds, trial.id LIMIT 1"), None)

    def records(self, key: TaskKey | None = None) -> Iterator[Record]:
        """All records, or those of one task, in the order in which they were added."""
        return self._records("TRUE", key, "trial.id")

    def tasks(self) -> list[TaskSummary]:
        """All tasks, those first that were added first."""
        rows = self._connection.execute(
            "SELECT workload, features, space, count(*), sum(status != 'ok'), min(seconds) "
            "FROM task JOIN trial ON task.id = trial.task GROUP BY task.id ORDER BY task.id"
        )
        return [
            TaskSummary(TaskKey(workload, features, space), trials, failed, seconds)
            for workload, features, space, trials, failed, seconds in rows
        ]

    def merge(self, other: Database) -> int:
        """Add another database's records; returns how many were new."""
        return self.add(other.records())

    def export_lines(self) -> Iterator[str]:
        """All records as lines of JSON, without line ends."""
        return (record.to_json() for record in self.records())

    def import_lines(self, lines: Iterable[str]) -> int:
        """Add records from lines of JSON, all or none.

        Args:
            lines: As `export_lines` gives them; empty ones are skipped.

        Returns:
            How many were new.

        Raises:
            InputError: A line is no record; names it.
        """
        return self.add(_parsed(lines))

    def prune(self, keep: int) -> int:
        """Remove all but the fastest records of each task.

        Args:
            keep: How many to keep of each; failures go first, then what was timed once only.

        Returns:
            How many were removed.
        """
        with self._transaction():
            removed = self._connection.execute(
                "DELETE FROM trial WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER "
                "(PARTITION BY task ORDER BY seconds IS NULL, level DESC, seconds, id) AS place "
                "FROM trial) WHERE place > ?)",
                (keep,),
            ).rowcount
            self._connection.execute("DELETE FROM task WHERE id NOT IN (SELECT task FROM trial)")
        return removed

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing; another writer waits."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _add(self, record: Record) -> int:
        key = (record.key.workload, record.key.features, record.key.space)
        self._connection.execute(
            "INSERT OR IGNORE INTO task (workload, features, space) VALUES (?, ?, ?)", key
        )
        return self._connection.execute(
            "INSERT OR IGNORE INTO trial "
            "(task, decisions, trace, status, seconds, spread, reason, host, level) VALUES ("
            "(SELECT id FROM task WHERE workload = ? AND features = ? AND space = ?), "
            "?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *key,
                decisions_text(record.decisions),
                record.trace,
                record.status,
                record.seconds,
                record.spread,
                record.reason,
                record.host,
                record.level,
            ),
        ).rowcount

    def _replace(self, record: Record) -> None:
        self._connection.execute(
            "UPDATE trial SET trace = ?, status = ?, seconds = ?, spread = ?, reason = ?, "
            "level = ? WHERE host = ? AND decisions = ? AND task = "
            "(SELECT id FROM task WHERE workload = ? AND features = ? AND space = ?)",
            (
                record.trace,
                record.status,
                record.seconds,
                record.spread,
                record.reason,
                record.level,
                record.host,
                decisions_text(record.decisions),
                record.key.workload,
                record.key.features,
                record.key.space,
            ),
        )

    def _records(self, where: str, key: TaskKey | None, order: str) -> Iterator[Record]:
        values: Sequence[object] = ()
        if key is not None:
            where += " AND workload = ? AND features = ? AND space = ?"
            values = (key.workload, key.features, key.space)
        rows = self._connection.execute(f"{_SELECT} WHERE {where} ORDER BY {order}", values)
        return (_record(row) for row in rows)

    def _migrate(self) -> None:
        """Bring an older file up to date.

        Raises:
            InputError: The file is newer than this AGO.
        """
        if self._version() == len(MIGRATIONS):
            return
        with self._transaction():
            version = self._version()
            if version > len(MIGRATIONS):
                raise InputError(
                    f"{self.path} has version {version}; this AGO reads up to {len(MIGRATIONS)}: "
                    "update AGO"
                )
            if version == 0 and self._connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise InputError(f"{self.path} is another program's database")
            for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
                for statement in filter(str.strip, script.split(";")):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA user_version = {number}")

    def _version(self) -> int:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        return int(version)


def _record(
    row: tuple[str, str, int, str, str, Status, float | None, float, str, str, int],
) -> Record:
    workload, features, space, decisions, trace, status, seconds, spread, reason, host, level = row
    values = {key: plain(value) for key, value in json.loads(decisions).items()}
    key = TaskKey(workload, features, space)
    return Record(key, values, trace, status, seconds, spread, reason, host, level)


def _parsed(lines: Iterable[str]) -> Iterator[Record]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield Record.from_json(line)
        except InputError as error:
            raise InputError(f"line {number}: {error}") from error
