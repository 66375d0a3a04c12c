"""Plans of fusion by rows, and what becomes of them."""

import numpy as np
import pytest

from ago.autoschedule import schedule_program
from ago.frontend import GraphBuilder
from ago.fuse.pieces import find_pieces
from ago.fuse.rows import find_row_plans
from ago.ir.index import evaluate
from ago.ir.lowering import lower_nodes
from ago.ir.nest import For, walk
from ago.pipeline import run_passes
from ago.schedule.chooser import DefaultChooser
from ago.schedule.trace import Schedule
from ago.target import TARGETS

TARGET = TARGETS["x86-64-v3"]


class Choice(DefaultChooser):
    """Answers every question about fusion alike."""

    def __init__(self, answer):
        self._answer = answer

    def choose(self, key, candidates):
        return self._answer if key.endswith("/fusion") else candidates[0]


def weights(*shape):
    return np.ones(shape, np.float32)


def inverted_residual(stride=1, size=12, channels=8, middle=24):
    b = GraphBuilder("block")
    x = b.input("x", (1, channels, size, size))
    y = b.clip(b.conv(x, weights(middle, channels, 1, 1)), 0, 6)
    y = b.clip(b.conv(y, weights(middle, 1, 3, 3), pads=1, group=middle, strides=stride), 0, 6)
    y = b.conv(y, weights(channels, middle, 1, 1))
    return b.build(b.global_average_pool(b.add(y, x) if stride == 1 else y))


def program_of(graph):
    """All nodes but the last, whose input is channels-last, as one program."""
    whole = run_passes(graph, TARGET)
    *nodes, last = whole.nodes
    return lower_nodes(whole, nodes, last.inputs[:1], "block").program


def plans_of(program):
    """The pieces of a program, and the plans for them."""
    schedule = Schedule(program)
    pieces = find_pieces(schedule)
    return pieces, find_row_plans(schedule.program, pieces, TARGET)


@pytest.fixture(params=[1, 2])
def program(request):
    return program_of(inverted_residual(request.param))


def test_a_plan_holds_the_whole_chain(program):
    pieces, (plan,) = plans_of(program)
    assert list(plan.pieces) == pieces
    assert [piece.reduction for piece in pieces] == ["conv", "conv1", "conv2"]


def test_one_nest_with_a_ring_of_the_window(program):
    fused = schedule_program(program, TARGET, Choice("rows")).program
    assert len(fused.body) == 1
    assert fused.buffer("pad").shape == (1, 3, 14, 24)
    assert fused.buffer("clip1").shape[:2] == (1, 1)


def test_apart_each_piece_has_its_own_nest(program):
    apart = schedule_program(program, TARGET, Choice("apart")).program
    assert len(apart.body) > 3
    assert apart.buffer("pad").shape == (1, 14, 14, 24)


def test_each_row_is_computed_once(program):
    """The rows that the producer's loop runs over add up to the rows that are read."""
    fused = schedule_program(program, TARGET, Choice("rows")).program
    rows = next(s for s in walk(fused.body) if isinstance(s, For) and s.name == "pad.y")
    (shared,) = (
        s for s in walk(fused.body) if isinstance(s, For) and s.name in ("add.y", "conv2_out.y")
    )
    count = shared.hi.const
    stride = 12 // count
    total = sum(rows.hi.const - evaluate(rows.lo, {shared.name: y}) for y in range(count))
    assert total == (count - 1) * stride + 3


def test_a_result_with_two_readers_ends_the_chain():
    b = GraphBuilder("fork")
    x = b.input("x", (1, 8, 12, 12))
    y = b.conv(x, weights(8, 8, 1, 1))
    left = b.conv(y, weights(8, 8, 1, 1))
    right = b.conv(y, weights(8, 8, 3, 3), pads=1)
    _, plans = plans_of(program_of(b.build(b.global_average_pool(b.add(left, right)))))
    assert all("conv" not in {p.reduction for p in plan.pieces} for plan in plans)


def test_matrix_products_have_no_rows():
    b = GraphBuilder("products")
    x = b.input("x", (4, 8))
    y = b.relu(b.matmul(b.matmul(x, weights(8, 8)), weights(8, 8)))
    assert plans_of(program_of(b.build(y)))[1] == []
