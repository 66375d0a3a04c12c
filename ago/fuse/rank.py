"""Enumerates the fusion plans of a program and ranks them by the analytic model.

Read `rank_plans` first. A nest is a run of consecutive pieces and an axis of its results; of each
run the best axis and block count, and the best plan is the best choice of disjoint runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ago.errors import FusionError
from ago.fuse.block_gain import with_blocks
from ago.fuse.blocks import blocks_of
from ago.fuse.footprint import Footprint, footprints, keeps_rows, moving_axis, outer_axes
from ago.fuse.gain import Gain, nest_gain, strip_gain
from ago.fuse.legality import check_nest
from ago.fuse.pieces import Piece
from ago.fuse.plan import FusionPlan, Nest, Placement
from ago.fuse.recompute import recompute_factors
from ago.fuse.runs import Run, find_runs
from ago.fuse.shape import guarded_axes, is_bordered, roles, stage_loads
from ago.fuse.strips import nest_cuts
from ago.ir.program import Program
from ago.ir.value import Call
from ago.ir.value_types import buffer_types, is_real_stage
from ago.target import Target

_TILE_ROWS = 8
"""Fewest rows of a block where it takes the rows of register tiles: two tiles, so that what one
stores is not read back before the next is computed."""

_RUNNERS_UP = 10
"""Most plans of one nest, and most neighbours of the best plan, that are offered beside it."""

_BLOCKS = 3
"""Most blocks of an axis that are offered for a nest."""


@dataclass(frozen=True, slots=True)
class NestChoice:
    """A legal nest with what is known of it.

    Attributes:
        nest: Which pieces, where.
        pieces: Its pieces, in order of execution.
        footprints: What an iteration reads of each producer, in the order of its producers.
        gain: What the model expects.
        recompute: How often each producer's elements are computed, by stage.
    """

    nest: Nest
    pieces: tuple[Piece, ...]
    footprints: tuple[Footprint, ...]
    gain: Gain
    recompute: Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class RankedPlan:
    """A legal plan.

    Attributes:
        plan: The plan.
        choices: Its nests with what is known of them.
    """

    plan: FusionPlan
    choices: tuple[NestChoice, ...]

    @property
    def cycles(self) -> float:
        """What the model expects to save; negative where fusion costs."""
        return sum(choice.gain.cycles for choice in self.choices)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The plans of a program.

    Attributes:
        plans: Best first, by the model; one has all pieces apart.
        refused: Nests that cannot be, each with the reason.
    """

    plans: tuple[RankedPlan, ...]
    refused: tuple[tuple[str, str], ...]

    def without(self, plan: RankedPlan, reason: str) -> Ranking:
        """The other plans, and this one with the reason why it cannot be."""
        others = tuple(other for other in self.plans if other.plan != plan.plan)
        return Ranking(others, (*self.refused, (str(plan.plan), reason)))


@dataclass(frozen=True, slots=True)
class FusionChoice:
    """The plan that was taken for a program, among those it was chosen from.

    Attributes:
        taken: The plan.
        ranking: All plans.
    """

    taken: RankedPlan
    ranking: Ranking


APART = RankedPlan(FusionPlan(), ())
"""The plan in which every piece has a nest of its own."""


NO_FUSION = FusionChoice(APART, Ranking((APART,), ()))
"""Where nothing was to be chosen."""


def rank_plans(
    program: Program,
    pieces: Sequence[Piece],
    target: Target,
    *,
    intensive: bool = True,
    threads: int = 1,
) -> Ranking:
    """Enumerate, prune and rank.

    Args:
        program: A naive program after `find_pieces`.
        pieces: All its pieces.
        target: The CPU: lanes and caches.
        intensive: Whether a nest may hold several convolutions or matrix products.
        threads: How many threads share the work.

    Returns:
        Legal plans, and what was refused. Nests whose working set is beyond L2 are not offered.
    """
    found: dict[tuple[int, int], list[NestChoice]] = {}
    refused: list[tuple[str, str]] = []
    for run in find_runs(program, pieces):
        if not intensive and sum(is_complex(program, piece) for piece in run.pieces) > 1:
            continue
        choices = list(_choices(program, pieces, run, (target, threads), refused))
        if choices:
            found[run.first, run.last] = sorted(choices, key=lambda c: -c.gain.cycles)
    top = _best_segments(len(pieces), {run: choices[0] for run, choices in found.items()})
    singles = _best([_plan((choice,)) for choices in found.values() for choice in choices])
    offered = [top, APART, *singles, *_best(_neighbours(top, list(found.values())))]
    unique = {str(plan.plan): plan for plan in offered}
    ranked = sorted(unique.values(), key=lambda plan: -plan.cycles)
    return Ranking(tuple(ranked), tuple(refused))


def _plan(choices: Sequence[NestChoice]) -> RankedPlan:
    return RankedPlan(FusionPlan(tuple(c.nest for c in choices)), tuple(choices))


