"""Reductions in blocks: which blocks there are, and that sums over them are the whole sums."""

import numpy as np
import pytest

from ago.autoschedule.depth import depths
from ago.autoschedule.order import Order
from ago.autoschedule.space import Space
from ago.frontend.builder import GraphBuilder
from ago.ir.interpreter import interpret
from ago.ir.lowering import lower_nodes
from ago.ir.packing import pack_array
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.pipeline import run_passes
from ago.target import TARGETS
from tests.support.compiled import HOST_TARGETS, run_compiled
from tests.support.programs import integers


def product(steps: int, columns: int = 40) -> Program:
    """13 rows, with a bias and a clamp."""
    b = GraphBuilder("product")
    ones = np.ones((steps, columns), np.float32)
    y = b.relu(b.add(b.matmul(b.input("x", (13, steps)), ones), np.ones(columns, np.float32)))
    graph = b.build(y)
    return lower_nodes(graph, graph.nodes, graph.outputs, "product").program


def convolution(target: str) -> Program:
    """3x3, 192 channels to 8 on a map of 3x3, behind a copy that gives it its layout."""
    b = GraphBuilder("convolution")
    inside = b.relu(b.input("x", (1, 192, 3, 3)), name="before")
    y = b.relu(b.conv(inside, np.ones((8, 192, 3, 3), np.float32), pads=1))
    graph = run_passes(b.build(b.relu(y, name="after")), TARGETS[target])
    nodes = [n for n in graph.nodes if n.name not in ("before", "after")]
    return lower_nodes(graph, nodes, nodes[-1].outputs, "convolution").program


def blocked(space: Space) -> list[Program]:
    """The schedules of all depths, the deeper ones with other tiles."""
    default = space.default()
    offered = {choice.key: choice.domain.candidates for choice in space.build(default).choices}
    (order,) = (key for key in offered if key.endswith("/order"))
    tile, unroll = (order.replace("/order", f"/{what}") for what in ("tile", "unroll"))
    deep = [value for value in offered[order] if Order.of(value).depth]
    return [
        space.build(
            {**default, order: value, tile: offered[tile][n], unroll: offered[unroll][n]}
        ).program
        for n, value in enumerate(deep)
    ]


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        (960, (96, 192, 320)),
        (192, (96,)),
        (512, (64, 128, 256)),
        (100, ()),
        (961, ()),
        (48, ()),
        (1, ()),
    ],
)
def test_blocks_divide_the_reduction(steps, wanted):
    reduction = product(steps).stages[0]
    assert depths(reduction) == wanted
    assert all(steps % depth == 0 for depth in depths(reduction))


@pytest.mark.parametrize("target", ["x86-64-v3", "cortex-a76"])
def test_sums_over_blocks_are_the_whole_sums(target):
    for naive, count in ((product(384), 2), (convolution(target), 1)):
        arrays = integers(naive, 1)
        (name,) = (b.name for b in naive.buffers if b.scope == "output")
        expected = interpret(naive, arrays)[name]
        programs = blocked(Space(naive, TARGETS[target]))
        assert len(programs) == count
        for program in programs:
            verify(program)
            assert any(b.scope == "register" and b.name.endswith("_tile") for b in program.buffers)
            feeds = {n: a.reshape(program.buffer(n).shape) for n, a in arrays.items()}
            found = interpret(program, feeds, "checked")[name]
            np.testing.assert_array_equal(found.reshape(-1), expected.reshape(-1))


@pytest.mark.parametrize("target", HOST_TARGETS)
def test_blocks_compile_to_the_same_numbers(target):
    naive = product(384)
    arrays = integers(naive, 2)
    (expected,) = interpret(naive, arrays).values()
    jobs = [
        (
            program,
            {
                b.name: arrays[b.name] if b.packing is None else pack_array(program, b.name, arrays)
                for b in program.buffers
                if b.scope in ("input", "constant") and (b.packing is not None or b.name in arrays)
            },
        )
        for program in blocked(Space(naive, TARGETS[target]))
    ]
    for found in run_compiled(jobs, target):
        np.testing.assert_array_equal(found.reshape(-1), expected.reshape(-1))


def test_the_model_knows_what_blocks_cost():
    space = Space(product(960), TARGETS["x86-64-v3"])
    default = space.default()
    choice = next(c for c in space.build(default).choices if c.key.endswith("/order"))
    assert not Order.of(default[choice.key]).is_blocked
    for value in choice.domain.candidates:
        assert choice.domain.explain is not None
        assert "cycles of cache traffic" in choice.domain.explain(value)
    rows = space.features([{**default, choice.key: v} for v in choice.domain.candidates])
    assert np.isfinite(rows).all()
    assert len(np.unique(rows, axis=0)) > len(rows) / 2
