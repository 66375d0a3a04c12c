"""SPLIT and JOIN: parts with one complex operator each, whose decisions are the whole's."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ago
from ago.autoschedule.space import Space
from ago.fuse.pieces import find_pieces
from ago.fuse.rank import is_complex
from ago.ir import define
from ago.ir.graph import Graph
from ago.ir.interpreter import interpret
from ago.ir.verify import verify
from ago.options import Options
from ago.pipeline import find_tasks
from ago.schedule.trace import Schedule
from ago.target import resolve_target
from ago.tune.database import Database
from ago.tune.progress import Budget
from ago.tune.reformer import join_parts, split_task
from ago.tune.session import Settings, tune
from ago.tune.task import Task
from tests.support.tuning import FakeRunner

OPTIONS = Options(resolve_target("x86-64-v3"))


def inverted_residual() -> Graph:
    b = ago.GraphBuilder("block")
    x = b.input("x", (1, 8, 14, 14))
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray:
        return rng.integers(-2, 3, shape).astype(np.float32)

    y = b.relu(b.conv(x, weights(24, 8, 1, 1)))
    y = b.relu(b.conv(y, weights(24, 1, 3, 3), pads=(1, 1, 1, 1), group=24))
    return b.build(b.add(b.conv(y, weights(8, 24, 1, 1)), x))


@pytest.fixture(scope="module")
def task() -> Task:
    (found,) = find_tasks(inverted_residual(), OPTIONS)
    return found


@pytest.fixture(scope="module")
def parts(task: Task) -> tuple[Task, ...]:
    return split_task(task)


def complex_operators(task: Task) -> int:
    schedule = Schedule(task.program)
    return sum(is_complex(schedule.program, piece) for piece in find_pieces(schedule))


def test_each_part_has_one_complex_operator(task: Task, parts: tuple[Task, ...]) -> None:
    assert complex_operators(task) == 3
    assert [complex_operators(part) for part in parts] == [1, 1, 1]
    for part in parts:
        verify(part.program)


def test_each_stage_is_in_one_part(task: Task, parts: tuple[Task, ...]) -> None:
    stages = [stage.name for part in parts for stage in part.program.stages]
    assert sorted(stages) == sorted(stage.name for stage in task.program.stages)


def test_the_parts_one_after_the_other_are_the_whole(task: Task, parts: tuple[Task, ...]) -> None:
    rng = np.random.default_rng(1)
    read_only = [b for b in task.program.buffers if b.scope in ("input", "constant")]
    given = {b.name: rng.integers(-2, 3, b.shape).astype(np.float32) for b in read_only}
    expected = interpret(task.program, given)
    known = dict(given)
    for part in parts:
        names = [b.name for b in part.program.buffers if b.scope in ("input", "constant")]
        known |= interpret(part.program, {name: known[name] for name in names})
    for name, array in expected.items():
        np.testing.assert_array_equal(known[name], array)


def test_joined_decisions_are_decisions_of_the_whole(task: Task, parts: tuple[Task, ...]) -> None:
    space = Space(task.program, task.target)
    found = []
    for part in parts:
        default = Space(part.program, part.target).default()
        found.append({key: value for key, value in default.items() if key.endswith("/tile")})
    for joined in join_parts(space.plans, found):
        settled = space.settle(joined)
        assert settled["fusion"] == joined["fusion"]
        assert settled.keys() >= joined.keys()


def test_one_complex_operator_is_not_divided() -> None:
    program = define("C[i,j] += A[i,k] * B[k,j]", {"A": (8, 8), "B": (8, 16)})
    assert split_task(Task.of(program, OPTIONS.target, "product")) == ()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "tuning.db") as opened:
        yield opened


def test_parts_get_their_share_and_the_whole_goes_on_with_what_they_found(
    task: Task, parts: tuple[Task, ...], database: Database
) -> None:
    result = tune([task], FakeRunner(), database, Budget(trials=33), Settings(batch=8))
    (whole,) = result.tasks
    assert result.trials == 33
    assert {part.task.key for part in result.parts} == {part.key for part in parts}
    assert len(whole.records) == 33 - 8
    best: dict[str, object] = {}
    for part in result.parts:
        fastest = min(part.records, key=lambda record: record.seconds or 1.0)
        best |= {k: v for k, v in fastest.decisions.items() if k != "fusion"}
    joined = whole.records[17].decisions  # behind the default and two batches
    assert {key: joined[key] for key in best if key in joined} == best


def test_without_the_reformer_there_are_no_parts(task: Task, database: Database) -> None:
    result = tune([task], FakeRunner(), database, Budget(trials=17), Settings(reformer=False))
    assert result.parts == ()
    assert len(result.tasks[0].records) == 17
