"""Writes docs/primitives.md: the reference of all schedule primitives, from their docstrings.

Run it after a docstring has changed: `python tools/make_primitive_reference.py`. With `--check` it
writes nothing, and fails where the page is out of date.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ago.ir.program import Program
from ago.schedule.refusals import REFUSALS
from ago.schedule.trace import PRIMITIVES

PAGE = Path(__file__).parents[1] / "docs" / "primitives.md"

_SECTION = re.compile(r"^(Requires|Args|Returns|Raises|Example):$", re.MULTILINE)
_ARGUMENT = re.compile(r"^(\w+): ", re.MULTILINE)
_HEAD = """\
# Schedule primitives

Each primitive is a function of a program and some arguments. It returns a new program that computes
the same, or raises `ScheduleError` with a code and leaves everything as it was. Loops, stages and
buffers are named by strings. The codes are explained [below](#refusals).

This page is made from the docstrings by `tools/make_primitive_reference.py`.
"""


def reference() -> str:
    """The whole page, as Markdown."""
    rows = [
        f"| [`{name}`](#{name}) | {_summary(primitive)} |" for name, primitive in PRIMITIVES.items()
    ]
    table = "\n".join(["| primitive | what it does |", "|---|---|", *rows])
    parts = [_HEAD, table, *(_entry(*item) for item in PRIMITIVES.items()), _refusals()]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _doc(primitive: Callable[..., Program]) -> str:
    return inspect.getdoc(primitive) or ""


def _summary(primitive: Callable[..., Program]) -> str:
    return _doc(primitive).split("\n\n", 1)[0].replace("\n", " ")


def _entry(name: str, primitive: Callable[..., Program]) -> str:
    """One primitive: signature, summary, and the sections of its docstring."""
    intro, sections = _sections(_doc(primitive))
    parts = [f"## {name}", f"```py\n{name}{_signature(primitive)}\n```", _blocks(intro)]
    for title, text in sections.items():
        if title == "Requires":
            parts.append(f"**Requires**\n\n{text}")
        elif title == "Args":
            parts.append(f"**Arguments**\n\n{_arguments(text)}")
        elif title == "Example":
            parts.append(f"**Example**\n\n```pycon\n{text}\n```")
        elif title == "Returns":
            parts.append(f"**Returns** {_flat(text)}")
    return "\n\n".join(parts)


def _signature(primitive: Callable[..., Program]) -> str:
    """The parameters and the result, as in the source."""
    parameters = []
    for parameter in inspect.signature(primitive).parameters.values():
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        parameters.append(f"{parameter.name}: {parameter.annotation}{default}")
    return f"({', '.join(parameters)}) -> Program"


def _sections(doc: str) -> tuple[str, Mapping[str, str]]:
    """What stands in front of the first section, and each section's text by title."""
    intro, *rest = _SECTION.split(doc)
    texts = [textwrap.dedent(text.strip("\n")).rstrip() for text in rest[1::2]]
    return intro.rstrip(), dict(zip(rest[::2], texts, strict=True))


def _blocks(text: str) -> str:
    """Text in which `::` opens an indented block, and a table of `=` rules is one, too."""
    lines: list[str] = []
    for block in re.split(r"\n\n+", text):
        if lines and lines[-1].endswith("::"):
            lines[-1] = lines[-1].removesuffix(":")
            lines.append(f"```text\n{textwrap.dedent(block)}\n```")
        elif block.startswith("==="):
            lines.append(f"```text\n{block}\n```")
        else:
            lines.append(block)
    return "\n\n".join(lines)


def _arguments(text: str) -> str:
    """The arguments but the program, as a list."""
    parts = _ARGUMENT.split(text)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return "\n".join(f"* `{name}`: {_flat(what)}" for name, what in pairs if name != "program")


def _flat(text: str) -> str:
    return " ".join(text.split())


def _refusals() -> str:
    rows = [f"| `{code}` | {rule} |" for code, rule in sorted(REFUSALS.items())]
    return "\n".join(["## Refusals", "", "| code | rule |", "|---|---|", *rows])


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or check it.

    Args:
        arguments: Those of the command line.

    Returns:
        1 if `--check` found the page out of date.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    if not parser.parse_args(arguments).check:
        PAGE.write_text(reference(), encoding="utf-8")
        return 0
    current = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if current == reference():
        return 0
    print(f"{PAGE} is out of date: run python {Path(__file__).name}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
