"""`ago tune` on made-up times: what it prints and keeps, and how it is stopped and used."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result

import ago.tune.runners
import ago.tuning
from ago.contest import Contest
from ago.tune.database import Database
from ago.tune.record import Record, TaskKey
from ago.tune.trial import Job, Outcome
from tests.support.tuning import FakeRunner

Invoke = Callable[..., Result]


class Local(FakeRunner):
    """In place of the runner of this machine."""

    stops = 0

    def close(self) -> None:
        """It holds nothing."""

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        if Local.stops == 1:
            Local.stops = 0
            raise KeyboardInterrupt
        Local.stops = max(Local.stops - 1, 0)
        return super().run(jobs)


def agree(
    graph: object, options: object, chosen: Mapping[TaskKey, tuple[Record, Record]], *_: object
) -> Contest:
    """In place all is as it is alone."""
    records = [replace(record, level=2) for pair in chosen.values() for record in pair]
    return Contest(2e-3, 1e-3, tuple(records), 0)


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ago.tune.runners, "LocalRunner", Local)
    monkeypatch.setattr(ago.tuning, "contest", agree)


def test_it_tunes_and_says_what_came_out(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "tuning.db"
    model = ("tiny_mobilenet", "--target", "portable")
    result = invoke("tune", *model, "--trials", 24, "--database", file, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["trials"] == 24
    assert told["best_seconds"] <= told["default_seconds"]
    assert (told["default_in_place_seconds"], told["best_in_place_seconds"]) == (2e-3, 1e-3)
    assert told["statuses"] == {"ok": 24}
    assert "no trial failed" in (tmp_path / "tuning.log").read_text("utf-8")
    with Database(file) as database:
        assert len(list(database.records())) == 24
    assert invoke("optimize", *model, "--database", file).exit_code == 0


def test_ctrl_c_keeps_what_was_measured(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "tuning.db"
    command = ("tune", "tiny_mobilenet", "--trials", 24, "--database", file)
    Local.stops = 3
    stopped = invoke(*command)
    assert stopped.exit_code == 130
    assert "the same command goes on" in stopped.stderr
    with Database(file) as database:
        kept = len(list(database.records()))
    assert 0 < kept < 24
    assert invoke(*command).exit_code == 0
    with Database(file) as database:
        assert len(list(database.records())) == 24


def test_refusals_are_counted_in_the_log(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Local, jobs: Sequence[Job]) -> list[Outcome]:
        return [Outcome(j.decisions, "[]", "build", reason="[split-not-exact] no") for j in jobs]

    monkeypatch.setattr(Local, "run", refuse)
    log = tmp_path / "a.log"
    command = ("tune", "tiny_mobilenet", "--minutes", 1, "--database", tmp_path / "t.db")
    assert invoke(*command, "--log", log).exit_code == 0
    assert "split-not-exact" in log.read_text("utf-8").splitlines()[-1]


def test_a_search_needs_an_end(invoke: Invoke) -> None:
    result = invoke("tune", "tiny_mobilenet")
    assert result.exit_code == 2
    assert "--trials or --minutes" in result.stderr


def test_a_missing_database_is_named(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("optimize", "tiny_mobilenet", "--database", tmp_path / "none.db")
    assert result.exit_code == 1
    assert "none.db" in result.stderr


@pytest.mark.parametrize("option", ["--log", "--report"])
def test_a_file_that_cannot_be_written_is_named_before_the_search(
    invoke: Invoke, tmp_path: Path, option: str
) -> None:
    (tmp_path / "file").touch()
    database, inside = tmp_path / "t.db", tmp_path / "file" / "page"
    command = ("tune", "tiny_mobilenet", "--trials", 24, "--database", database)
    result = invoke(*command, option, inside)
    assert result.exit_code == 1
    assert f"{option} {inside} cannot be written: " in result.stderr
    assert not database.exists()


def test_a_search_for_no_number_of_minutes(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("tune", "tiny_mobilenet", "--minutes", "nan", "--database", tmp_path / "t.db")
    assert result.exit_code == 1
    assert "minutes=nan" in result.stderr
