"""Programs to fuse: blocks of networks, lowered whole, and choosers that answer about fusion."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ago.frontend import GraphBuilder
from ago.ir.graph import Graph
from ago.ir.interpreter import Mode, interpret
from ago.ir.lowering import lower_nodes
from ago.ir.program import Program
from ago.pipeline import run_passes
from ago.schedule.chooser import Decision, DefaultChooser
from ago.target import TARGETS, Target
from tests.support.programs import integers

AVX2 = TARGETS["x86-64-v3"]


class Choose(DefaultChooser):
    """Picks the fusion plan that a function picks of the plans' texts; favourites otherwise."""

    def __init__(self, pick: Callable[[Sequence[str]], str]) -> None:
        self._pick = pick

    def choose(self, key: str, candidates: Sequence[Decision]) -> Decision:
        if key != "fusion":
            return candidates[0]
        return self._pick([str(c) for c in candidates])


def apart() -> Choose:
    """Fuses nothing."""
    return Choose(lambda plans: "apart")


def weights(*shape: int) -> np.ndarray:
    """Ones and minus ones."""
    array = np.ones(shape, np.float32)
    array.ravel()[::3] = -1.0
    return array


def inverted_residual(
    stride: int = 1, size: int = 12, channels: int = 8, middle: int = 24, kernel: int = 3
) -> Graph:
    """Expand, depthwise, project, and a residual where shapes allow; its input is row-major."""
    b = GraphBuilder("block")
    x = b.input("x", (1, channels, size, size))
    y = b.clip(b.conv(x, weights(middle, channels, 1, 1)), 0, 6)
    taps = weights(middle, 1, kernel, kernel)
    y = b.clip(b.conv(y, taps, pads=kernel // 2, group=middle, strides=stride), 0, 6)
    y = b.conv(y, weights(channels, middle, 1, 1))
    return b.build(b.global_average_pool(b.add(y, x) if stride == 1 else y))


def fire_module(target: Target = AVX2, size: int = 8, squeezed: int = 8) -> Program:
    """A squeeze that a 1x1 and a padded 3x3 expansion read, whose results are slices of one map."""
    b = GraphBuilder("fire")
    x = b.relu(b.conv(b.input("x", (1, 16, size, size)), weights(squeezed, 16, 1, 1)))
    wide = [b.conv(x, weights(16, squeezed, k, k), pads=k // 2) for k in (1, 3)]
    whole = run_passes(b.build(b.concat([b.relu(y) for y in wide], axis=1)), target)
    nodes = [node for node in whole.nodes if node.op not in ("Concat", "Transpose")]
    (joined,) = (node for node in whole.nodes if node.op == "Concat")
    return lower_nodes(whole, nodes, joined.inputs, "fire").program


def program_of(graph: Graph, target: Target = AVX2) -> Program:
    """All nodes but the last, whose input is channels-last, as one program."""
    whole = run_passes(graph, target)
    *nodes, last = whole.nodes
    return lower_nodes(whole, nodes, last.inputs[:1], "block").program


def keeps_outputs(
    naive: Program, scheduled: Program, seed: int = 0, mode: Mode = "checked"
) -> None:
    """Check that a schedule computes exactly what the naive program does, on small integers."""
    arrays = integers(naive, seed)
    shaped = {
        b.name: arrays[b.name].reshape(b.shape) for b in scheduled.buffers if b.name in arrays
    }
    expected, found = interpret(naive, arrays), interpret(scheduled, shaped, mode)
    for name, array in expected.items():
        written = ~np.isnan(array)  # rounding that no one reads is NaN in the naive program
        got = found[name].reshape(array.shape)
        np.testing.assert_array_equal(got[written], array[written])
