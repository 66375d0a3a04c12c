"""ONNX's own tests of its operators: what passes stays passing, and the page says so.

In parts, so that they can run side by side; every other one with this machine's intrinsics, whose
headers take a compiler most of its time.
"""

import pytest

from ago.target import resolve_target
from tests.support.onnx_backend import SCOPE, backend_cases, run_backend
from tools.make_operator_table import PAGE, RECORD, operators_of, page, read_record, record

PARTS = 4
NAMES = SCOPE.read_text(encoding="utf-8").split()


@pytest.mark.parametrize("part", range(PARTS))
def test_outcomes_are_as_recorded(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGO_CFLAGS", "-O0")
    target = resolve_target("portable" if part % 2 else "host")
    wanted = read_record(RECORD.read_text(encoding="utf-8"))
    found = run_backend(backend_cases()[part::PARTS], target)
    changed = {name: outcome for name, outcome in found.items() if outcome != wanted[name]}
    assert changed == {}, "run python tools/make_operator_table.py"


def test_nothing_is_wrong_and_hardly_anything_refused() -> None:
    outcomes = read_record(RECORD.read_text(encoding="utf-8"))
    assert list(outcomes) == NAMES
    assert {outcome.kind for outcome in outcomes.values()} <= {"passes", "refused"}
    assert sum(outcome.kind == "passes" for outcome in outcomes.values()) >= 0.98 * len(NAMES)


def test_the_page_shows_the_record() -> None:
    text = RECORD.read_text(encoding="utf-8")
    outcomes = read_record(text)
    assert record(outcomes) == text
    assert PAGE.read_text(encoding="utf-8") == page(outcomes, operators_of(backend_cases()))
