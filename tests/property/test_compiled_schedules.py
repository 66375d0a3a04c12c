"""Schedules as the search draws, edits and mixes them, as C: what the interpreter computes."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ago.autoschedule.space import Space
from ago.ir.graph import Graph
from ago.ir.interpreter import interpret
from ago.ir.packing import pack_array
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.target import TARGETS
from tests.property.test_autoschedule import programs
from tests.support.compiled import HOST_TARGETS, run_compiled
from tests.support.programs import integers
from tests.support.random_blocks import block_networks
from tests.support.random_graphs import graphs

PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""Without shrinking: each example runs a C compiler."""

BATCH = 6

Job = tuple[Program, dict[str, np.ndarray], np.ndarray]


def searched(naive: Program, target: str, rng: Random) -> Program:
    """What the search would measure: decisions that are drawn, edited, or mixed of two parents."""
    space = Space(naive, TARGETS[target])
    first, second = space.random(rng), space.random(rng)
    candidate = rng.choice([first, space.mutate(first, rng), space.cross(first, second, rng)])
    assert space.settle(candidate) == candidate
    return space.build(candidate).program


def jobs(graph: Graph, target: str, seed: int) -> list[Job]:
    """Each kernel of a graph with a random schedule, its arrays, and what it should give."""
    made: list[Job] = []
    for naive in programs(graph, target, "affix"):
        (output, *others) = [b for b in naive.buffers if b.scope == "output"]
        if others or any(b.dtype != "f32" for b in naive.buffers):
            continue
        scheduled = searched(naive, target, Random(seed))
        verify(scheduled)
        arrays = integers(naive, seed)
        feeds = {
            b.name: pack_array(scheduled, b.name, arrays)
            if b.packing is not None
            else arrays[b.name].reshape(b.shape)
            for b in scheduled.buffers
            if b.scope in ("input", "constant") and (b.packing is not None or b.name in arrays)
        }
        made.append((scheduled, feeds, interpret(naive, arrays)[output.name]))
    return made


def check(drawn: list[Graph], target: str, seed: int) -> None:
    """Compile all kernels together and compare them where the naive program gives a value."""
    work = [job for number, graph in enumerate(drawn) for job in jobs(graph, target, seed + number)]
    if not work:
        return
    results = run_compiled([(program, arrays) for program, arrays, _ in work], target)
    for (program, _, expected), found in zip(work, results, strict=True):
        written = ~np.isnan(expected)
        found = found.reshape(expected.shape)
        np.testing.assert_array_equal(found[written], expected[written], err_msg=str(program))


networks = st.one_of(block_networks(), graphs(max_layers=4).map(lambda drawn: drawn[0]))
batches = st.lists(networks, min_size=BATCH, max_size=BATCH)


@pytest.mark.parametrize("target", HOST_TARGETS)
@settings(max_examples=max(1, settings().max_examples // 25), phases=PHASES)
@given(drawn=batches, seed=st.integers(0, 2**16))
def test_c_computes_what_the_interpreter_does(target: str, drawn: list[Graph], seed: int) -> None:
    check(drawn, target, seed)


@settings(max_examples=max(1, settings().max_examples // 200), phases=PHASES)
@given(drawn=batches, seed=st.integers(0, 2**16))
def test_emulated_neon_does_for_a_sample(drawn: list[Graph], seed: int) -> None:
    check(drawn, "cortex-a76", seed)
