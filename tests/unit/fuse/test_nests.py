"""Fused nests: what is computed where, and how much of it is kept."""

import numpy as np
import pytest

from ago.autoschedule import sketch, sketch_program
from ago.errors import ScheduleError
from ago.frontend import GraphBuilder
from ago.fuse import FusionPlan, Nest, Placement, fuse, rank_plans
from ago.fuse.footprint import outer_axes
from ago.fuse.pieces import find_pieces
from ago.ir.lowering import lower_nodes
from ago.ir.verify import verify
from ago.pipeline import run_passes
from ago.schedule.trace import Schedule
from tests.support.fused import (
    AVX2,
    Choose,
    apart,
    inverted_residual,
    keeps_outputs,
    program_of,
    weights,
)


def ranked(program):
    """The pieces of a program, and its plans."""
    schedule = Schedule(program)
    pieces = find_pieces(schedule)
    return pieces, rank_plans(schedule.program, pieces, AVX2)


@pytest.fixture(params=[1, 2], scope="module")
def program(request):
    return program_of(inverted_residual(request.param))


def by_rows(program, block=1):
    """The plan that computes a whole inverted residual in blocks of rows."""
    last = program.stages[-1].name
    last = last if last == "add" else f"{last}_out"
    stride = 12 // program.buffer("clip1").shape[1]
    rings = Placement("pad", (block - 1) * stride + 3), Placement("clip1", block)
    return FusionPlan((Nest(rings, last, "y", block),))


def test_a_stage_that_two_others_read_joins_the_one_that_they_become():
    b = GraphBuilder()
    product = b.matmul(b.input("x", (4, 16)), b.constant(weights(16, 8)))
    x = b.add(product, b.constant(weights(8)))
    product = b.mul(x, b.add(b.apply("Abs", b.mul(x, 0.5)), 1.0))
    program = program_of(b.build(b.relu(product)))
    schedule = Schedule(program)
    (piece,) = find_pieces(schedule)
    assert piece.reduction == "matmul"
    keeps_outputs(program, schedule.program)


def test_the_rows_of_register_tiles_stay_inside_a_nest():
    b = GraphBuilder()
    x, v = b.input("x", (2, 16, 3, 32)), b.input("v", (2, 3, 32, 16))
    heads = b.apply("Transpose", b.apply("Sigmoid", x), perm=(0, 2, 1, 3))
    product = b.apply("Transpose", b.matmul(heads, v), perm=(0, 2, 1, 3))
    program = program_of(b.build(b.relu(b.reshape(product, (2, 16, 48)))))
    schedule = Schedule(program)
    pieces = find_pieces(schedule)
    batch, row, head, column = (a.name for a in schedule.program.stages[-1].axes)
    assert outer_axes(schedule.program, pieces, row) == (batch,)
    assert outer_axes(schedule.program, pieces, head) == (batch,)
    assert outer_axes(schedule.program, pieces, column) == (batch,)


def test_the_lanes_of_register_tiles_stay_inside_a_nest():
    b = GraphBuilder("scaled")
    x = b.conv(b.input("x", (2, 8, 4, 3)), weights(8, 1, 1, 1), group=8, pads=(0, 0, 0, 1))
    whole = run_passes(b.build(b.relu(x)), AVX2)
    program = lower_nodes(whole, whole.nodes, whole.outputs, "scaled").program
    pieces, ranking = ranked(program)
    assert [a.name for a in program.stages[-1].axes] == ["n", "c", "y", "x"]
    assert outer_axes(program, pieces, "y") == ("n",)
    assert len(ranking.plans) > 1
    for plan in ranking.plans:
        made = sketch_program(program, AVX2, Choose(lambda plans, plan=plan: str(plan.plan)))
        assert made.fusion.taken.plan == plan.plan
        keeps_outputs(program, made.schedule.program)


def test_no_nest_shares_the_axis_of_scalar_tiles():
    b = GraphBuilder()
    x = b.input("x", (2, 16, 64))
    program = program_of(b.build(b.relu(b.apply("ReduceSum", x, axes=(2,), keepdims=0))))
    plans = ranked(program)[1].plans
    nests = {(nest.output, nest.axis) for ranking in plans for nest in ranking.plan.nests}
    assert ("result", "c") not in nests
    for ranking in plans:
        pick = Choose(lambda plans, plan=ranking.plan: str(plan))
        assert sketch_program(program, AVX2, pick).fusion.taken.plan == ranking.plan


@pytest.mark.parametrize("block", [1, 2, 3])
def test_a_ring_of_the_window(program, block):
    plan = by_rows(program, block)
    fused = fuse(program, plan).program
    assert len(fused.body) == 1
    assert fused.buffer("pad").shape[1] == plan.nests[0].producers[0].ring
    assert fused.buffer("clip1").shape[1] == block
    keeps_outputs(program, fused)


def test_a_dilated_window_over_few_padded_rows_keeps_what_it_reads():
    b = GraphBuilder("few")
    y = b.average_pool(b.input("x", (1, 8, 4, 3)), 2, strides=1)
    y = b.conv(y, weights(4, 8, 2, 1), dilations=(2, 1), pads=(1, 0, 1, 0))
    program = program_of(b.build(b.relu(y)))
    nest = Nest((Placement("mean", 3), Placement("pad", 3)), "conv_out", "y")
    fused = fuse(program, FusionPlan((nest,))).program
    assert fused.buffer("mean").shape[1] == fused.buffer("pad").shape[1] == 3
    keeps_outputs(program, fused)


