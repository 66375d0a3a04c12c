"""Schedules of random subgraphs: every decision is legal and keeps the result."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ago.autoschedule import schedule_program
from ago.ir.graph import Graph
from ago.ir.interpreter import Mode, interpret
from ago.ir.lowering import LOWERINGS, lower_nodes
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.partition.choose import find_partitioner
from ago.pipeline import run_passes
from ago.schedule.chooser import (
    DefaultChooser,
    GuidedChooser,
    RandomChooser,
    ReplayChooser,
)
from ago.schedule.decisions import crossover, group_of, mutate
from ago.schedule.trace import Trace
from ago.target import TARGETS
from tests.support.choosers import HypothesisChooser
from tests.support.programs import integers
from tests.support.random_blocks import block_networks
from tests.support.random_graphs import graphs

targets = st.sampled_from(["portable", "cortex-a76", "x86-64-v3", "x86-64-v4"])


partitioners = st.sampled_from(["relay", "affix"])


def programs(graph: Graph, target: str, partitioner: str) -> list[Program]:
    """The naive programs of a graph's subgraphs, of those operators that are compiled."""
    whole = run_passes(graph, TARGETS[target])
    return [
        lower_nodes(whole, part.nodes, part.outputs, f"part_{number}").program
        for number, part in enumerate(find_partitioner(partitioner)(whole).subgraphs)
        if all(node.op in LOWERINGS for node in part.nodes)
    ]


def outputs(program: Program, like: Program, seed: int, mode: Mode) -> dict[str, np.ndarray]:
    """The flat outputs of `program` on the small integers made for `like`."""
    arrays = integers(like, seed)
    feeds = {b.name: arrays[b.name].reshape(b.shape) for b in program.buffers if b.name in arrays}
    return {name: array.reshape(-1) for name, array in interpret(program, feeds, mode).items()}


def check_random_schedules(
    graph: Graph, target: str, partitioner: str, seed: int, data: st.DataObject
) -> None:
    for naive in programs(graph, target, partitioner):
        schedule = schedule_program(naive, TARGETS[target], HypothesisChooser(data))
        verify(schedule.program)
        expected = outputs(naive, naive, seed, "plain")
        found = outputs(schedule.program, naive, seed, "checked" if seed % 4 == 0 else "plain")
        for name, array in expected.items():
            written = ~np.isnan(array)  # rounding that no one reads is NaN in the naive program
            np.testing.assert_array_equal(found[name][written], array[written])


@given(graphs(max_layers=5), targets, partitioners, st.integers(0, 2**16), st.data())
def test_random_decisions_are_legal_and_keep_the_result(drawn, target, partitioner, seed, data):
    check_random_schedules(drawn[0], target, partitioner, seed, data)


@given(block_networks(), targets, st.integers(0, 2**16), st.data())
def test_random_decisions_for_blocks_of_convolutions(graph, target, seed, data):
    check_random_schedules(graph, target, "affix", seed, data)


@given(graphs(max_layers=5), targets, partitioners, st.integers(0, 2**16))
def test_traces_replay(drawn, target, partitioner, seed):
    for naive in programs(drawn[0], target, partitioner):
        first = schedule_program(naive, TARGETS[target], RandomChooser(seed))
        chooser = ReplayChooser(dict(first.trace.decisions))
        again = schedule_program(naive, TARGETS[target], chooser)
        assert again.program == first.program
        assert again.trace == first.trace
        assert first.trace.replay(naive) == first.program


@given(block_networks(), targets, st.integers(0, 2**16))
def test_edited_decisions_stay_in_their_domains_and_replay(graph, target, seed):
    rng = random.Random(seed)
    for naive in programs(graph, target, "affix"):
        a, b = (
            schedule_program(naive, TARGETS[target], chooser)
            for chooser in (DefaultChooser(), RandomChooser(seed))
        )
        offered = {c.key: {c.value, *c.domain} for c in a.choices}
        if not offered:
            continue
        before, other = dict(a.trace.decisions), dict(b.trace.decisions)
        key = rng.choice(sorted(offered))
        mutant = mutate(a.choices, key, rng)
        assert mutant.keys() == before.keys()
        assert all(mutant[k] == before[k] for k in mutant if k != key)
        assert mutant[key] in offered[key]
        groups = set(rng.sample(sorted({*map(group_of, before), *map(group_of, other)}), 1))
        child = crossover(before, other, groups)
        for name in {*map(group_of, child)}:
            parent = other if name in groups else before
            assert {k: v for k, v in child.items() if group_of(k) == name} == {
                k: v for k, v in parent.items() if group_of(k) == name
            }
        for decisions in (mutant, child):
            made = schedule_program(naive, TARGETS[target], GuidedChooser(decisions))
            verify(made.program)
            assert all(c.value in c.domain for c in made.choices)
            replayed = ReplayChooser(dict(made.trace.decisions))
            assert schedule_program(naive, TARGETS[target], replayed).program == made.program
            trace = Trace.from_json(made.trace.to_json())
            assert trace.replay(naive) == made.program
            namespace: dict[str, object] = {}
            exec(made.trace.to_python(naive), namespace)
            assert namespace["naive"]() == naive
            assert namespace["schedule"](namespace["naive"]()) == made.program
