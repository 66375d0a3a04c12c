"""Every operator on odd sizes, compiled and compared with the float64 reference."""

import pytest

from tests.support.cases import failures
from tests.support.compiled import HOST_TARGETS
from tests.support.operator_cases import TABLES

VECTOR_TARGETS = [name for name in HOST_TARGETS if name != "portable"]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("target", VECTOR_TARGETS)
def test_operators_with_vectors(target, table):
    assert failures(TABLES[table], target) == []


def test_operators_in_portable_c():
    cases = [case for table in TABLES.values() for case in table[::5]]
    assert failures(cases, "portable") == []


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_all_operators_in_portable_c(table):
    assert failures(TABLES[table], "portable") == []