def test_without_a_ring_rows_are_computed_again(program):
    (nest,) = by_rows(program).nests
    again = FusionPlan((Nest((Placement("pad", 0), Placement("clip1", 0)), nest.output, "y"),))
    fused = fuse(program, again).program
    assert fused.buffer("pad").shape[1] == 3
    keeps_outputs(program, fused)


@pytest.mark.parametrize("axis", ["y", "c"])
def test_each_axis_can_be_shared(program, axis):
    ring = 3 if axis == "y" else 8
    nest = Nest((Placement("pad", ring),), "clip1", axis, 1 if axis == "y" else 8)
    fused = fuse(program, FusionPlan((nest,))).program
    verify(fused)
    keeps_outputs(program, fused)


def test_every_plan_is_scheduled_as_it_says(program):
    offered = []
    sketch_program(program, AVX2, Choose(lambda plans: offered.extend(plans) or plans[0]))
    assert len(offered) > 3
    for plan in offered:
        made = sketch_program(program, AVX2, Choose(lambda plans, plan=plan: plan))
        assert str(made.fusion.taken.plan) == plan
        keeps_outputs(program, made.schedule.program)


def test_apart_each_piece_has_its_own_nest(program):
    schedule = sketch_program(program, AVX2, apart()).schedule
    assert len(schedule.program.body) > 3
    assert schedule.program.buffer("pad").shape == (1, 14, 14, 24)


def test_without_intensive_fusion_one_convolution_a_nest(program):
    schedule = Schedule(program)
    pieces = find_pieces(schedule)
    ranking = rank_plans(schedule.program, pieces, AVX2, intensive=False)
    assert [str(plan.plan) for plan in ranking.plans] == ["apart"]


def test_a_result_with_two_readers_stays_in_the_nest():
    b = GraphBuilder("fork")
    x = b.input("x", (1, 8, 12, 12))
    y = b.relu(b.conv(x, weights(8, 8, 1, 1)))
    left = b.conv(y, weights(8, 8, 1, 1))
    right = b.conv(y, weights(8, 8, 3, 3), pads=1)
    program = program_of(b.build(b.global_average_pool(b.add(left, right))))
    _, ranking = ranked(program)
    whole = [
        plan for plan in ranking.plans if plan.choices and len(plan.choices[0].nest.stages) > 2
    ]
    assert whole
    for plan in whole:
        keeps_outputs(program, fuse(program, plan.plan).program)
        made = sketch_program(program, AVX2, Choose(lambda plans, plan=plan: str(plan.plan)))
        assert made.fusion.taken.plan == plan.plan
        keeps_outputs(program, made.schedule.program)


def test_the_shared_loop_of_a_concatenation_stays_outside():
    b = GraphBuilder("joined")
    x = b.conv(b.input("x", (1, 8, 3, 6)), weights(6, 8, 1, 1))
    wide = [b.conv(x, weights(4 * n, 6, 3, 3), pads=1) for n in (1, 2, 4)]
    whole = run_passes(b.build(b.concat(wide, axis=1)), AVX2)
    program = lower_nodes(whole, whole.nodes, whole.outputs, "joined").program
    plans = [plan for plan in ranked(program)[1].plans if plan.choices]
    assert any(nest.loop == "concat.x" for plan in plans for nest in plan.plan.nests)
    for plan in plans:
        made = sketch_program(program, AVX2, Choose(lambda plans, plan=plan: str(plan.plan)))
        assert made.fusion.taken.plan == plan.plan
        keeps_outputs(program, made.schedule.program)


def test_matrix_products_share_blocks_of_rows():
    b = GraphBuilder("products")
    x = b.input("x", (16, 8))
    y = b.relu(b.matmul(b.matmul(x, weights(8, 24)), weights(24, 8)))
    graph = b.build(y)
    whole = run_passes(graph, AVX2)
    program = lower_nodes(whole, whole.nodes, whole.outputs, "products").program
    _, ranking = ranked(program)
    plans = [plan for plan in ranking.plans if plan.choices]
    assert plans
    for plan in plans:
        made = sketch_program(program, AVX2, Choose(lambda plans, plan=plan: str(plan.plan)))
        assert made.fusion.taken.plan == plan.plan
        keeps_outputs(program, made.schedule.program)


def test_plans_print_their_terms():
    b = GraphBuilder("block")
    x = b.input("x", (1, 16, 56, 56))
    wide = b.relu6(b.conv(x, np.ones((96, 16, 1, 1), np.float32)))
    y = b.conv(wide, np.ones((96, 1, 3, 3), np.float32), pads=1, group=96)
    program = program_of(b.build(b.global_average_pool(y)))
    _, ranking = ranked(program)
    text = "\n".join(str(c.gain) for plan in ranking.plans for c in plan.choices)
    assert "traffic" in text
    assert "works on" in text


def test_the_next_plan_is_tried_where_primitives_refuse_one(program, monkeypatch):
    first_nest = Choose(lambda plans: next(plan for plan in plans if plan != "apart"))
    ranked = sketch_program(program, AVX2).fusion.ranking.plans
    best, second, third, *_ = (str(plan.plan) for plan in ranked if plan.choices)
    build = sketch.schedule_nest

    def refuse(schedule, *rest):
        if schedule.trace.decisions[0][1] in (best, second):
            raise ScheduleError("not-perfect", "the loops have other statements")
        build(schedule, *rest)

    monkeypatch.setattr(sketch, "schedule_nest", refuse)
    made = sketch_program(program, AVX2, first_nest)
    assert str(made.fusion.taken.plan) == third
    assert [what for what, _ in made.fusion.ranking.refused[-2:]] == [best, second]
    keeps_outputs(program, made.schedule.program)