def _best(plans: Sequence[RankedPlan]) -> list[RankedPlan]:
    """The runners-up among some plans."""
    return sorted(plans, key=lambda plan: -plan.cycles)[:_RUNNERS_UP]


def _neighbours(plan: RankedPlan, runs: Sequence[Sequence[NestChoice]]) -> list[RankedPlan]:
    """The plans that differ in one nest: it is another one of the same pieces, or is not."""
    plans = []
    for place, taken in enumerate(plan.choices):
        before, after = plan.choices[:place], plan.choices[place + 1 :]
        same = next(choices for choices in runs if taken in choices)
        plans += [_plan((*before, other, *after)) for other in same if other is not taken]
        plans.append(_plan((*before, *after)))
    return plans


def is_complex(program: Program, piece: Piece) -> bool:
    """Whether a piece sums products of two tensors: a convolution or a matrix product."""
    if piece.reduction is None:
        return False
    stage = program.stage(piece.reduction)
    product = isinstance(stage.value, Call) and stage.value.function == "mul"
    return product and len({load.buffer for load in stage_loads(stage)}) > 1


def _choices(
    program: Program,
    pieces: Sequence[Piece],
    run: Run,
    cores: tuple[Target, int],
    refused: list[tuple[str, str]],
) -> Iterator[NestChoice]:
    """The best legal nests over each axis of the results."""
    target, threads = cores
    kept = next(
        ((p, why) for p in run.pieces if (why := _stays_apart(program, p, run, target))), None
    )
    if kept is not None:
        refused.append((str(run), f"{kept[0].output}: {kept[1]}"))
        return
    for axis, blocks in _shared_axes(program, run.pieces[-1], target):
        if len({_tiles(program, result, axis, target) for result in run.results}) > 1:
            continue
        try:
            nests = list(_nests(program, pieces, run, (axis, blocks), cores))
        except FusionError as error:
            refused.append((f"{run} at {axis}", f"{error.code}: {error.rule}"))
            continue
        yield from sorted(nests, key=lambda c: -c.gain.cycles)[:_BLOCKS]
        whole = nests if threads == 1 and not run.beside else ()
        cut = (c for nest in whole for c in _in_blocks(program, pieces, nest, target))
        yield from sorted(cut, key=lambda c: -c.gain.cycles)[:_BLOCKS]


def _nests(
    program: Program,
    pieces: Sequence[Piece],
    run: Run,
    where: tuple[str, Sequence[int]],
    cores: tuple[Target, int],
) -> Iterator[NestChoice]:
    """The legal nests over an axis, one for each block."""
    (axis, blocks), (target, threads) = where, cores
    outer = outer_axes(program, run.pieces, axis, run.beside)
    producers = [piece.output for piece in run.pieces if piece not in run.results]
    for block in blocks:
        found = footprints(program, run.pieces, axis, block, outer, run.beside)
        if not all(_moves_outermost(program, f, outer) for f in found.values()):
            return
        if any(_cuts_vectors(program, p, found.get(p.output), target) for p in run.pieces):
            continue
        rings = tuple(Placement(stage, found[stage].moving.window) for stage in producers)
        nest = Nest(rings, run.pieces[-1].output, axis, block, beside=run.beside)
        legal = check_nest(program, pieces, nest)
        factors = recompute_factors(program, pieces, nest)
        gain = nest_gain(program, run.pieces, axis, legal, factors, target)
        if threads > 1:
            cuts = () if run.beside else nest_cuts(program, run.pieces, outer, nest.loop, legal)
            gain = replace(gain, strips=strip_gain(program, run.pieces, cuts, target, threads))
        if gain.working_set <= target.l2_bytes:
            ordered = tuple(legal[stage] for stage in producers)
            yield NestChoice(nest, run.pieces, ordered, gain, factors)


def _in_blocks(
    program: Program, pieces: Sequence[Piece], choice: NestChoice, target: Target
) -> Iterator[NestChoice]:
    """A nest with blocks inside: of each reader's vectorised axis, of each size.

    Not of the last one where a test skips some iterations of the shared loop: blocks, and what is
    computed in them, would be skipped too.
    """
    found = {f.stage: f for f in choice.footprints}
    if not any(f.slides for f in choice.footprints):
        return
    tested = choice.nest.axis in guarded_axes(program.stage(choice.nest.output))
    for reader in choice.pieces[1:-1] if tested else choice.pieces[1:]:
        for axis in _lane_blocks(program, reader, target):
            blocks = blocks_of(program, choice.pieces, found, reader, axis)
            if blocks is None:
                continue
            gain = with_blocks(program, choice.pieces, found, choice.gain, blocks, target)
            if gain is not None:
                nest = replace(choice.nest, blocks=blocks)
                check_nest(program, pieces, nest)
                yield replace(choice, nest=nest, gain=gain)


