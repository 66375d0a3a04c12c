"""The sketch of one subgraph: from its naive program to a tiled, vectorised one.

Read `schedule_program` first. It emits a trace by rules over the program and asks the chooser for
register tile, loop order and unrolling; the analytic model puts its favourite first. A program that
fits no rule keeps its naive nests, which are always correct.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache, partial

from ago.autoschedule.borders import peel_borders
from ago.autoschedule.collector import collector_paused
from ago.autoschedule.nests import schedule_nest
from ago.autoschedule.packing import pack_constants
from ago.autoschedule.threads import share_work
from ago.autoschedule.tiles import tile_piece
from ago.errors import IRError, ScheduleError
from ago.fuse.groups import interleaving, ragged_group
from ago.fuse.nest import OpenNest, open_nest
from ago.fuse.pieces import Piece, find_pieces
from ago.fuse.rank import APART, FusionChoice, RankedPlan, Ranking, rank_plans
from ago.fuse.shape import Roles, roles
from ago.ir.identity import by_identity
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.ir.workload import workload_key
from ago.schedule.chooser import Chooser, Decision
from ago.schedule.collapse import collapse
from ago.schedule.round_axis import round_axis
from ago.schedule.trace import Schedule
from ago.target import Target

FUSION = "fusion"
"""The decision on the fusion plan, which is of no stage."""


@dataclass(frozen=True, slots=True)
class Sketched:
    """A scheduled program and the fusion plans it was chosen from.

    Attributes:
        schedule: Program and trace.
        fusion: The plans, ranked, and the one that was taken.
    """

    schedule: Schedule
    fusion: FusionChoice


def schedule_program(program: Program, target: Target, chooser: Chooser | None = None) -> Schedule:
    """Schedule a naive program for a target.

    Args:
        program: Any naive program. Each reduction with the element-wise stages after it becomes
            one nest, or several of them do; a piece that fits no rule stays naive.
        target: The CPU.
        chooser: Who decides; by default the analytic model's favourites are taken.

    Returns:
        The schedule: program and trace.
    """
    return sketch_program(program, target, chooser).schedule


def sketch_program(
    program: Program,
    target: Target,
    chooser: Chooser | None = None,
    *,
    intensive_fusion: bool = True,
    threads: int = 1,
) -> Sketched:
    """Schedule a naive program for a target, and keep the fusion plans beside it.

    Args:
        program: Any naive program.
        target: The CPU.
        chooser: Who decides; by default the analytic model's favourites are taken.
        intensive_fusion: Whether one nest may hold several convolutions or matrix products.
        threads: How many threads share the work.

    Returns:
        The schedule and the plans.
    """
    ranking = fusion_ranking(program, target, intensive_fusion=intensive_fusion, threads=threads)
    with collector_paused():
        made = _sketch_ranked(program, target, chooser, ranking, threads)
        if threads > 1:
            share_work(made.schedule, threads)
    return made


def fusion_ranking(
    program: Program, target: Target, *, intensive_fusion: bool = True, threads: int = 1
) -> Ranking:
    """The fusion plans that `sketch_program` chooses from; found once for each workload."""
    return _rank(_Task(workload_key(program), target, intensive_fusion, threads, program))


def _sketch_ranked(
    program: Program, target: Target, chooser: Chooser | None, ranking: Ranking, threads: int
) -> Sketched:
    """Schedule by one of the ranked plans; one that the primitives refuse is left to the others."""
    while True:
        started = _start(program, chooser, ranking)
        try:
            _schedule_pieces(started, target, threads)
        except (ScheduleError, IRError) as refusal:
            if not started.taken.choices:
                raise
            reason = str(refusal).split("\n", maxsplit=1)[0]
            ranking = ranking.without(started.taken, reason)
            continue
        return Sketched(started.schedule, FusionChoice(started.taken, ranking))


@dataclass(frozen=True, slots=True)
class _Task:
    """What a ranking depends on; the program is told by its workload."""

    workload: str
    target: Target
    intensive: bool
    threads: int
    program: Program = field(compare=False)


@lru_cache(maxsize=64)
def _rank(task: _Task) -> Ranking:
    """The fusion plans of a program: the same for all of a search's candidates."""
    schedule, pieces = _cut(task.program)
    return rank_plans(
        schedule.program, pieces, task.target, intensive=task.intensive, threads=task.threads
    )


