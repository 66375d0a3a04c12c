"""`csrc/ago_math.h` against float64: every exponent and sign, with many mantissas of each."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from ago.codegen.real_functions import ERRORS
from tests.support.compiled import HOST_TARGETS
from tools.sweep_vector_math import (
    LAYERS,
    PAIRS,
    REFERENCES,
    aligned,
    build,
    call,
    errors,
    errors_at,
    sweep,
    sweep_pairs,
)

EVERY = 16381  # prime, so that mantissas differ from exponent to exponent
TARGETS_OF_LAYERS = {"f32": "portable", "avx2": "x86-64-v3", "avx512": "x86-64-v4"}
RUNNABLE = [layer for layer in LAYERS if TARGETS_OF_LAYERS[layer] in HOST_TARGETS]


@pytest.fixture(scope="module", params=RUNNABLE)
def library(request):
    with tempfile.TemporaryDirectory() as directory:
        yield build(request.param, TARGETS_OF_LAYERS[request.param], Path(directory))


@pytest.mark.parametrize("name", REFERENCES)
def test_functions_stay_within_their_bounds(library, name):
    worst = sweep(library, name, EVERY)
    assert worst.ulp <= REFERENCES[name][1], worst


@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two_stay_within_their_bounds(library, name):
    worst = sweep_pairs(library, name, 200_000)
    assert worst.ulp <= PAIRS[name][1], worst


def test_the_tables_promise_what_is_tested():
    bounds = {name: ulp for name, (_, ulp) in {**REFERENCES, **PAIRS}.items()}
    assert bounds == ERRORS


def neighbours(*values: float) -> np.ndarray:
    """Floats around each value, 200 on each side."""
    middle = np.array(values, np.float32).view(np.uint32)
    return aligned((middle[:, None] + np.arange(-200, 201)[None]).astype(np.uint32).ravel())


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("exp", (88.72284, -87.33655, -103.97208, 0.34657359, -0.34657359)),
        ("exp2", (128.0, -126.0, -149.0, -150.0, 0.5)),
        ("log", (1.0, 2 / 3, 4 / 3, 1.1754944e-38, 3.4e38)),
        ("decay", (0.0, -87.68312, -88.0, -0.34657359)),
        ("silu", (-88.376263, 87.0, -87.33655, 16.6, 1e-38, 0.34657359)),
        ("sigmoid", (-87.33655, -103.97208, 16.6, 1e-38)),
        ("tanh", (0.17328679, 9.01, 10.0, 1e-38)),
        ("erf", (1.75, 3.92, -3.8325, 1e-38)),
        ("gelu", (0.0, 1.0, -1.0, 5.6, -14.0, 1e-38)),
        ("sin", (1048576.0, 3.1415927, 1.0e38)),
        ("tan", (1048576.0, 1.5707964, 1.0e38)),
        ("asin", (1.0, -1.0, 0.5)),
        ("acosh", (1.0,)),
        ("asinh", (0.015625,)),
        ("atanh", (1.0, 0.015625)),
        ("sinh", (1.0, 89.41)),
    ],
)
def test_no_step_where_the_method_changes(library, name, places):
    x = neighbours(*places)
    assert errors_at(library, name, x).max() <= REFERENCES[name][1]


def test_erf_of_large_arguments_is_one(library):
    large = np.array([3.92, 4, 10, 100, 1e30, np.inf] * 8, np.float32)
    for sign in (1, -1):
        x = aligned((sign * large).view(np.uint32))
        assert set(call(library, "erf", x, x).tolist()) == {float(sign)}


def test_pow_at_the_special_values():
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, -0.5, 16777217.0]
    x, y = (v.ravel().astype(np.float32) for v in np.meshgrid(values, values))
    pad = np.ones(-len(x) % 16, np.float32)
    x, y = (aligned(np.concatenate([v, pad]).view(np.uint32)) for v in (x, y))
    with tempfile.TemporaryDirectory() as directory:
        library = build("f32", "portable", Path(directory))
        result = call(library, "pow", x, y)
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float64), y.astype(np.float64))
    assert errors(result, wanted).max() <= 1.0
