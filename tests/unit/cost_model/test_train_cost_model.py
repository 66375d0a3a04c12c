"""The tool that trains the ranker that ships: what it reads of records, its report."""

import importlib.util
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

from ago.autoschedule.space import Space
from ago.cost_model.model import AnalyticModel
from ago.ir import define
from ago.target import TARGETS
from ago.tune.record import Record
from ago.tune.task import Task

PATH = Path(__file__).parents[3] / "tools" / "train_cost_model.py"
TARGET = TARGETS["x86-64-v3"]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("train_cost_model", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def tasks() -> list[Task]:
    """Matrix products of several shapes."""
    found = []
    for rows in (24, 36, 49, 64, 96):
        shapes = {"A": (rows, 32), "B": (32, 48)}
        program = define("C[i,j] += A[i,k] * B[k,j]", shapes)
        found.append(Task.of(program, TARGET, f"{rows} rows"))
    return found


def records(task: Task, count: int) -> list[Record]:
    """Distinct schedules whose time is what the analytic model thinks, the first of them twice."""
    space, rng = Space(task.program, TARGET), Random(0)
    drawn = {str(c): c for c in (space.random(rng) for _ in range(count))}
    scores = AnalyticModel().predict(space.features(list(drawn.values())))
    made = [
        Record(task.key, decisions, "[]", "ok", float(2.0**score))
        for decisions, score in zip(drawn.values(), scores, strict=True)
    ]
    first = Record(task.key, made[0].decisions, "[]", "ok", (made[0].seconds or 0.0) * 1.05)
    return [*made, first]


def test_records_are_read_by_task_with_repeated_times(tool, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    known = tasks()
    lines = [r.to_json() for task in known[:2] for r in records(task, 40)]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = tool.load(known, path)
    assert [m.task.label for m in found] == ["24 rows", "36 rows"]
    for measured in found:
        assert len(measured.seconds) == len(measured.features) >= tool.FEWEST
        assert measured.again.shape == (1, 2)
        assert measured.again[0, 1] == pytest.approx(1.05 * measured.again[0, 0])


def test_the_report_tells_rankers_from_chance(tool, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    known = tasks()
    path.write_text("\n".join(r.to_json() for t in known for r in records(t, 40)), "utf-8")
    found = tool.load(known, path)
    quality = tool.evaluate(found, 0)
    assert quality["analytic"].spearman > 0.99
    assert quality["trained on other tasks"].spearman > 0.5
    assert quality["random order"].top1 > 3 * quality["trained on other tasks"].top1
    text = tool.report(found, 0)
    assert text.startswith("5 tasks")
    assert text.count("\n| ") == 1 + len(tool.CASES)
    assert np.isfinite([q.top5 for q in quality.values()]).all()
