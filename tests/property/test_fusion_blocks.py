"""Blocks inside of random nests of random networks.

Accepted blocks compute what the unfused program does, each element as often as without blocks, in
rings of the same rows. Refused ones are refused for a reason that enumeration confirms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from hypothesis import assume, event, given, note
from hypothesis import strategies as st

from ago.autoschedule import sketch_program
from ago.autoschedule.sketch import FUSION, fusion_ranking
from ago.errors import FusionError
from ago.fuse import FusionPlan, Nest, fuse
from ago.fuse.footprint import outer_axes
from ago.fuse.legality import check_nest
from ago.fuse.pieces import Piece, find_pieces
from ago.fuse.plan import Blocks
from ago.fuse.rank import RankedPlan
from ago.fuse.recompute import recompute_factors
from ago.ir.graph import Graph
from ago.ir.index import variables
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.schedule.chooser import Decision, RandomChooser
from ago.schedule.trace import Schedule
from ago.target import TARGETS
from tests.property.test_fusion import fused_or_refused, lowered
from tests.support.dependences import Needs, divisors, elements, piece_graph, stores_of
from tests.support.fused import AVX2, keeps_outputs
from tests.support.random_fusion import chains, nests, wide_chains


@st.composite
def blocks_of(draw: st.DrawFn, program: Program, nest: Nest) -> Blocks:
    """Blocks of any axis of any reader, most often of its channels, of some stages before it."""
    place = draw(st.integers(1, len(nest.stages) - 1))
    reader = program.stage(nest.stages[place])
    first = draw(st.integers(0, place - 1))
    axis = draw(st.sampled_from([reader.axes[-1]] * 6 + list(reader.axes)))
    sizes = [n for n in divisors(axis.extent) if n < axis.extent] or [1]
    stages = nest.stages[first:place]
    return Blocks(stages, reader.name, axis.name, draw(st.sampled_from(sizes)))


@given(chains(), st.data())
def test_blocks_are_exact_or_refused_with_reason(graph: Graph, data: st.DataObject) -> None:
    program = lowered(graph, AVX2)
    named = Schedule(program)
    pieces = find_pieces(named)
    assume(len(pieces) > 1)
    plain = data.draw(nests(named.program, pieces))
    assume(is_legal(named.program, pieces, plain))
    nest = replace(plain, blocks=data.draw(blocks_of(named.program, plain)))
    note(f"{named.program}\n{nest}")
    fused = fused_or_refused(program, nest)
    if isinstance(fused, FusionError):
        event(fused.code)
        assert is_confirmed(named.program, pieces, nest, fused), str(fused)
        return
    event("accepted")
    verify(fused)
    keeps_outputs(program, fused)
    found = check_nest(named.program, pieces, nest)
    factors = recompute_factors(named.program, pieces, nest)
    whole = fuse(program, FusionPlan((plain,))).program
    for placement in nest.producers:
        stored = stores_of(fused, placement.stage)
        assert factors[placement.stage] == Fraction(
            stored, elements(named.program, placement.stage)
        )
        buffer = found[placement.stage].buffer
        if placement.ring and found[placement.stage].slides:
            assert fused.buffer(buffer).nbytes == whole.buffer(buffer).nbytes


@given(wide_chains(), st.sampled_from(["cortex-a76", "x86-64-v3"]), st.integers(0, 2**16))
def test_every_offered_block_can_be_scheduled(graph: Graph, name: str, seed: int) -> None:
    target = replace(TARGETS[name], l1_bytes=4096)
    program = lowered(graph, target)
    cut = [plan for plan in fusion_ranking(program, target).plans if _is_cut(plan)]
    assume(cut)
    plan = cut[seed % len(cut)]
    made = sketch_program(program, target, Planned(str(plan.plan), seed))
    note(f"{program}\n{plan.plan}")
    assert made.fusion.taken.plan == plan.plan, made.fusion.ranking.refused
    verify(made.schedule.program)
    keeps_outputs(program, made.schedule.program)


class Planned(RandomChooser):
    """Draws at random but for the fusion plan."""

    def __init__(self, plan: str, seed: int) -> None:
        super().__init__(seed)
        self._plan = plan

    def choose(self, key: str, candidates: Sequence[Decision]) -> Decision:
        return self._plan if key == FUSION else super().choose(key, candidates)


def _is_cut(plan: RankedPlan) -> bool:
    return any(nest.blocks for nest in plan.plan.nests)


def is_legal(program: Program, pieces: list[Piece], nest: Nest) -> bool:
    try:
        check_nest(program, pieces, nest)
    except FusionError:
        return False
    return True


def is_confirmed(program: Program, pieces: list[Piece], nest: Nest, refusal: FusionError) -> bool:
    """Whether enumeration finds the reason of a refusal, too."""
    blocks = nest.blocks
    assert blocks is not None
    if refusal.code == "bad-block":
        extent = program.stage(blocks.reader).axis(blocks.axis).extent
        return extent == 1 or blocks.axis in _shared(program, pieces, nest)
    if refusal.code == "no-region":
        return True  # a box is not what such an index reads: nothing to enumerate
    if refusal.code != "shared-block":
        return False
    graph = piece_graph(program, pieces)
    stage = refusal.operators[0]
    if set(graph.successors(stage)) - {*blocks.stages, blocks.reader}:
        return True
    members = [p for s in nest.stages for p in pieces if p.output == s]
    members = members[: nest.stages.index(blocks.reader) + 1]
    producers = tuple(p for p in nest.producers if p.stage in {m.output for m in members[:-1]})
    alone = Nest(producers, blocks.reader, blocks.axis, blocks.size)
    needs = Needs(program, members, alone, (), clip=True)
    moving = needs.moving(stage)
    if len(moving) != 1 or moving == _moving(program, pieces, nest, stage):
        return True
    boxes = [box[moving[0]] if box else range(0) for box in needs.boxes[stage]]
    shape = program.buffer(program.stage(stage).buffer).shape
    return sorted(n for box in boxes for n in box) != list(range(shape[moving[0]]))


def _moving(program: Program, pieces: list[Piece], nest: Nest, stage: str) -> list[int]:
    members = [p for s in nest.stages for p in pieces if p.output == s]
    return Needs(program, members, nest, _outer(program, members, nest), clip=True).moving(stage)


def _outer(program: Program, members: list[Piece], nest: Nest) -> tuple[str, ...]:
    return outer_axes(program, members, nest.axis)


def _shared(program: Program, pieces: list[Piece], nest: Nest) -> set[str]:
    """The reader's axes that the shared loop, or those outside of it, move."""
    blocks = nest.blocks
    assert blocks is not None
    members = [p for s in nest.stages for p in pieces if p.output == s]
    if blocks.reader == nest.output:
        return {nest.axis, *_outer(program, members, nest)}
    stage = program.stage(blocks.reader)
    dimensions = _moving(program, pieces, nest, blocks.reader)
    return {
        a.name
        for a in stage.axes
        for d in dimensions
        if stage.loop(a.name) in variables(stage.index[d])
    }
