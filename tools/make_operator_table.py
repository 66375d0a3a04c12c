"""Writes docs/operators.md: how AGO does on ONNX's own tests of its operators.

Run it when an operator has changed: `python tools/make_operator_table.py`. With `--only PATTERN` it
runs the tests whose names contain the pattern, prints what becomes of them, and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from ago.target import resolve_target
from tests.support.onnx_backend import BackendCase, Outcome, backend_cases, run_backend

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "operators.md"
RECORD = ROOT / "tests" / "onnx_backend" / "outcomes.txt"

_HEAD = """\
# Operators

How AGO does on ONNX's own tests of its operators: those for inference on dense tensors with float32
among inputs or outputs, without control flow over data. Each test is compiled to C and run. A test
passes if shapes and element types are right and every element is within 1e-3 of its value plus 2e-5
of the largest; what AGO cannot compile exactly it refuses, with the reason.

This page is made by `tools/make_operator_table.py`. Operators that are not listed are refused by
name, or read by ONNX's definition of them in terms of others.
"""


def record(outcomes: Mapping[str, Outcome]) -> str:
    """A line for each test: its name, and the reason where it does not pass."""
    lines = [
        name if outcome.kind == "passes" else f"{name} {outcome.kind}: {outcome.reason}"
        for name, outcome in outcomes.items()
    ]
    return "\n".join(lines) + "\n"


def read_record(text: str) -> dict[str, Outcome]:
    """The outcomes that `record` wrote."""
    outcomes = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        kind, _, reason = rest.partition(": ")
        outcomes[name] = Outcome(kind or "passes", reason)
    return outcomes


def page(outcomes: Mapping[str, Outcome], operators: Mapping[str, str]) -> str:
    """The page, as Markdown.

    Args:
        outcomes: What became of each test, by name.
        operators: The operator of each test, by name.
    """
    counts = Counter(outcome.kind for outcome in outcomes.values())
    share = 100 * counts["passes"] / len(outcomes)
    summary = f"{counts['passes']} of {len(outcomes)} pass ({share:.1f} %), "
    summary += f"{counts['refused']} are refused, {counts['wrong'] + counts['broken']} are wrong."
    rows = ["| operator | tests | pass | otherwise |", "|---|---|---|---|"]
    for operator in sorted(set(operators.values())):
        own = {name: outcomes[name] for name, op in operators.items() if op == operator}
        passing = sum(outcome.kind == "passes" for outcome in own.values())
        rows.append(f"| {operator} | {len(own)} | {passing} | {_otherwise(own)} |")
    return "\n".join([_HEAD, summary, "", *rows]) + "\n"


def _otherwise(outcomes: Mapping[str, Outcome]) -> str:
    """Why tests of an operator do not pass, each reason once."""
    reasons = Counter(
        f"{outcome.kind}: {outcome.reason}"
        for outcome in outcomes.values()
        if outcome.kind != "passes"
    )
    texts = (f"{reason} ({count})" if count > 1 else reason for reason, count in reasons.items())
    return "; ".join(texts).replace("|", "\\|").replace("\n", " ")


def operators_of(cases: Sequence[BackendCase]) -> dict[str, str]:
    """The operator of each test, by the test's name."""
    return {case.name: case.op for case in cases}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests and write page and record, or print what becomes of some.

    Args:
        arguments: Those of the command line.

    Returns:
        1 if a test is wrong.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="only tests with this in their names; write nothing")
    parser.add_argument("--target", default="host", help="what to compile for")
    options = parser.parse_args(arguments)
    cases = [case for case in backend_cases() if (options.only or "") in case.name]
    outcomes = run_backend(cases, resolve_target(options.target))
    if options.only is None:
        RECORD.write_text(record(outcomes), encoding="utf-8")
        PAGE.write_text(page(outcomes, operators_of(cases)), encoding="utf-8")
    else:
        print(record(outcomes), end="")
    print(dict(Counter(outcome.kind for outcome in outcomes.values())))
    return int(any(outcome.kind in ("wrong", "broken") for outcome in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
