"""Runs the tutorial's cells, writes what they print behind them, and makes the notebook.

    python -m tools.make_tutorial

A cell is a block of Python in `docs/tutorial.md`; the text block behind it is its output. Outputs
of cells that call `lab.measure` depend on the machine; their blocks say so.
"""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "tutorial.md"
NOTEBOOK = DOCS / "tutorial.ipynb"

_CELL = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text(?P<info>[^\n]*)\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
_MEASURED = ' title="on one core of an AMD EPYC, AVX2"'


@dataclass(frozen=True, slots=True)
class Cell:
    """A block of Python of the page.

    Attributes:
        code: What it holds.
        output: The text behind it; empty where there is none.
        start: Where the block begins in the page.
        end: Where it ends, output included.
    """

    code: str
    output: str
    start: int
    end: int

    @property
    def is_measured(self) -> bool:
        """Whether what it prints depends on the machine."""
        return "lab.measure(" in self.code


def cells(page: str) -> list[Cell]:
    """The cells of a page, in order."""
    return [
        Cell(match["code"], match["output"] or "", match.start(), match.end())
        for match in _CELL.finditer(page)
    ]


def run(parts: list[Cell]) -> list[str]:
    """What each cell prints, run one after another in one namespace."""
    names: dict[str, Any] = {"__name__": "tutorial"}
    printed = []
    for number, cell in enumerate(parts):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            exec(compile(cell.code, f"cell {number}", "exec"), names)
        printed.append(text.getvalue())
    return printed


def with_outputs(page: str, outputs: list[str]) -> str:
    """The page with these outputs behind its cells."""
    parts: list[str] = []
    end = 0
    for cell, output in zip(cells(page), outputs, strict=True):
        info = _MEASURED if cell.is_measured else ""
        behind = f"\n```text{info}\n{output}```\n" if output else ""
        parts += [page[end : cell.start], f"```python\n{cell.code}```\n{behind}"]
        end = cell.end
    return "".join([*parts, page[end:]])


def notebook(page: str) -> str:
    """The page as a Jupyter notebook, its outputs inside."""
    made = new_notebook(metadata={"language_info": {"name": "python"}})
    end = 0
    for cell in cells(page):
        prose = page[end : cell.start].strip()
        if prose:
            made.cells.append(new_markdown_cell(prose))
        outputs = [new_output("stream", name="stdout", text=cell.output)] if cell.output else []
        made.cells.append(new_code_cell(cell.code.strip(), outputs=outputs))
        end = cell.end
    made.cells.append(new_markdown_cell(page[end:].strip()))
    for number, cell in enumerate(made.cells):
        cell["id"] = f"cell-{number}"
    nbformat.validate(made)
    return nbformat.writes(made) + "\n"


def main() -> None:
    """Refresh page and notebook."""
    page = PAGE.read_text(encoding="utf-8")
    page = with_outputs(page, run(cells(page)))
    PAGE.write_text(page, encoding="utf-8")
    NOTEBOOK.write_text(notebook(page), encoding="utf-8")


if __name__ == "__main__":
    main()
