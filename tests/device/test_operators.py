"""Compiled operators on AArch64, emulated, and AVX-512 code where no CPU here may run it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ago.runtime.build import build, library_suffix
from ago.target import TARGETS, runs_on_host
from tests.support.cases import compile_cases, failures
from tests.support.extern_cases import EXTERN_TABLES
from tests.support.graph_cases import GRAPH_CASES
from tests.support.operator_cases import TABLES

EXTERNS = [case for table in EXTERN_TABLES.values() for case in table]

FEW = [case for table in TABLES.values() for case in table[::7]]
"""Some cases of every kind of operator."""


def test_some_operators_of_every_kind():
    assert failures(FEW, "cortex-a76") == []


def test_some_externs():
    assert failures(EXTERNS[::11], "cortex-a76") == []


def test_graphs_of_several_nodes():
    assert failures(GRAPH_CASES[::4], "cortex-a76") == []


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cortex-a53", "cortex-a76"])
@pytest.mark.parametrize("table", TABLES)
def test_all_operators(target, table):
    assert failures(TABLES[table], target) == []


def test_avx512_code_compiles(tmp_path: Path):
    artifact, _ = compile_cases(FEW[::2], "x86-64-v4")
    path = build(artifact, "shared", tmp_path / f"cases{library_suffix()}")
    assert path.stat().st_size > 0
    assert "_mm512_fmadd_ps" in "".join(artifact.sources.values())


@pytest.mark.skipif(not runs_on_host(TARGETS["x86-64-v4"]), reason="this CPU has no AVX-512")
@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_all_operators_with_avx512(table):
    assert failures(TABLES[table], "x86-64-v4") == []