@by_identity(64)
def _cut(program: Program) -> tuple[Schedule, tuple[Piece, ...]]:
    """The program cut into pieces, neighbouring axes collapsed: what all candidates begin with."""
    schedule = Schedule(program)
    pieces = find_pieces(schedule)
    for piece in pieces:
        _collapse_spatial(schedule, piece.output)
    return schedule, tuple(pieces)


@dataclass(frozen=True, slots=True)
class _Started:
    """A program cut into pieces, and the plan that was taken for them."""

    schedule: Schedule
    pieces: tuple[Piece, ...]
    taken: RankedPlan


def _start(program: Program, chooser: Chooser | None, ranking: Ranking) -> _Started:
    """Let the chooser take a plan of a ranking for the pieces of a program."""
    cut, pieces = _cut(program)
    schedule = cut.fork(chooser)
    by_name = {str(ranked.plan): ranked for ranked in ranking.plans}
    taken = APART
    if len(by_name) > 1:
        explain = partial(_explain, ranking)
        taken = by_name[str(schedule.decide(FUSION, tuple(by_name), explain))]
    return _Started(schedule, pieces, taken)


def _schedule_pieces(started: _Started, target: Target, threads: int) -> None:
    """Schedule by the plan that was taken; a fused program is verified."""
    schedule, pieces, taken = started.schedule, started.pieces, started.taken
    lanes = {piece: _round_lanes(schedule, piece, target) for piece in pieces}
    opened = {nest.output: open_nest(schedule, pieces, nest) for nest in taken.plan.nests}
    fused = {piece for nest in opened.values() for piece in nest.pieces}
    for piece in reversed(pieces):
        if piece.output in opened:
            _schedule_nest(schedule, opened[piece.output], lanes, target, threads)
        elif piece not in fused:
            _schedule_alone(schedule, piece, lanes[piece], target)
    pack_constants(schedule)
    if taken.choices:
        verify(schedule.program)


def _explain(ranking: Ranking, choice: Decision) -> str:
    """What the model thinks of a plan."""
    ranked = next(r for r in ranking.plans if str(r.plan) == choice)
    return "; ".join(str(c.gain) for c in ranked.choices) or "nothing saved, nothing spent"


def _schedule_nest(
    schedule: Schedule, opened: OpenNest, lanes: dict[Piece, int], target: Target, threads: int
) -> None:
    def roles_of(piece: Piece) -> Roles | None:
        return roles(schedule.program, piece.output, piece.reduction, lanes[piece])

    schedule_nest(schedule, opened, lanes, roles_of, target, threads)


def _schedule_alone(schedule: Schedule, piece: Piece, lanes: int, target: Target) -> None:
    part = roles(schedule.program, piece.output, piece.reduction, lanes)
    if part is None:
        return
    peel_borders(schedule, part, part.lane_axis if lanes > 1 else None)
    tile_piece(schedule, part, lanes, target)


def _collapse_spatial(schedule: Schedule, output: str) -> None:
    """Merge neighbouring spatial axes of the output wherever no access tells them apart."""
    position = 0
    while True:
        axes = schedule.program.stage(output).axes
        if position + 2 >= len(axes):
            return
        try:
            schedule.apply(collapse, output, axes[position].name, axes[position + 1].name)
        except ScheduleError:
            position += 1


def _round_lanes(schedule: Schedule, piece: Piece, target: Target) -> int:
    """Round the vectorised axis to whole vectors; returns the lanes to use, 1 for scalar code."""
    part = roles(schedule.program, piece.output, piece.reduction, target.lanes)
    if part is None or part.lane_axis is None:
        return 1
    if part.reduction is not None and ragged_group(part, part.lane_axis, target.lanes):
        return target.lanes
    whole_tile = target.lanes * interleaving(schedule.program, part, part.lane_axis, target.lanes)
    try:
        schedule.apply(round_axis, part.output.name, part.lane_axis, whole_tile)
    except ScheduleError:
        extent = part.output.axis(part.lane_axis).extent
        return target.lanes if extent % whole_tile == 0 else 1
    return target.lanes