def _lane_blocks(program: Program, reader: Piece, target: Target) -> Iterator[tuple[str, int]]:
    """A piece's vectorised axis with each size of its blocks; none where a test divides it."""
    part = roles(program, reader.output, reader.reduction, target.lanes)
    if part is None or part.lane_axis is None:
        return
    for axis, sizes in _shared_axes(program, reader, target):
        if axis == part.lane_axis and axis not in guarded_axes(part.output):
            yield from ((axis, size) for size in sizes)


def _shared_axes(program: Program, last: Piece, target: Target) -> Iterator[tuple[str, list[int]]]:
    """The axes whose loop may be shared, each with the blocks to try: divisors of its extent.

    Whole vectors along the vectorised axis, a cache line at least, since what is read and written
    outside of the nest is touched in strips of a block. Of the axis that register tiles take as
    rows, whole tiles, and none where the tiles would lose their rows to a loop further out. Where a
    border does not read the reduction, single positions: a test decides for each of them.
    """
    part = roles(program, last.output, last.reduction, target.lanes)
    if part is None:
        return
    output, reduction = part.output, part.reduction
    long = [a for a in output.axes if a.extent > 1 and a.name != part.tile_axis]
    scalar = part.tile_axis if reduction is not None and part.lane_axis is None else None
    for axis in output.axes:
        least = 1
        if axis.name == scalar:
            continue
        if axis.name == part.lane_axis:
            least = max(target.lanes, target.line_bytes // 4)
        elif axis.name == part.row_axis:
            if len(long) > 1:
                continue
            least = _TILE_ROWS
        blocks = [n for n in range(least, axis.extent // 2 + 1) if axis.extent % n == 0]
        if axis.name == part.lane_axis:
            blocks = [n for n in blocks if n % target.lanes == 0]
        elif reduction is not None and is_bordered(output, reduction, output.loop(axis.name)):
            blocks = [n for n in blocks if n == 1]
        if blocks:
            yield axis.name, blocks


def _tiles(program: Program, piece: Piece, axis: str, target: Target) -> tuple[int | bool, ...]:
    """What an axis is in a result's tiles, by which its blocks are chosen; empty without it."""
    part = roles(program, piece.output, piece.reduction, target.lanes)
    if part is None or all(a.name != axis for a in part.output.axes):
        return ()
    output, reduction = part.output, part.reduction
    extent = output.axis(axis).extent
    bordered = reduction is not None and is_bordered(output, reduction, output.loop(axis))
    own = (axis == part.lane_axis, axis == part.tile_axis, axis == part.row_axis)
    return (extent, bordered, *own)


def _moves_outermost(program: Program, found: Footprint, outer: Sequence[str]) -> bool:
    """Whether a producer moves along one dimension, and keeps no long loop outside of its rows."""
    if found.dimension is None or found.moving.step <= 0 or found.moving.window >= found.extent:
        return False
    if not keeps_rows(program.stage(found.stage), found):
        return True
    return all(span.window == 1 for span in found.spans[: found.dimension])


def _cuts_vectors(program: Program, piece: Piece, found: Footprint | None, target: Target) -> bool:
    """Whether blocks of a producer's vectorised axis are no whole vectors."""
    part = roles(program, piece.output, piece.reduction, target.lanes)
    if found is None or part is None or part.lane_axis is None:
        return False
    if moving_axis(part.output, found) != part.lane_axis:
        return False
    return any(size % target.lanes for size in (found.moving.step, found.moving.window))


def _stays_apart(program: Program, piece: Piece, run: Run, target: Target) -> str:
    """Why a piece cannot be scheduled in a nest; an empty string where it can."""
    types = buffer_types(program.buffers)
    names = [n for n in (piece.output, piece.reduction) if n is not None]
    if not all(is_real_stage(program.stage(n), types) for n in names):
        return "it is not made of float32"
    if piece is not run.pieces[-1] and _is_ragged(program, piece, target.lanes):
        return "its channels are no whole vectors"
    return ""


def _is_ragged(program: Program, piece: Piece, lanes: int) -> bool:
    """Whether a piece's vectorised axis is no whole number of vectors: rounding is not read."""
    part = roles(program, piece.output, piece.reduction, lanes)
    if part is None or part.lane_axis is None:
        return part is None
    return part.output.axis(part.lane_axis).extent % lanes != 0


def _best_segments(count: int, best: dict[tuple[int, int], NestChoice]) -> RankedPlan:
    """The disjoint runs that gain most together."""
    value: list[tuple[float, tuple[NestChoice, ...]]] = [(0.0, ())]
    for end in range(count):
        options = [value[end]]
        for (first, last), choice in best.items():
            if last == end and choice.gain.cycles > 0:
                before, chosen = value[first]
                options.append((before + choice.gain.cycles, (*chosen, choice)))
        value.append(max(options, key=lambda option: option[0]))
    return _plan(value[-1][1])
