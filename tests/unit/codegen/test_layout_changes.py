"""Copies between layouts and borders are made of vectors: no statement stores a single float."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ago import GraphBuilder
from ago.options import Options
from ago.partition import relay_style
from ago.pipeline import compile_graph
from ago.target import TARGETS

SCALAR_STORE = re.compile(r"\w+\[-?\d+\] = ")


def padded_image(channels: int, size: int) -> dict[str, list[str]]:
    """C of the steps of an image's padding and of what follows it, by target."""
    b = GraphBuilder("net")
    weight = np.ones((32, channels, 3, 3), np.float32)
    y = b.relu(b.conv(b.input("x", (1, channels, size, size)), weight, pads=1))
    graph = b.build(b.global_average_pool(b.conv(y, np.ones((32, 32, 3, 3)), pads=1)))
    return {
        target: [
            kernel.function.text
            for kernel in compile_graph(graph, Options(TARGETS[target]), relay_style).kernels
        ]
        for target in ("x86-64-v3", "x86-64-v4", "cortex-a76")
    }


@pytest.mark.parametrize("channels", [2, 3, 4, 16])
def test_a_padded_image_is_stored_by_vectors(channels):
    for target, texts in padded_image(channels, 32).items():
        for text in texts[:-1]:
            assert not SCALAR_STORE.search(text), (target, text)


def test_a_scalar_target_stores_floats():
    """The search finds what it looks for."""
    b = GraphBuilder("net")
    graph = b.build(b.relu(b.input("x", (1, 3, 5, 5))))
    (kernel,) = compile_graph(graph, Options(TARGETS["portable"]), relay_style).kernels
    assert SCALAR_STORE.search(kernel.function.text)
