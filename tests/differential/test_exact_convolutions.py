"""Convolutions between layouts, borders and lanes, on small integers: the bits are equal."""

from __future__ import annotations

import numpy as np
import pytest

from ago.frontend import GraphBuilder
from ago.ir.evaluate import evaluate
from tests.support.cases import Case, run_cases
from tests.support.compiled import HOST_TARGETS

# Channels, filters, map, kernel, groups, stride. Multipliers that divide the lanes and that do not,
# channels above and below a vector, groups of few channels, also of more than they make.
SHARED = [
    (8, 16, 7, 3, 8, 1),
    (17, 34, 7, 4, 17, 2),
    (24, 72, 5, 3, 24, 1),
    (9, 45, 5, 3, 9, 1),
    (6, 30, 5, 3, 6, 1),
    (5, 15, 7, 3, 5, 1),
    (16, 16, 9, 3, 4, 1),
    (24, 24, 7, 3, 12, 1),
    (12, 18, 7, 3, 6, 1),
    (32, 16, 5, 1, 8, 1),
]

# Channels, rows, columns of an image that is padded, clipped, and comes back in the input's layout.
IMAGES = [(1, 5, 9), (2, 4, 17), (3, 7, 11), (4, 6, 8), (5, 3, 5), (9, 9, 19), (18, 1, 10)]


def integers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-3, 4, shape).astype(np.float32)


def shared_case(shape: tuple[int, ...]) -> Case:
    """The convolution between others, and as an output of the graph."""
    channels, filters, size, kernel, group, stride = shape
    rng = np.random.default_rng(0)
    b = GraphBuilder("case")
    x = b.relu(b.input("x", (2, channels, size, size)))
    weight = integers(rng, filters, channels // group, kernel, kernel)
    bias = integers(rng, filters)
    y = b.conv(x, weight, bias, group=group, strides=stride, pads=kernel // 2)
    last = b.conv(b.relu(y), integers(rng, 9, filters, 1, 1))
    feeds = {"x": integers(rng, 2, channels, size, size)}
    return Case(f"{channels} to {filters}", b.build(y, last), feeds)


def image_case(shape: tuple[int, ...]) -> Case:
    """A padded convolution of an image, and of a clipped one that is an output, too."""
    channels, *size = shape
    rng = np.random.default_rng(0)
    b = GraphBuilder("case")
    x = b.input("x", (2, channels, *size))
    clipped = b.clip(x, -2.0, 2.0)
    weight = integers(rng, 9, channels, 3, 3)
    results = b.conv(x, weight, pads=1), b.relu(b.conv(clipped, weight, pads=(2, 1, 0, 1)))
    feeds = {"x": integers(rng, 2, channels, *size)}
    return Case(f"image of {channels}", b.build(*results, b.relu(clipped)), feeds)


@pytest.mark.parametrize("target", [HOST_TARGETS[-1], "cortex-a76"])
def test_results_are_exact(target):
    cases = [*map(shared_case, SHARED), *map(image_case, IMAGES)]
    found = run_cases(cases, target)
    for each in cases:
        for name, expected in evaluate(each.graph, each.feeds).items():
            np.testing.assert_array_equal(found[f"{each.name}/{name}"], expected, each.name)
