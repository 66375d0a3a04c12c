"""Errors of compiled operators against float64, element by element."""

from __future__ import annotations

import numpy as np
import pytest

from ago.frontend import GraphBuilder
from tests.support.cases import Case, run_cases
from tests.support.compiled import HOST_TARGETS

VECTOR_TARGETS = [name for name in HOST_TARGETS if name != "portable"]

UNIT = 2.0**-24
"""Largest relative error of one rounding to float32."""


def product(m: int, n: int, k: int, rng: np.random.Generator) -> tuple[Case, np.ndarray]:
    """A matrix product of numbers of all sizes, and the right factor."""
    left, right = (
        (rng.standard_normal(shape) * 10.0 ** rng.uniform(-3, 3, shape)).astype(np.float32)
        for shape in ((m, k), (k, n))
    )
    b = GraphBuilder("product")
    graph = b.build(b.matmul(b.input("x", (m, k)), right))
    return Case(f"{m} {n} {k}", graph, {"x": left}), right


def convolution(kernel: int, rng: np.random.Generator) -> tuple[Case, np.ndarray]:
    """A convolution of numbers of all sizes, and its weights."""
    shapes = ((1, 17, 9, 9), (24, 17, kernel, kernel))
    image, weight = (
        (rng.standard_normal(shape) * 10.0 ** rng.uniform(-3, 3, shape)).astype(np.float32)
        for shape in shapes
    )
    b = GraphBuilder("convolution")
    graph = b.build(b.conv(b.input("x", shapes[0]), weight))
    return Case(f"kernel {kernel}", graph, {"x": image}), weight


def windows(image: np.ndarray, kernel: int) -> np.ndarray:
    """The windows of an image as rows of a matrix."""
    view = np.lib.stride_tricks.sliding_window_view(image[0], (kernel, kernel), axis=(1, 2))
    return view.transpose(1, 2, 0, 3, 4).reshape(-1, image.shape[1] * kernel**2)


@pytest.mark.parametrize("target", VECTOR_TARGETS)
def test_contractions_stay_within_the_bound_of_any_order_of_summation(target):
    """`|error| <= (K + 8) 2^-24 (|A| |B|)` for each element."""
    rng = np.random.default_rng(0)
    products = [product(*size, rng) for size in ((5, 17, 3), (16, 24, 257), (3, 8, 1000))]
    convolutions = [convolution(kernel, rng) for kernel in (1, 3)]
    found = run_cases([case for case, _ in products + convolutions], target)
    factors = [(case, case.feeds["x"], right) for case, right in products]
    for case, weight in convolutions:
        rows = windows(case.feeds["x"], weight.shape[-1])
        factors.append((case, rows, weight.reshape(len(weight), -1).T))
    for case, left, right in factors:
        exact = left.astype(np.float64) @ right.astype(np.float64)
        bound = (left.shape[1] + 8) * UNIT * (np.abs(left) @ np.abs(right).astype(np.float64))
        (result,) = (a for name, a in found.items() if name.startswith(f"{case.name}/"))
        if result.ndim == 4:
            result = result[0].transpose(1, 2, 0).reshape(exact.shape)
        assert np.all(np.abs(result - exact) <= bound), case.name


def normalised(op: str, x: np.ndarray, **attrs: object) -> Case:
    b = GraphBuilder("norm")
    return Case(op, b.build(b.apply(op, b.input("x", x.shape), **attrs)), {"x": x})


@pytest.mark.parametrize("target", VECTOR_TARGETS)
def test_variances_survive_a_large_mean(target):
    """From `E[x^2] - m^2` a variance of 1 around 1000 would be off by several percent."""
    rng = np.random.default_rng(1)
    x = rng.normal(1000.0, 1.0, (4, 192)).astype(np.float32)
    cases = [
        normalised("LayerNormalization", x, axes=(1,), epsilon=1e-5),
        normalised("InverseDeviation", x, axes=(1,), epsilon=1e-5),
        normalised("MeanVarianceNormalization", x, axes=(1,), epsilon=1e-9),
    ]
    found = {name.split("/")[0]: array for name, array in run_cases(cases, target).items()}
    exact = x.astype(np.float64)
    centred = exact - exact.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True))
    # the mean is good to half a unit in the last place of 1000, which is 2^-15 of the deviation
    assert np.abs(found["LayerNormalization"] - centred / deviation).max() < 2.0**-13
    assert np.abs(found["MeanVarianceNormalization"] - centred / deviation).max() < 2.0**-13
    assert np.abs(found["InverseDeviation"] * deviation - 1).max() < 1e-5


@pytest.mark.parametrize("target", VECTOR_TARGETS)
def test_softmax_of_special_rows(target):
    inf, nan = np.inf, np.nan
    width = 37
    rows = np.random.default_rng(2).standard_normal((8, width)).astype(np.float32)
    rows[0] = -inf  # fully masked: undefined
    rows[1, 5:] = -inf  # partly masked
    rows[2, 3] = inf
    rows[3, 36] = nan
    rows[4] = 3e38  # the largest floats: equal shares
    rows[5] = np.where(np.arange(width) == 7, 3e38, -3e38)
    rows[6] = -1e30
    rows[7, 0] = nan
    (result,) = run_cases([normalised("Softmax", rows, axes=(1,))], target).values()
    for row in (0, 2, 3, 7):
        assert np.isnan(result[row]).all()
    assert (result[1, 5:] == 0).all()
    for row in (4, 6):
        np.testing.assert_allclose(result[row], 1 / width, rtol=4e-7)
    np.testing.assert_array_equal(result[5], np.arange(width) == 7)
    np.testing.assert_allclose(result[[1, 4, 5, 6]].astype(np.float64).sum(axis=1), 1, rtol=1e-6)
    shares = np.exp(rows[1, :5].astype(np.float64) - rows[1, :5].max())
    np.testing.assert_allclose(result[1, :5], shares / shares.sum(), rtol=1e-6)
