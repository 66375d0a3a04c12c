"""Nests of several results: what shares a producer shares the loop that computes it."""

from __future__ import annotations

import pytest

from ago.autoschedule import sketch_program
from ago.errors import FusionError
from ago.frontend import GraphBuilder
from ago.fuse import FusionPlan, Nest, Placement, fuse
from ago.fuse.pieces import find_pieces
from ago.fuse.runs import find_runs
from ago.ir.lowering import lower_nodes
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.pipeline import run_passes
from ago.schedule.trace import Schedule
from ago.target import TARGETS
from tests.support.fused import AVX2, Choose, fire_module, keeps_outputs, weights

SQUEEZED, PADDED, LEFT, RIGHT = "clip", "pad", "clip1", "clip2"


def by_rows(block: int = 1) -> Nest:
    """The whole module in blocks of rows."""
    rings = Placement(SQUEEZED, block + 2), Placement(PADDED, block + 2)
    return Nest(rings, RIGHT, "y", block, beside=(LEFT,))


@pytest.mark.parametrize("block", [1, 2, 4])
def test_a_fire_module_in_one_nest(block: int) -> None:
    program = fire_module()
    fused = fuse(program, FusionPlan((by_rows(block),))).program
    verify(fused)
    assert len(fused.body) == 1
    assert fused.buffer(SQUEEZED).shape[1] == block + 2
    keeps_outputs(program, fused)


@pytest.mark.parametrize("target", ["portable", "cortex-a76", "x86-64-v3"])
@pytest.mark.parametrize("size", [8, 9])
def test_what_is_offered_can_be_scheduled(target: str, size: int) -> None:
    program = fire_module(TARGETS[target], size)
    offered: list[str] = []
    sketch_program(program, TARGETS[target], Choose(lambda plans: offered.extend(plans) or "apart"))
    several = [plan for plan in offered if f"beside {LEFT}" in plan]
    assert several
    for plan in several:
        made = sketch_program(program, TARGETS[target], Choose(lambda plans, plan=plan: plan))
        assert str(made.fusion.taken.plan) == plan
        verify(made.schedule.program)
        keeps_outputs(program, made.schedule.program)


def test_a_nest_that_saves_nothing_is_offered_and_not_taken() -> None:
    program = fire_module(size=16)
    made = sketch_program(program, AVX2)
    several = [p for p in made.fusion.ranking.plans if any(n.beside for n in p.plan.nests)]
    assert several
    assert all(plan.cycles < 0 for plan in several)
    assert not made.fusion.taken.choices


def strides(stride: int) -> tuple[Program, list[str]]:
    """A producer read by a convolution of each stride."""
    b = GraphBuilder("strides")
    x = b.relu(b.conv(b.input("x", (1, 8, 8, 8)), weights(8, 8, 1, 1)))
    left = b.conv(x, weights(8, 8, 1, 1))
    right = b.conv(x, weights(8, 8, 1, 1), strides=stride)
    whole = run_passes(b.build(b.relu(left), b.relu(right)), AVX2)
    nodes = [node for node in whole.nodes if node.op != "Transpose"]
    program = lower_nodes(whole, nodes, whole.outputs, "strides").program
    schedule = Schedule(program)
    return program, [piece.output for piece in find_pieces(schedule)]


def test_results_of_other_extents_are_divided_alike() -> None:
    program, (shared, left, right) = strides(2)
    nest = Nest((Placement(shared, 0),), right, "y", beside=(left,))
    fused = fuse(program, FusionPlan((nest,))).program
    verify(fused)
    assert len(fused.body) == 1
    keeps_outputs(program, fused)


def refusal(program: Program, nest: Nest) -> FusionError:
    with pytest.raises(FusionError) as caught:
        fuse(program, FusionPlan((nest,)))
    return caught.value


def test_a_result_is_divided_into_as_many_blocks() -> None:
    program, (shared, left, right) = strides(3)
    error = refusal(program, Nest((Placement(shared, 0),), right, "y", beside=(left,)))
    assert (error.code, error.operators) == ("bad-block", (left,))


def test_a_result_that_the_nest_reads_is_a_producer() -> None:
    nest = Nest((Placement(PADDED, 3),), RIGHT, "y", beside=(SQUEEZED,))
    error = refusal(fire_module(), nest)
    assert (error.code, error.operators) == ("results-apart", (SQUEEZED, PADDED))


def test_the_last_result_is_computed_last() -> None:
    nest = Nest((Placement(SQUEEZED, 1),), LEFT, "y", beside=(RIGHT,))
    error = refusal(fire_module(), nest)
    assert (error.code, error.operators) == ("not-forward", (RIGHT, LEFT))


def test_channels_are_shared_in_whole_vectors() -> None:
    b = GraphBuilder("pooled")
    x = b.input("x", (2, 16, 4, 3))
    y = b.max_pool(x, 3, strides=1, pads=1)
    whole = run_passes(b.build(b.add(y, x), b.relu(y)), AVX2)
    program = lower_nodes(whole, whole.nodes, whole.outputs, "pooled").program
    offered: list[str] = []
    sketch_program(program, AVX2, Choose(lambda plans: offered.extend(plans) or "apart"))
    assert [plan for plan in offered if ".c" in plan] != []
    for plan in offered:
        made = sketch_program(program, AVX2, Choose(lambda plans, plan=plan: plan))
        assert str(made.fusion.taken.plan) == plan
        keeps_outputs(program, made.schedule.program)


def test_runs_name_their_results() -> None:
    schedule = Schedule(fire_module())
    runs = list(find_runs(schedule.program, find_pieces(schedule)))
    assert [(str(run), run.beside) for run in runs] == [
        ("clip + pad + clip1", ("pad",)),
        ("clip + pad + clip1 + clip2", ("clip1",)),
    ]


def test_results_that_share_no_producer_stay_apart() -> None:
    b = GraphBuilder("apart")
    ends = [b.input(name, (1, 8, 8, 8)) for name in "xy"]
    left, right = (b.relu(b.conv(end, weights(8, 8, 3, 3), pads=1)) for end in ends)
    whole = run_passes(b.build(left, right), AVX2)
    program = lower_nodes(whole, whole.nodes, whole.outputs, "apart").program
    schedule = Schedule(program)
    runs = list(find_runs(schedule.program, find_pieces(schedule)))
    assert runs
    assert not any(run.beside for run in runs)
