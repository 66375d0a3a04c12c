"""Graphs of several nodes, compiled and compared with the float64 reference."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ago.autoschedule import sketch_program
from ago.ir.lowering import LOWERINGS
from ago.passes import fold_batch_norm
from ago.schedule.chooser import RandomChooser
from tests.support.cases import Case, failures
from tests.support.compiled import HOST_TARGETS
from tests.support.graph_cases import GRAPH_CASES
from tests.support.random_graphs import graphs

WIDEST = [name for name in HOST_TARGETS if name != "portable"][-1:] or ["portable"]
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""Without shrinking: each example runs a C compiler."""


@pytest.mark.parametrize("target", HOST_TARGETS)
def test_graphs_of_several_nodes(target):
    assert failures(GRAPH_CASES, target) == []


@st.composite
def batches(draw: st.DrawFn, size: int = 8) -> list[Case]:
    """Random graphs of compiled operators, to be compiled together."""
    drawn = draw(st.lists(graphs(max_layers=5), min_size=size, max_size=size))
    return [
        Case(f"graph {number}", graph, feeds)
        for number, (graph, feeds) in enumerate(drawn)
        if all(node.op in LOWERINGS for node in fold_batch_norm(graph).nodes)
    ]


@settings(max_examples=2, phases=PHASES)
@given(batches())
def test_random_graphs(cases):
    assert failures(cases, WIDEST[0]) == []


@pytest.mark.slow
@settings(max_examples=50, phases=PHASES)
@given(batches(), st.sampled_from(HOST_TARGETS))
def test_many_random_graphs(cases, target):
    assert failures(cases, target) == []


def test_random_schedules(monkeypatch):
    chooser = RandomChooser(0)
    monkeypatch.setattr("ago.pipeline.sketch_program", _with(chooser))
    cases = [case for case in GRAPH_CASES if "special" not in case.name]
    assert failures(cases, WIDEST[0]) == []


def _with(chooser):
    return lambda program, target, **options: sketch_program(program, target, chooser, **options)
