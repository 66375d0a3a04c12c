"""`ago db`: each command on a small database."""

import json
from pathlib import Path

import pytest

from ago.schedule.trace import Trace
from ago.tune.database import Database
from ago.tune.record import Record, TaskKey

KEY = TaskKey("0123456789abcdef", "avx2x8")


def record(number: int, seconds: float) -> Record:
    trace = Trace(KEY.workload, (), (("C/tile", (number, 2)),))
    return Record(KEY, dict(trace.decisions), trace.to_json(), "ok", seconds, 0.02, "", "lab")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "tuning.db"
    with Database(path) as opened:
        opened.add([record(1, 2e-6), record(2, 1e-6), record(3, 3e-6)])
    return path


def test_list(invoke, database: Path) -> None:
    lines = invoke("db", "list", database).stdout.splitlines()
    assert lines[-1].split() == ["0123456789abcdef", "avx2x8", "1", "3", "0", "1.00"]
    (task,) = json.loads(invoke("db", "list", database, "--json").stdout)
    assert (task["trials"], task["seconds"]) == (3, 1e-6)


def test_best(invoke, database: Path) -> None:
    shown = invoke("db", "best", database, "0123").stdout
    assert shown.startswith("# 0123456789abcdef avx2x8 v1: 1.00 µs ± 2.0% on lab\n")
    assert "def schedule(program" in shown
    data = json.loads(invoke("db", "best", database, "0123", "--json").stdout)
    assert data["decisions"] == {"C/tile": [2, 2]}
    refused = invoke("db", "best", database, "ff")
    assert refused.exit_code == 1
    assert "no task begins with 'ff'; there are: 0123456789abcdef" in refused.stderr


def test_records_move_by_lines_and_by_merge(invoke, database: Path, tmp_path: Path) -> None:
    lines, other, third = tmp_path / "r.jsonl", tmp_path / "other.db", tmp_path / "third.db"
    assert invoke("db", "export", database, lines).exit_code == 0
    assert invoke("db", "import", other, lines).stdout == "3 new records\n"
    assert invoke("db", "import", other, lines).stdout == "0 new records\n"
    assert invoke("db", "prune", other, "--keep", "1").stdout == "removed 2 records\n"
    merged = invoke("db", "merge", third, other, database).stdout
    assert merged == f"{other}: 1 new records\n{database}: 2 new records\n"


def test_broken_lines_are_named(invoke, database: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("{}\n")
    refused = invoke("db", "import", database, tmp_path / "bad.jsonl")
    assert refused.exit_code == 1
    assert "line 1: not a tuning record" in refused.stderr
