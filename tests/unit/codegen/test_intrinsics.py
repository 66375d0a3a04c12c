"""Every row of every table, compiled and run, does what its numpy semantics say."""

import itertools
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ago.codegen.intrinsics import ARITHMETIC, MASKS, Intrinsics, Row
from ago.ir.functions import FUNCTIONS
from ago.runtime.artifact import Artifact, TensorInfo
from ago.runtime.build import build, library_suffix
from ago.target import TARGETS
from tests.support.compiled import HOST_TARGETS, TABLES, body_artifact, call

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-45, 3.4e38, -1.5, 2.0, 0.1875, -7.0]
"""NaN, infinities, zeros, denormals, the largest, and numbers of few bits."""

RUNNABLE = sorted({*HOST_TARGETS, "cortex-a76"})


def operand_arrays(lanes: int) -> dict[str, np.ndarray]:
    """Every pair of special values, and a third operand that is finite."""
    pairs = np.array(list(itertools.product(SPECIAL, SPECIAL)), np.float32)
    third = np.resize(np.array([0.5, -3.0, 1e-40, 4.0, 0.0], np.float32), len(pairs))
    assert len(pairs) % lanes == 0
    return {"a": pairs[:, 0].copy(), "b": pairs[:, 1].copy(), "c": third}


def statement(row: Row, number: int, table: Intrinsics) -> str:
    """C that computes chunk `i` of output `number`."""
    width = 1 if row.name.startswith("scalar.") else table.lanes
    out = f"out{number} + {width} * i"
    if row.name.startswith("store"):
        fill = table.rows["store"].c(out, table.rows["load"].c(f"b + {width} * i"))
        return f"{fill}; {row.c(out, table.rows['load'].c(f'a + {width} * i'))};"
    scalars = iter(range(table.lanes))
    values = []
    for letter, array in zip(row.operands, itertools.cycle("abc"), strict=False):
        if letter == "p":
            values.append(f"a + {width} * i")
        elif letter == "m":
            values.append(mask_text(table, array, f"{width} * i"))
        elif letter == "v":
            values.append(table.rows["load"].c(f"{array} + {width} * i"))
        elif width == 1:
            values.append(f"{array}[i]")
        else:
            values.append(f"a[{width} * i + {next(scalars)}]")
    result = row.c(*values)
    if row.makes_mask:
        one, zero = (table.rows["splat"].c(number) for number in ("1.0f", "0.0f"))
        result = table.rows["where"].c(result, one, zero)
    return f"({out})[0] = {result};" if width == 1 else f"{table.rows['store'].c(out, result)};"


def mask_text(table: Intrinsics, array: str, at: str) -> str:
    """C of the mask that an operand array stands for: where its elements are less than 1."""
    one = table.rows["splat"].c("1.0f")
    return table.rows["less"].c(table.rows["load"].c(f"{array} + {at}"), one)


def expected(row: Row, arrays: dict[str, np.ndarray], lanes: int) -> np.ndarray:
    if row.name.startswith("scalar."):
        used = [arrays[array] for array in "abc"[: len(row.operands)]]
        return row.semantics(*used)
    chunks = []
    for start in range(0, len(arrays["a"]), lanes):
        a, b, c = (arrays[array][start : start + lanes] for array in "abc")
        if row.name.startswith("store"):
            chunks.append(row.semantics(b, a))
        elif set(row.operands) == {"s"}:
            chunks.append(row.semantics(*(a[k : k + 1] for k in range(len(row.operands)))))
        else:
            given = zip(row.operands, (a, b, c), strict=False)
            chunks.append(row.semantics(*(x < 1 if letter == "m" else x for letter, x in given)))
    return np.concatenate(chunks)


def all_rows(table: Intrinsics) -> list[Row]:
    scalar = [replace(row, name=f"scalar.{row.name}") for row in table.scalar.values()]
    return [*table.rows.values(), *scalar]


