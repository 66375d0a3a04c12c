"""Each condition of the tables, switched off, makes the test that covers it fail."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

from ago.errors import IRError, ScheduleError
from ago.ir.verify import LAWS, verify
from ago.schedule.refusals import REFUSALS
from tests.support.broken_programs import BROKEN_AND_KEPT
from tests.support.disabled import Switch
from tests.unit.schedule.test_refusals import ALL


@pytest.fixture(scope="module")
def switch() -> Iterator[Switch]:
    with Switch("ago.schedule", "ago.ir.verify", "ago.ir.statement_laws").installed() as installed:
        yield installed


def refused_with(attempt, code: str, kind: type[ScheduleError | IRError] = ScheduleError) -> bool:
    """Whether what the test of a refusal asserts still holds."""
    try:
        attempt()
    except kind as error:
        return error.code == code
    except Exception:  # without its guard the code may fail in any way
        return False
    return False


@pytest.mark.parametrize("code", sorted(REFUSALS))
def test_each_condition_of_a_primitive(switch: Switch, code: str) -> None:
    attempts = [case.refused for case in ALL if case.code == code]
    assert all(refused_with(attempt, code) for attempt in attempts)
    with switch.without(code):
        assert not any(refused_with(attempt, code) for attempt in attempts)


@pytest.mark.parametrize("law", sorted(LAWS))
def test_each_law(switch: Switch, law: str) -> None:
    check = inspect.unwrap(verify)  # which keeps no program that passed
    programs = [broken for code, _, broken, _ in BROKEN_AND_KEPT if code == law]
    assert all(refused_with(lambda p=p: check(p), law, IRError) for p in programs)
    with switch.without(law):
        assert not any(refused_with(lambda p=p: check(p), law, IRError) for p in programs)
