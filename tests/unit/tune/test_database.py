"""The tuning database: nothing that was handed over is lost, whoever is killed or writes beside."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ago.errors import InputError
from ago.ir.examples import matmul
from ago.target import TARGETS
from ago.tune.database import MIGRATIONS, Database
from ago.tune.record import SPACE_VERSION, Record, TaskKey
from tests.support.database_writers import KEY, record, write, write_and_tell

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.support.database_writers"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "tuning.db"


def test_records_come_back_as_they_were(path: Path) -> None:
    given = [record(1, 2e-3), record(2), record(3, 1e-3)]
    with Database(path) as database:
        assert database.add(given) == 3
    with Database(path) as database:
        assert list(database.records()) == given
        assert list(database.records(KEY)) == given
        assert list(database.records(replace(KEY, space=SPACE_VERSION + 1))) == []
        assert database.best(KEY) == given[2]
        assert database.best(TaskKey("f", "avx2x8")) is None
        (task,) = database.tasks()
        assert (task.key, task.trials, task.failed, task.seconds) == (KEY, 3, 1, 1e-3)


def test_of_equal_times_the_older_record_is_best(path: Path) -> None:
    with Database(path) as database:
        database.add([record(5, 1e-3), record(4, 1e-3)])
        assert database.best(KEY) == record(5, 1e-3)


def test_a_host_measures_a_candidate_once(path: Path) -> None:
    with Database(path) as database:
        assert database.add([record(1, 1e-3), record(1, 2e-3), record(1, 3e-3, host="b")]) == 2
        assert [r.seconds for r in database.records()] == [1e-3, 3e-3]


def test_a_batch_is_added_whole_or_not_at_all(path: Path) -> None:
    def broken():
        yield record(1, 1e-3)
        raise RuntimeError("killed")

    with Database(path) as database:
        with pytest.raises(RuntimeError):
            database.add(broken())
        assert database.tasks() == []


def test_lines_move_records_and_are_refused_by_number(path: Path, tmp_path: Path) -> None:
    with Database(path) as one, Database(tmp_path / "two.db") as two:
        one.add([record(1, 1e-3), record(2)])
        lines = list(one.export_lines())
        assert two.import_lines([*lines, "", *lines]) == 2
        assert list(two.export_lines()) == lines
        with pytest.raises(InputError, match="line 2: not a tuning record"):
            two.import_lines([record(9, 1e-3).to_json(), '{"workload": 1}'])
        assert len(list(two.records())) == 2
        two.add([record(3, 1e-3)])
        assert one.merge(two) == 1


@given(
    st.dictionaries(
        st.text(min_size=1),
        st.integers() | st.text() | st.lists(st.integers() | st.text()).map(tuple),
    ),
    st.sampled_from(["ok", "build", "crash", "timeout", "wrong", "memory"]),
    st.floats(1e-9, 1e3),
)
def test_json_round_trip(decisions, status, seconds) -> None:
    made = Record(KEY, decisions, "{}", status, seconds if status == "ok" else None, 0.5, "", "h")
    assert Record.from_json(made.to_json()) == made


@pytest.mark.parametrize(
    "line", ["", "[]", "{}", '"x"', record(1, 1.0).to_json().replace('"ok"', '"fine"')]
)
def test_what_is_no_record(line: str) -> None:
    with pytest.raises(InputError):
        Record.from_json(line)


def test_a_time_belongs_to_success() -> None:
    with pytest.raises(InputError):
        replace(record(1, 1e-3), status="crash")
    with pytest.raises(InputError):
        replace(record(1), status="ok")


def test_pruning_keeps_the_fastest(path: Path) -> None:
    with Database(path) as database:
        database.add([record(1), record(2, 3e-3), record(3, 1e-3), record(4, 2e-3)])
        database.add([replace(record(5), key=TaskKey("other", "neonx4"))])
        assert database.prune(2) == 2
        assert [r.seconds for r in database.records(KEY)] == [1e-3, 2e-3]
        assert len(database.tasks()) == 2


def test_older_files_are_brought_up_to_date(path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.executescript(MIGRATIONS[0])
    connection.execute("PRAGMA user_version = 1")
    connection.execute("INSERT INTO task VALUES (1, ?, ?, ?)", (KEY.workload, KEY.features, 1))
    connection.execute(
        "INSERT INTO trial VALUES (1, 1, '{\"a\": [1, 2]}', '{}', 'ok', 1e-3, 0, '', 'h')"
    )
    connection.commit()
    connection.close()
    with Database(path) as database:
        (found,) = database.records()
        assert found == Record(KEY, {"a": (1, 2)}, "{}", "ok", 1e-3, 0.0, "", "h")
        assert database.add([found]) == 0


def test_newer_and_foreign_files_are_refused(path: Path, tmp_path: Path) -> None:
    Database(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InputError, match="has version 99; this AGO reads up to"):
        Database(path)
    (tmp_path / "text.db").write_text("no database at all, but long enough to be looked at" * 9)
    with pytest.raises(InputError, match="no tuning database"):
        Database(tmp_path / "text.db")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE notes (text)")
    other.commit()
    other.close()
    with pytest.raises(InputError, match="another program's"):
        Database(tmp_path / "other.db")


def test_many_processes_write_at_once(path: Path) -> None:
    writers = [PROCESSES.Process(target=write, args=(path, f"h{k}", 20)) for k in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    with Database(path) as database:
        assert len(list(database.records())) == 80


def test_a_killed_writer_loses_at_most_its_record_in_flight(path: Path) -> None:
    chance = random.Random(0)
    for attempt in range(50):
        ours, theirs = PROCESSES.Pipe(duplex=False)
        writer = PROCESSES.Process(target=write_and_tell, args=(path, f"h{attempt}", theirs))
        writer.start()
        theirs.close()
        ours.poll(30)
        time.sleep(chance.uniform(0, 0.01))
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGKILL)
        writer.join(30)
        told = []
        while True:
            try:
                told.append(ours.recv())
            except EOFError:
                break
        with Database(path) as database:
            kept = [
                r.decisions["conv/order"] for r in database.records() if r.host == f"h{attempt}"
            ]
        assert kept == list(range(len(kept)))
        assert told == list(range(len(told)))
        assert len(told) <= len(kept) <= len(told) + 1


def test_a_key_knows_workload_and_instructions_but_no_name() -> None:
    program = matmul(4, 8, 5)
    key = TaskKey.of(program, TARGETS["cortex-a76"])
    assert key == TaskKey.of(replace(program, name="other"), TARGETS["cortex-a55"])
    assert key.features == "neonx4"
    assert TaskKey.of(program, TARGETS["x86-64-v3"]) != key
    assert TaskKey.of(matmul(4, 8, 6), TARGETS["cortex-a76"]) != key


@pytest.mark.parametrize("place", [".", "file/t.db"])
def test_a_file_that_cannot_be_opened_is_not_called_a_broken_one(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be opened"):
        Database(tmp_path / place)
