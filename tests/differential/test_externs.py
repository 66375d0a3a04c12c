"""Every extern on odd sizes, compiled and compared with the float64 reference."""

from __future__ import annotations

import pytest

from tests.support.cases import failures
from tests.support.compiled import HOST_TARGETS
from tests.support.extern_cases import EXTERN_TABLES

CASES = [case for table in EXTERN_TABLES.values() for case in table]


@pytest.mark.parametrize("table", EXTERN_TABLES)
def test_externs(table):
    assert failures(EXTERN_TABLES[table], HOST_TARGETS[-1]) == []


def test_externs_in_portable_c():
    assert failures(CASES[::7], "portable") == []
