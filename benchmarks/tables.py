"""Tables in Markdown, the file they are collected in, and the core that measurements run on."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

RESULTS = Path(__file__).parent / "RESULTS.md"
"""Where `python -m benchmarks` leaves its tables."""


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; cells that start with a digit stand to the right.

    Args:
        header: Titles of the columns.
        rows: Their cells.

    Returns:
        Its lines, each with a newline.
    """
    numeric = [
        bool(rows) and all(re.match(r"-?\d|$", row[column]) for row in rows)
        for column in range(len(header))
    ]
    widths = [max(len(line[c]) for line in [header, *rows]) for c in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numeric, strict=True)
        ]
        return f"| {' | '.join(padded)} |\n"

    rule = [
        f"{'-' * (width - 1)}{':' if right else '-'}"
        for width, right in zip(widths, numeric, strict=True)
    ]
    return line(header) + line(rule) + "".join(line(row) for row in rows)


def pin(core: int) -> None:
    """Keep this process on one CPU, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def replace_section(text: str, title: str, section: str) -> str:
    """`text` with the section under `## title` replaced, or added at the end.

    Args:
        text: What the file of results holds; may be empty.
        title: The section's title.
        section: What stands under it.
    """
    found = re.search(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    new = f"## {title}\n\n{section.strip()}\n"
    if found is None:
        return f"{text.rstrip()}\n\n{new}" if text.strip() else f"# Results\n\n{new}"
    tail = text[found.end() :]
    return text[: found.start()] + new + (f"\n{tail}" if tail else "")
