"""C text of indices and literals, compiled where it matters."""

import math
import random
import tempfile
from pathlib import Path

import numpy as np
import pytest

from ago.codegen.ctext import HELPERS, Names, float_literal, index_text, used_helpers
from ago.ir.index import Index, evaluate, maximum, minimum, var
from ago.runtime.artifact import TensorInfo
from ago.runtime.build import build, library_suffix
from tests.support.compiled import body_artifact, call

RANGES = {"a": (-9, 9), "b": (0, 6), "c.0": (-3, 2)}
NAMES = {"a": "a", "b": "b", "c.0": "c_0"}


def random_index(source: random.Random, depth: int) -> Index:
    """An index with nested min, max, // and %."""
    kind = source.randrange(6) if depth else 0
    if kind < 2:
        return var(source.choice(sorted(RANGES))) * source.randint(-3, 3) + source.randint(-5, 5)
    first = random_index(source, depth - 1)
    if kind == 2:
        return first // source.randint(1, 5)
    if kind == 3:
        return first % source.randint(1, 5) - random_index(source, depth - 1)
    return (minimum if kind == 4 else maximum)(first, random_index(source, depth - 1))


def test_integer_expressions_have_floor_semantics():
    source = random.Random(0)
    cases = [random_index(source, 3) for _ in range(300)]
    values = [
        {name: source.randint(low, high) for name, (low, high) in RANGES.items()} for _ in cases
    ]
    lines = [
        f"    {{ const int64_t a = {v['a']}, b = {v['b']}, c_0 = {v['c.0']};"
        f" (void)a, (void)b, (void)c_0; out[{k}] = (float)({index_text(i, NAMES, RANGES)}); }}"
        for k, (i, v) in enumerate(zip(cases, values, strict=True))
    ]
    body = "\n".join(lines)
    helpers = used_helpers(body, HELPERS)
    assert {"ago_floordiv", "ago_mod", "ago_min", "ago_max"} <= set(helpers)
    artifact = body_artifact(body, "portable", [], [TensorInfo("out", (len(cases),))])
    with tempfile.TemporaryDirectory() as directory:
        path = build(artifact, "shared", Path(directory) / f"m{library_suffix()}")
        (out,) = call(artifact, path, [])
    expected = [evaluate(index, value) for index, value in zip(cases, values, strict=True)]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (Index(), "0"),
        (var("b") * -2 + 3, "-2 * b + 3"),
        (var("a") - var("b"), "a - b"),
        (var("b") // 4, "(b / 4)"),
        (var("a") // 4, "ago_floordiv(a, 4)"),
        ((var("b") + 1) % 3, "((b + 1) % 3)"),
        (minimum(var("a"), 3), "ago_min(3, a)"),
    ],
)
def test_index_text(index, text):
    assert index_text(index, NAMES, RANGES) == text


@pytest.mark.parametrize("value", [0.0, -1.0, 6.0, 1 / 6, 1e-45, 3.4028234e38, -2.5e-8, 1e10])
def test_float_literals_are_exact(value):
    text = float_literal(value)
    assert text.endswith("f")
    assert "." in text or "e" in text
    assert np.float32(text[:-1]) == np.float32(value)


def test_float_literals_of_special_values():
    assert float_literal(math.inf) == "__builtin_inff()"
    assert float_literal(-math.inf) == "-__builtin_inff()"
    assert float_literal(math.nan) == '__builtin_nanf("")'


def test_names_are_unique_identifiers():
    names = Names()
    given = [names.new(hint) for hint in ("a.b", "a_b", "a_b", "for", "3x", "x1", "x1", "_t")]
    assert len(set(given)) == len(given)
    assert all(name.isidentifier() for name in given)
    assert "for" not in given
    assert names.given == frozenset(given)
