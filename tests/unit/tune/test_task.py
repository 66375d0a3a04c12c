"""Tasks: equal workloads are one task."""

import pytest

from ago.errors import InputError
from ago.ir import define
from ago.target import resolve_target
from ago.tune.task import Task, distinct_tasks
from ago.tune.trial import Outcome

TARGET = resolve_target("x86-64-v3")


def task(rows: int, label: str) -> Task:
    program = define("C[i,j] += A[i,k] * B[k,j]", {"A": (rows, 8), "B": (8, 16)})
    return Task.of(program, TARGET, label)


def test_equal_workloads_are_one_task_with_the_sum_of_uses() -> None:
    tasks = distinct_tasks([task(4, "a"), task(6, "b"), task(4, "c")])
    assert [(t.label, t.uses) for t in tasks] == [("a", 2), ("b", 1)]


def test_an_outcome_has_a_time_only_if_it_ran() -> None:
    with pytest.raises(InputError, match="seconds"):
        Outcome({}, "[]", "crash", 1.0)
    with pytest.raises(InputError, match="seconds"):
        Outcome({}, "[]", "ok")


def test_an_outcome_is_a_record_of_its_task() -> None:
    measured = Outcome({"c/tile": (4, 2)}, "[]", "ok", 2e-6, 0.01)
    record = measured.record(task(4, "a"), "board")
    assert (record.key, record.seconds, record.host) == (task(4, "x").key, 2e-6, "board")
