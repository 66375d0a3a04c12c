"""Nests that threads share: strips of rows with rings of their own, blocks of channels, batches."""

from __future__ import annotations

import pytest

from ago.autoschedule import sketch_program
from ago.frontend import GraphBuilder
from ago.fuse import FusionPlan, Nest, Placement
from ago.fuse.strips import Cut, best_cut
from ago.ir.nest import For
from ago.ir.program import Program
from ago.ir.verify import verify
from tests.support.fused import AVX2, Choose, inverted_residual, keeps_outputs, program_of

COUNTS = (2, 3, 4, 7, 20)
"""Of threads; more than the 12 rows of the programs, too."""


@pytest.fixture(params=[1, 2], scope="module")
def program(request: pytest.FixtureRequest) -> Program:
    return program_of(inverted_residual(request.param))


def shared(program: Program, plan: str, threads: int) -> Program:
    """The program as a plan says, for some threads."""
    made = sketch_program(program, AVX2, Choose(lambda plans: plan), threads=threads)
    assert str(made.fusion.taken.plan) == plan
    return made.schedule.program


def by_rows(program: Program) -> str:
    """The plan that computes a whole inverted residual row by row."""
    last = program.stages[-1].name
    last = last if last == "add" else f"{last}_out"
    rings = Placement("pad", 3), Placement("clip1", 1)
    return str(FusionPlan((Nest(rings, last, "y"),)))


@pytest.mark.parametrize("threads", COUNTS)
def test_strips_keep_rings_of_their_own(program: Program, threads: int) -> None:
    fused = shared(program, by_rows(program), threads)
    (nest,) = fused.body
    assert isinstance(nest, For)
    assert nest.kind == "parallel"
    rows = program.buffer("clip1").shape[1]
    strips = -(-rows // -(-rows // threads))
    assert nest.extent.const == strips
    assert fused.buffer("pad").shape[:3] == (strips, 1, 3)
    assert fused.buffer("clip1").shape[:3] == (strips, 1, 1)
    verify(fused)
    keeps_outputs(program, fused)


def test_plans_are_scheduled_for_threads(program: Program) -> None:
    offered: list[str] = []
    pick = Choose(lambda plans: offered.extend(plans) or plans[0])
    sketch_program(program, AVX2, pick, threads=3)
    assert len(offered) > 3
    for plan in offered[:: len(offered) // 3]:
        fused = shared(program, plan, 3)
        assert any(isinstance(nest, For) and nest.kind == "parallel" for nest in fused.body)
        verify(fused)
        keeps_outputs(program, fused)


def test_a_nest_too_small_for_threads_stays_serial() -> None:
    program = program_of(inverted_residual(size=4))
    (nest,) = shared(program, by_rows(program), 2).body
    assert isinstance(nest, For)
    assert nest.kind == "serial"


def test_batches_are_shared_rather_than_rows() -> None:
    """A loop outside of the shared one has no borders to compute twice."""
    b = GraphBuilder("heads")
    x, v = b.input("x", (4, 32, 32)), b.input("v", (4, 32, 32))
    scores = b.matmul(x, b.apply("Transpose", x, perm=(0, 2, 1)))
    y = b.relu(b.matmul(b.relu(scores), v))
    program = program_of(b.build(b.mul(y, 2.0)))
    for plan in ("reorder:1 at clip.n", "reorder:16 at clip.x/16"):
        made = shared(program, plan, 2)
        nest = next(s for s in made.body if isinstance(s, For) and s.kind == "parallel")
        assert nest.name == "clip.n.0"
        keeps_outputs(program, made)


def test_the_cut_that_wastes_least() -> None:
    rows, blocks = Cut(("y",), (1,) * 7), Cut(("y", "c"), (1,) * 60)
    assert best_cut((rows, blocks), 2) is blocks
    assert best_cut((rows, blocks), 7) is rows
    even, halo = Cut(("y",), (1,) * 56), Cut(("y",), (1,) * 56, again=2 / 56)
    assert even.waste(2) == 0
    assert halo.waste(2) == pytest.approx(2 / 56)
    assert halo.waste(4) == pytest.approx(3 * 2 / 56)
    assert Cut(("x",), (4, 3, 3, 3)).waste(2) == pytest.approx(1 / 13)
