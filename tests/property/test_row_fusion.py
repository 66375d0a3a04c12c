"""Chains of convolutions computed row by row in one nest give what they give apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ago.autoschedule import schedule_program
from ago.frontend import GraphBuilder
from ago.ir.graph import Graph
from ago.ir.interpreter import interpret
from ago.ir.lowering import lower_nodes
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.pipeline import run_passes
from ago.schedule.chooser import Decision, RandomChooser
from ago.target import TARGETS
from tests.support.programs import integers

TARGET = TARGETS["x86-64-v3"]


class Fusing(RandomChooser):
    """Fuses by rows wherever a plan exists, and draws every other decision."""

    def choose(self, key: str, candidates: Sequence[Decision]) -> Decision:
        return "rows" if key.endswith("/fusion") else super().choose(key, candidates)


@st.composite
def chains(draw: st.DrawFn) -> Graph:
    """Two or three convolutions, each read by the next only, with clamps and a residual."""
    b = GraphBuilder("chain")
    channels = draw(st.sampled_from([1, 3, 8]))
    size = draw(st.integers(5, 9)), draw(st.integers(3, 7))
    x = b.input("x", (draw(st.integers(1, 2)), channels, *size))
    y = x
    for _ in range(draw(st.integers(2, 3))):
        kernel = draw(st.sampled_from([1, 3, 3]))
        depthwise = draw(st.booleans())
        filters = channels if depthwise else draw(st.sampled_from([1, 4, 8, 10]))
        weight = np.ones((filters, 1 if depthwise else channels, kernel, kernel), np.float32)
        weight.ravel()[::3] = -1.0
        y = b.conv(
            y,
            weight,
            np.arange(filters, dtype=np.float32),
            strides=draw(st.sampled_from([1, 1, 2])),
            dilations=draw(st.sampled_from([1, 1, 2])) if min(size) > 4 else 1,
            pads=kernel if kernel > 1 else 0,
            group=channels if depthwise else 1,
        )
        channels = filters
        if draw(st.booleans()):
            y = b.clip(y, 0.0, 60.0)
    if y.shape == x.shape and draw(st.booleans()):
        y = b.add(y, x)
    return b.build(b.global_average_pool(y))


def naive(graph: Graph) -> Program:
    """All nodes but the last, whose input is channels-last, as one program."""
    whole = run_passes(graph, TARGET)
    *nodes, last = whole.nodes
    return lower_nodes(whole, nodes, last.inputs[:1], "chain").program


@given(chains(), st.integers(0, 2**16))
def test_rows_in_one_nest_keep_the_result(graph, seed):
    program = naive(graph)
    schedule = schedule_program(program, TARGET, Fusing(seed))
    verify(schedule.program)
    arrays = integers(program, seed)
    feeds = {
        b.name: arrays[b.name].reshape(b.shape)
        for b in schedule.program.buffers
        if b.name in arrays
    }
    expected = interpret(program, arrays)
    found = interpret(schedule.program, feeds, "checked")
    for name, array in expected.items():
        written = ~np.isnan(array)
        got = found[name].reshape(array.shape)
        np.testing.assert_array_equal(got[written], array[written])
