"""The page and the plots about a session."""

import math
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import ago.plots
from ago.cost_model.model import AnalyticModel
from ago.errors import InputError
from ago.ir import define
from ago.target import resolve_target
from ago.tune.charts import Series, chart
from ago.tune.database import Database
from ago.tune.progress import Budget, Progress, Result
from ago.tune.report import write_report
from ago.tune.session import Settings, tune
from ago.tune.task import Task
from ago.tune.trial import Job
from tests.support.tuning import FakeRunner, made_up_seconds

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tuning") / "tuning.db"


@pytest.fixture(scope="module")
def session(database: Path) -> tuple[Result, list[Progress]]:
    program = define("C[i,j] += A[i,k] * B[k,j]", {"A": (28, 24), "B": (24, 40)})
    task = Task.of(program, resolve_target("x86-64-v3"), "a <product>")
    calls = [0]

    def fragile(job: Job) -> float | None:
        calls[0] += 1
        return None if calls[0] == 5 else made_up_seconds(job)

    course: list[Progress] = []
    with Database(database) as opened:
        settings = Settings(model=AnalyticModel())
        result = tune(
            [task], FakeRunner(fragile), opened, Budget(trials=25), settings, course.append
        )
    return result, course


def test_the_page_holds_what_was_found(
    session: tuple[Result, list[Progress]], tmp_path: Path
) -> None:
    result, course = session
    write_report(tmp_path / "new" / "page.html", "net & co", result, course)
    page = (tmp_path / "new" / "page.html").read_text("utf-8")
    assert "Tuning of net &amp; co" in page
    assert "a &lt;product&gt;" in page
    assert "a <product>" not in page
    assert page.count("<svg") == 3
    assert "<td>crash</td><td class=n>1</td>" in page
    (task,) = result.tasks
    assert all(f"{key} " in page for key in task.changes)


def test_each_candidate_that_ran_has_a_prediction(
    session: tuple[Result, list[Progress]],
) -> None:
    result, _ = session
    assert len(result.predictions) == 25 - 1 - 1  # neither the default nor the one that failed
    assert {0.0, 1.0} <= {p.rank for p in result.predictions}
    assert all(p.ratio > 0.0 for p in result.predictions)


def test_a_chart_is_svg_with_its_points_inside() -> None:
    points = [(1.0, 5.0), (2.0, math.nan), (3.0, 2.0), (4.0, 2.0)]
    drawn = ET.fromstring(
        chart("t", "x", "y", [Series(points, label="<l>"), Series(points, "steps")])
    )
    dots = drawn.findall(f"{SVG}circle")
    assert len(dots) == 3
    width, height = float(drawn.get("width", "")), float(drawn.get("height", ""))
    for dot in dots:
        assert 0.0 < float(dot.get("cx", "")) < width
        assert 0.0 < float(dot.get("cy", "")) < height
    assert float(dots[0].get("cy", "")) < float(dots[1].get("cy", ""))
    assert len(drawn.findall(f"{SVG}path")) == 1


@pytest.mark.parametrize("points", [[], [(1.0, 2.0)], [(0.0, 0.0), (5.0, 0.0)]])
def test_charts_of_few_points_can_be_drawn(points: list[tuple[float, float]]) -> None:
    drawn = ET.fromstring(chart("t", "x", "y", [Series(points, "steps"), Series(points)]))
    assert len(drawn.findall(f"{SVG}circle")) == len(points)


def test_plots_show_each_task(session: tuple[Result, list[Progress]], database: Path) -> None:
    pytest.importorskip("matplotlib")
    result, _ = session
    (task,) = result.tasks
    (curve,) = ago.plots.tuning_curves(database).axes[0].lines
    heights = list(curve.get_ydata())
    assert heights == sorted(heights, reverse=True)
    assert len(heights) == 25
    dots, _ = ago.plots.trial_times(database, task.task.key.workload[:6]).axes[0].lines
    assert len(dots.get_xdata()) == 24
    with pytest.raises(InputError, match="no measured task"):
        ago.plots.trial_times(database, "zz")
    with pytest.raises(InputError, match=r"none\.db"):
        ago.plots.tuning_curves(database.with_name("none.db"))
