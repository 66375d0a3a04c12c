"""Fusion of random networks by random plans.

An accepted plan computes what the unfused program does, element by element; as often as it says,
and with just the rings it says. A refused one is refused for a reason that enumeration confirms.
"""

from __future__ import annotations

from fractions import Fraction

from hypothesis import assume, event, given, note
from hypothesis import strategies as st

from ago.autoschedule import sketch_program
from ago.errors import FusionError
from ago.fuse import FusionPlan, Nest, fuse
from ago.fuse.footprint import outer_axes
from ago.fuse.legality import check_nest
from ago.fuse.pieces import Piece, find_pieces
from ago.fuse.recompute import recompute_factors
from ago.ir.graph import Graph
from ago.ir.lowering import lower_nodes
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.pipeline import run_passes
from ago.schedule.chooser import RandomChooser
from ago.schedule.trace import Schedule
from ago.target import TARGETS, Target
from tests.support.dependences import Needs, elements, is_convex, piece_graph, stores_of
from tests.support.fused import AVX2, keeps_outputs
from tests.support.random_fusion import forks, nests, networks


def lowered(graph: Graph, target: Target) -> Program:
    """All nodes as one program; without the last, whose input is channels-last, if that pools."""
    whole = run_passes(graph, target)
    nodes, outputs = list(whole.nodes), whole.outputs
    if nodes[-1].op == "GlobalAveragePool" and len(nodes) > 1:
        outputs = nodes.pop().inputs[:1]
    return lower_nodes(whole, nodes, outputs, "network").program


@given(st.one_of(networks(), networks(), forks()), st.data())
def test_a_plan_is_exact_or_refused_with_reason(graph: Graph, data: st.DataObject) -> None:
    program = lowered(graph, AVX2)
    named = Schedule(program)
    pieces = find_pieces(named)
    assume(len(pieces) > 1)
    nest = data.draw(nests(named.program, pieces))
    note(f"{named.program}\n{nest}")
    fused = fused_or_refused(program, nest)
    if isinstance(fused, FusionError):
        event(fused.code)
        assert is_confirmed(named.program, pieces, nest, fused), str(fused)
        return
    event("accepted beside" if nest.beside else "accepted")
    verify(fused)
    keeps_outputs(program, fused)
    members = [p for s in nest.stages for p in pieces if p.output == s]
    outer = outer_axes(named.program, members, nest.axis, nest.beside)
    needs = Needs(named.program, members, nest, outer, clip=False)
    clipped = Needs(named.program, members, nest, outer, clip=True)
    found = check_nest(named.program, pieces, nest)
    factors = recompute_factors(named.program, pieces, nest)
    for placement in nest.producers:
        count = elements(named.program, placement.stage)
        assert factors[placement.stage] == Fraction(stores_of(fused, placement.stage), count)
        if placement.ring and found[placement.stage].slides:
            dimension = found[placement.stage].dimension
            held = fused.buffer(found[placement.stage].buffer).shape[dimension]
            assert placement.ring == needs.window(placement.stage, dimension)
            assert clipped.window(placement.stage, dimension) <= held <= placement.ring


def fused_or_refused(program: Program, nest: Nest) -> Program | FusionError:
    try:
        return fuse(program, FusionPlan((nest,))).program
    except FusionError as refusal:
        return refusal


def is_confirmed(program: Program, pieces: list[Piece], nest: Nest, refusal: FusionError) -> bool:
    """Whether enumerating dependences finds the reason of a refusal, too."""
    graph = piece_graph(program, pieces)
    inside, order = set(nest.stages), list(nest.stages)
    if refusal.code == "not-convex":
        return not is_convex(graph, inside)
    if refusal.code == "unknown-stage":
        return not nest.producers
    if nest.beside and is_confirmed_beside(program, pieces, nest, refusal):
        return True
    if refusal.code == "unrelated":
        return not set(graph.successors(refusal.operators[0])) & inside
    if refusal.code == "no-region":
        return True  # a box is not what such an index reads: nothing to enumerate
    later = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
    if refusal.code == "not-forward" and any(graph.has_edge(b, a) for a, b in later):
        return True
    stage = refusal.operators[0]
    if refusal.code == "reused":
        buffer = program.stage(stage).buffer
        readers = set(graph.successors(stage))
        many = sum(s.buffer == buffer for s in program.stages) > 1
        if readers - inside or many or program.buffer(buffer).scope == "output":
            return True
    return _ring_is_wrong(program, pieces, nest, stage)


def is_confirmed_beside(
    program: Program, pieces: list[Piece], nest: Nest, refusal: FusionError
) -> bool:
    """Whether a result beside the last cannot be divided alike, or is read too early."""
    graph, order = piece_graph(program, pieces), [piece.output for piece in pieces]
    stage, *_ = refusal.operators
    if stage not in nest.beside:
        return False
    extents = {a.name: a.extent for a in program.stage(stage).axes}
    if refusal.code == "unknown-axis":
        return nest.axis not in extents
    if refusal.code == "bad-block":
        whole = program.stage(nest.output).axis(nest.axis).extent
        return extents[nest.axis] * nest.block % whole != 0
    readers = set(graph.successors(stage))
    if refusal.code == "results-apart":
        buffer = program.stage(stage).buffer
        many = sum(s.buffer == buffer for s in program.stages) > 1
        return many or bool(readers & set(nest.stages))
    end = order.index(nest.output)
    return order.index(stage) > end or any(
        order.index(reader) < end for reader in readers - set(nest.stages)
    )


def _ring_is_wrong(program: Program, pieces: list[Piece], nest: Nest, stage: str) -> bool:
    """Whether no dimension moves alone and forward, or the ring does not hold what is read."""
    members = [p for s in nest.stages for p in pieces if p.output == s]
    outer = outer_axes(program, members, nest.axis, nest.beside)
    if len(Needs(program, members, nest, outer, clip=True).moving(stage)) != 1:
        return True
    needs = Needs(program, members, nest, outer, clip=False)
    moving = needs.moving(stage)
    ring = next(p.ring for p in nest.producers if p.stage == stage)
    if len(moving) != 1:
        return True
    return needs.falls(stage, moving[0]) or ring != needs.window(stage, moving[0])


@given(
    st.one_of(networks(), networks(), forks()),
    st.sampled_from(["portable", "cortex-a76", "x86-64-v3"]),
    st.integers(0, 2**16),
)
def test_every_offered_plan_can_be_scheduled(graph: Graph, target: str, seed: int) -> None:
    program = lowered(graph, TARGETS[target])
    made = sketch_program(program, TARGETS[target], RandomChooser(seed))
    note(f"{program}\n{made.fusion.taken.plan}")
    refused = [pair for pair in made.fusion.ranking.refused if pair[1].startswith("[")]
    assert not refused, refused
    event("fused" if made.fusion.taken.choices else "apart")
    verify(made.schedule.program)
    keeps_outputs(program, made.schedule.program)
