"""The workspace of whole networks: close to its lower bound, never above greedy by size."""

from __future__ import annotations

import pytest

from ago.footprint import memory_figures
from ago.linking import lifetimes
from ago.memory import greedy_by_size, plan_workspace
from ago.models import MODELS
from ago.options import Options
from ago.partition import one_by_one, order_for_memory, strip_views
from ago.pipeline import compile_graph, cut_graph
from ago.target import TARGETS

EXCESS = 0.03
"""Most that a plan may be above the bytes that are live at once."""

NETWORKS = sorted(MODELS.keys() - {"tiny_mobilenet"})
TARGET = TARGETS["cortex-a76"]


@pytest.mark.parametrize("name", NETWORKS)
def test_plans_of_values_are_close_to_their_bound(name):
    graph, partition = cut_graph(MODELS[name](), TARGET, None)
    fused, apart = strip_views(graph, partition), strip_views(graph, one_by_one(graph))
    for work in (order_for_memory(graph, fused), fused, apart):
        steps = [(subgraph, None) for subgraph in work.subgraphs]
        tensors = lifetimes(graph, steps, work.views)
        plan = plan_workspace(tensors)
        assert plan.nbytes <= (1 + EXCESS) * plan.lower_bound
        assert plan.nbytes <= greedy_by_size(tensors)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_plans_with_scratch_are_close_to_their_bound(name):
    figures = memory_figures(compile_graph(MODELS[name](), Options(TARGET)))
    for plan in (figures.workspace, figures.model_order, figures.unfused):
        assert plan.excess <= EXCESS
        assert plan.planned <= plan.by_size
    assert figures.workspace.lower_bound <= figures.model_order.lower_bound
