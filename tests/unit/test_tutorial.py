"""The tutorial: every cell runs, prints what the page shows, and the notebook is the page."""

import re

import pytest

from tools.make_tutorial import NOTEBOOK, PAGE, cells, notebook, run, with_outputs

PAGE_TEXT = PAGE.read_text(encoding="utf-8")
CELLS = cells(PAGE_TEXT)


@pytest.fixture(scope="module")
def outputs() -> list[str]:
    return run(CELLS)


def shape_of(measured: str) -> str:
    """A measured output without its numbers."""
    return re.sub(r"[\d.]+(e[+-]?\d+)?", "0", measured)


@pytest.mark.parametrize("number", range(len(CELLS)))
def test_a_cell_prints_what_the_page_shows(number: int, outputs: list[str]) -> None:
    cell, printed = CELLS[number], outputs[number]
    if cell.is_measured:
        assert printed
        assert shape_of(printed) == shape_of(cell.output)
    else:
        assert printed == cell.output


def test_every_result_that_is_compared_is_right() -> None:
    assert PAGE_TEXT.count("\nTrue\n") >= 6
    assert "\nFalse\n" not in PAGE_TEXT


def test_the_page_has_seven_steps_with_a_speed_each() -> None:
    steps = re.split(r"^## Step ", PAGE_TEXT, flags=re.MULTILINE)[1:]
    assert len(steps) == 7
    assert all("of the FMA peak\n" in step for step in steps)


def test_the_notebook_is_made_from_the_page() -> None:
    assert NOTEBOOK.read_text(encoding="utf-8") == notebook(PAGE_TEXT)


def test_outputs_stand_behind_their_cells() -> None:
    page = "a\n\n```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\n```text\nold\n```\n\nb\n"
    parts = cells(page)
    assert [(c.code, c.output) for c in parts] == [("x = 1\n", ""), ("print(x)\n", "old\n")]
    assert run(parts) == ["", "1\n"]
    assert with_outputs(page, run(parts)) == page.replace("old", "1")