def make_artifact(target: str) -> Artifact:
    table = TABLES[target]
    rows = all_rows(table)
    size = len(SPECIAL) ** 2
    lines = ["    (void)a, (void)b, (void)c;"]
    for number, row in enumerate(rows):
        count = size if row.name.startswith("scalar.") else size // table.lanes
        lines.append(f"    for (int i = 0; i < {count}; ++i) {{ {statement(row, number, table)} }}")
    inputs = [TensorInfo(name, (size,)) for name in "abc"]
    outputs = [TensorInfo(f"out{number}", (size,)) for number in range(len(rows))]
    return body_artifact("\n".join(lines), target, inputs, outputs)


@pytest.mark.parametrize("target", RUNNABLE)
def test_rows_compute_their_semantics(target):
    check_rows(target)


def check_rows(target: str) -> None:
    """Compile, run and compare every row of a target's table."""
    table = TABLES[target]
    arrays = operand_arrays(table.lanes)
    artifact = make_artifact(target)
    with tempfile.TemporaryDirectory() as directory:
        path = build(artifact, "shared", Path(directory) / f"m{library_suffix()}")
        results = call(artifact, path, list(arrays.values()))
    for row, result in zip(all_rows(table), results, strict=True):
        with np.errstate(all="ignore"):
            wanted = expected(row, arrays, table.lanes)
        if row.ulp:
            used = ~(arrays["a"] > row.most)
            unit = arrays["a"] if row.of_argument else wanted
            assert_within(row, result[used], wanted[used], unit[used])
        else:
            np.testing.assert_array_equal(result, wanted, err_msg=f"row {row.name}")


def assert_within(row: Row, result: np.ndarray, wanted: np.ndarray, unit: np.ndarray) -> None:
    """Close where finite, and otherwise, and in the sign of zero, equal; `wanted` is rounded."""
    name = row.name
    special = ~np.isfinite(wanted) | (wanted == 0)
    np.testing.assert_array_equal(result[special], wanted[special], err_msg=f"row {name}")
    signs = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(result[signs]), np.signbit(wanted[signs]), name)
    distance = np.abs(result[~special].astype(np.float64) - wanted[~special])
    assert np.all(distance <= (row.ulp + 0.5) * np.spacing(np.abs(unit[~special]))), name


def test_rows_compile_for_avx512():
    with tempfile.TemporaryDirectory() as directory:
        path = build(make_artifact("x86-64-v4"), "shared", Path(directory) / f"m{library_suffix()}")
        assert path.stat().st_size > 0


@pytest.mark.parametrize("target", sorted(TABLES))
def test_tables_are_complete(target):
    table = TABLES[target]
    assert table.isa == TARGETS[target].isa
    assert table.lanes == TARGETS[target].lanes
    assert set(ARITHMETIC) <= set(table.scalar) <= {*FUNCTIONS, "fma"}
    wanted: set[str] = set()
    if table.lanes > 1:
        wanted = {*ARITHMETIC, *MASKS, "load", "store", "broadcast", "splat", "set"}
        wanted |= {f"{kind}.{k}" for kind in ("load", "store") for k in range(1, table.lanes)}
    if table.lane_form:
        wanted |= {f"{kind}.{k}" for kind in ("lane", "fma_lane") for k in range(table.lanes)}
    assert wanted <= set(table.rows) <= {*wanted, *FUNCTIONS, "settle"}


def test_only_neon_departs_from_the_meaning_of_max_and_only_at_a_nan_first():
    a, b = operand_arrays(4)["a"], operand_arrays(4)["b"]
    for target, table in TABLES.items():
        if table.lanes == 1:
            continue
        for name, compare in (("max", np.greater), ("min", np.less)):
            wanted = np.where(compare(a, b), a, b)
            agrees = table.rows[name].semantics(a, b)
            plain = ~np.isnan(a) if target == "cortex-a76" else np.ones(len(a), bool)
            np.testing.assert_array_equal(agrees[plain], wanted[plain])
