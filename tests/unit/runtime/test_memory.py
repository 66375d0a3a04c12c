"""The report of a model's memory: complete, consistent, and readable in three forms."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

import ago
from ago.errors import DeviceError
from ago.models import tiny_mobilenet
from ago.runtime.memory import MemoryReport, WorkspaceFigures
from ago.runtime.symbols import function_sizes


@pytest.fixture(scope="module")
def net() -> object:
    return ago.optimize(tiny_mobilenet())


@pytest.fixture(scope="module")
def report(net) -> MemoryReport:
    return net.memory()


def test_the_steps_add_up_to_the_model(net, report):
    steps = report.figures.steps
    assert [step.label for step in steps] == list(net.artifact.steps)
    assert sum(step.weights for step in steps) == len(net.artifact.weights)
    assert report.weights == len(net.artifact.weights_image)
    assert report.figures.workspace.planned == net.artifact.workspace_bytes
    assert max(step.live for step in steps) == report.figures.workspace.lower_bound
    assert all(step.scratch <= step.live for step in steps)
    assert report.peak == net.artifact.workspace_bytes + 3 * 32 * 32 * 4 + 40


def test_no_order_needs_less_and_fusion_saves(report):
    figures = report.figures
    for plan in (figures.workspace, figures.model_order, figures.unfused):
        assert plan.lower_bound <= plan.planned <= plan.by_size
    assert figures.workspace.lower_bound <= figures.model_order.lower_bound
    assert figures.workspace.planned < figures.unfused.planned


def test_code_is_that_of_the_object_files(net, report):
    if report.code is None:
        pytest.skip("no compiler that makes ELF files")
    named = [report.step_code(step) for step in report.figures.steps]
    assert all(size > 100 for size in named)
    assert {f"{net.artifact.name}_run", "ago_init"} <= report.code.keys()
    assert report.code_bytes > sum(named)
    assert report.code_bytes == net.memory().code_bytes


def test_json_is_complete(report):
    data = json.loads(json.dumps(report.to_dict()))
    assert data["workspace"]["planned"] == report.figures.workspace.planned
    assert data["peak"] == report.peak
    assert [step["live"] for step in data["steps"]] == [s.live for s in report.figures.steps]


def test_text_and_page_show_each_step(report):
    page = report.to_html()
    parser = HTMLParser()
    parser.feed(page)
    parser.close()
    assert page.count('class="bar"') == len(report.figures.steps)
    for step in report.figures.steps:
        assert f"{step.live:,}" in str(report)
        assert f"{step.live:,}" in page
    assert "% above the lower bound" in str(report)


def test_a_plan_above_its_bound():
    assert WorkspaceFigures(103, 100, 110).excess == pytest.approx(0.03)
    assert WorkspaceFigures(0, 0, 0).excess == 0.0


@pytest.mark.parametrize("data", [b"", b"MZ", b"\x7fELF\x02\x01\x01", b"\x7fELF\x02\x01\x01" * 20])
def test_what_is_no_object_file_is_refused(data):
    with pytest.raises(DeviceError, match="ELF"):
        function_sizes(data)
