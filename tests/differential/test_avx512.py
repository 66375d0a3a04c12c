"""What is printed for AVX-512, run on any x86-64 CPU with AVX2: its intrinsics come from SIMDe.

The code is the very C that an AVX-512 machine compiles; only `<immintrin.h>` is another one
(`tests/support/simde/immintrin.h`), and so each intrinsic is a loop over lanes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ago.errors import ToolchainError
from ago.runtime.toolchain import find_toolchain
from ago.target import TARGETS, runs_on_host
from tests.support import cases, compiled
from tests.support.graph_cases import GRAPH_CASES
from tests.support.operator_cases import TABLES
from tests.unit.codegen.test_intrinsics import check_rows
from tools.sweep_vector_math import PAIRS, REFERENCES, build, sweep, sweep_pairs

HEADERS = Path(compiled.__file__).parent / "simde"
TARGET = "x86-64-v4"
EVERY = 262_139
"""Of all float32 arguments one of so many is tried; a prime number."""


def why_not() -> str:
    """Why it cannot be tried here."""
    if not runs_on_host(TARGETS["x86-64-v3"]):
        return "needs an x86-64 CPU with AVX2"
    try:
        kind = find_toolchain().kind
    except ToolchainError as error:
        return str(error)
    if not Path("/usr/include/simde/x86/avx512.h").exists():
        return "needs SIMDe's headers: apt install libsimde-dev"
    return "" if kind == "clang" else "needs clang, which finds the system's headers"


pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "SIMDe is there")


@pytest.fixture(autouse=True)
def simde(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile what is for AVX-512 with SIMDe, and run it here."""
    monkeypatch.setenv("AGO_CFLAGS", f"-march=x86-64-v3 -O1 -Wno-psabi -I{HEADERS}")
    monkeypatch.setattr(compiled, "runs_on_host", lambda _: True)


def test_rows_compute_their_semantics():
    check_rows(TARGET)


def test_functions_stay_within_their_bounds(tmp_path):
    library = build("avx512", TARGET, tmp_path)
    found = {name: sweep(library, name, EVERY) for name in REFERENCES}
    found |= {name: sweep_pairs(library, name, 20_000) for name in PAIRS}
    bounds = {name: bound for name, (_, bound) in {**REFERENCES, **PAIRS}.items()}
    assert {n: worst for n, worst in found.items() if worst.ulp > bounds[n]} == {}


def test_operators_and_graphs():
    some = [case for table in TABLES.values() for case in table[::40]]
    assert cases.failures([*some, *GRAPH_CASES[::14]], TARGET) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_all_operators(name):
    assert cases.failures(TABLES[name], TARGET) == []


@pytest.mark.slow
def test_all_graphs_of_several_nodes():
    assert cases.failures(GRAPH_CASES, TARGET) == []
