"""Builds nests: producers are computed at the shared loop, slide along with it, and keep rings.

Read `build_nest` first. It goes from the last piece to the first, since `compute_at` moves naive
nests only; what becomes of each piece's own loops is for the caller to say, who may tile them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ago.fuse.blocks import parts_of, ring_layout
from ago.fuse.footprint import Footprint, keeps_rows, moving_axis, outer_axes
from ago.fuse.legality import check_nest, check_plan
from ago.fuse.pieces import Piece, find_pieces
from ago.fuse.plan import FusionPlan, Nest
from ago.fuse.shape import guarded_axes
from ago.fuse.strips import MIN_STEPS, Cut, best_cut, cut_steps, nest_cuts, nest_steps
from ago.ir.nest import Stage
from ago.ir.program import Program
from ago.schedule.compute_at import compute_at
from ago.schedule.compute_with import compute_with
from ago.schedule.divide_axis import divide_axis
from ago.schedule.fold_storage import fold_storage
from ago.schedule.parallel import parallel
from ago.schedule.privatize import privatize
from ago.schedule.slide import slide
from ago.schedule.store_at import store_at
from ago.schedule.trace import Schedule
from ago.schedule.transform_layout import transform_layout


@dataclass(frozen=True, slots=True)
class Seat:
    """A piece at its place in a nest, its own loops still whole.

    Attributes:
        piece: The piece.
        axis: The axis of its output that moves with the shared loop; the shared axis itself in the
            last piece. None where none does.
        kept: How many of its output's outermost axes other pieces, or its ring, depend on: their
            loops stay as they are.
        cut: Whether it is computed in blocks, or its axis is: the layout of what it reads or writes
            is known only for register tiles that divide a block.
    """

    piece: Piece
    axis: str | None
    kept: int
    cut: bool = False


@dataclass(frozen=True, slots=True)
class OpenNest:
    """A legal nest with its shared loop made, and nothing computed at it yet.

    Attributes:
        nest: With the shared axis as the program has it now; block 1.
        pieces: Its pieces in order of execution.
        footprints: What an iteration reads of each producer, by stage.
        parts: What a block reads of each producer computed in blocks.
        shared: The axes of its results that the loops down to the shared one run over.
    """

    nest: Nest
    pieces: tuple[Piece, ...]
    footprints: Mapping[str, Footprint]
    parts: Mapping[str, Footprint]
    shared: tuple[str, ...]

    def block_loop(self, stage: str) -> str | None:
        """The loop over blocks that a producer is computed at; None outside of blocks."""
        blocks = self.nest.blocks
        return blocks.loop if blocks is not None and stage in self.parts else None

    def is_cut(self, stage: str) -> bool:
        """Whether a stage is computed in blocks, or cut into them."""
        blocks = self.nest.blocks
        return blocks is not None and (stage in self.parts or stage == blocks.reader)


def fuse(program: Program, plan: FusionPlan) -> Schedule:
    """Compute the stages of a naive program as a plan says; nothing is tiled.

    Args:
        program: A naive program.
        plan: Names the stages that `find_pieces` leaves, such as one of `rank_plans`.

    Returns:
        The schedule, with the fused program and its trace.

    Raises:
        FusionError: The plan is illegal.
    """
    schedule = Schedule(program)
    pieces = find_pieces(schedule)
    check_plan(schedule.program, pieces, plan)
    opened = [open_nest(schedule, pieces, nest) for nest in plan.nests]

    def finish(seat: Seat) -> None:
        if seat.piece.reduction is not None:
            output = schedule.program.stage(seat.piece.output)
            at = output.axes[max(seat.kept, 1) - 1].name
            schedule.apply(compute_at, seat.piece.reduction, output.loop(at))

    for nest in reversed(opened):
        build_nest(schedule, nest, finish)
    return schedule


def open_nest(schedule: Schedule, pieces: Sequence[Piece], nest: Nest) -> OpenNest:
    """Make the shared loop of a nest in a naive program.

    Blocks, and an axis inside of others that cannot stay outside, need a loop of their own.

    Args:
        schedule: Of a naive program after `find_pieces`.
        pieces: All its pieces.
        nest: What is asked.

    Raises:
        FusionError: It is illegal.
    """
    program = schedule.program
    found = check_nest(program, pieces, nest)
    by_name = {piece.output: piece for piece in pieces}
    members = tuple(by_name[stage] for stage in nest.stages)
    outer = outer_axes(program, members, nest.axis, nest.beside)
    shared = (*outer, nest.axis)
    names = [a.name for a in program.stage(nest.output).axes]
    if nest.block > 1 or names.index(nest.axis) > len(outer):
        schedule.apply(divide_axis, nest.output, nest.axis, nest.block, len(outer))
        nest = replace(nest, axis=f"{nest.axis}_o", block=1)
    parts = parts_of(program, members, nest.blocks)
    if nest.blocks is not None:
        place = len(outer) + 1 if nest.blocks.reader == nest.output else 0
        blocks = nest.blocks
        schedule.apply(divide_axis, blocks.reader, blocks.axis, blocks.size, place)
    return OpenNest(nest, members, found, parts, shared)


def build_nest(
    schedule: Schedule, opened: OpenNest, finish: Callable[[Seat], None], threads: int = 1
) -> None:
    """Compute the producers of a nest at its shared loop, and further results beside its output.

    For several threads the nest becomes a parallel loop over strips. Each has a copy of its own of
    what the nest keeps between its pieces, and begins with a whole window.

    Args:
        schedule: The schedule; the pieces' nests are still naive.
        opened: The nest.
        finish: Schedules a piece's own loops, and its reduction, once it has its place.
        threads: How many threads share the nest.
    """
    nest = opened.nest
    names = [a.name for a in schedule.program.stage(nest.output).axes]
    cut = _cut(schedule.program, opened, names[: names.index(nest.axis)], threads)
    is_cut = opened.is_cut(nest.output)
    finish(Seat(opened.pieces[-1], nest.axis, names.index(nest.axis) + 1 + is_cut, is_cut))
    loop, home = nest.loop, None
    if cut is not None:
        steps, strips = cut_steps(cut, threads)
        for primitive, args in steps:
            schedule.apply(primitive, *args)
        home = strips.home
        if cut.path[-1] == loop:
            loop = strips.rest or strips.home
    slides = {p.stage for p in nest.producers if p.ring and opened.footprints[p.stage].slides}
    slides = slides if loop != home else set()
    axes: dict[str, str | None] = {}
    for piece in reversed(opened.pieces[:-1]):
        stage = schedule.program.stage(piece.output)
        if stage.name in nest.beside:
            schedule.apply(compute_with, stage.name, nest.loop, opened.shared)
            finish(_seat_beside(stage, piece, opened.shared))
            continue
        found = opened.footprints[stage.name]
        seat = _seat(opened, piece, stage)
        axes[stage.name] = seat.axis
        at = opened.block_loop(stage.name) or loop
        schedule.apply(compute_at, stage.name, at)
        if stage.name not in slides:
            schedule.apply(store_at, found.buffer, at, "workspace")
        if home is not None:
            schedule.apply(privatize, found.buffer, home)
        finish(seat)
    _slide_windows(schedule, opened, {s: axes[s] for s in slides}, loop, int(home is not None))
    for part in (part for name, part in opened.parts.items() if name in slides):
        schedule.apply(transform_layout, part.buffer, ring_layout(part))
    if home is not None:
        schedule.apply(parallel, home)


def _slide_windows(
    schedule: Schedule, opened: OpenNest, axes: Mapping[str, str | None], loop: str, copies: int
) -> None:
    """Let the windows of the given stages slide along `loop`; their buffers begin with `copies`.

    Producers come first: a window is plain only while its reader's own has not begun to slide.
    """
    for stage in (p.stage for p in opened.nest.producers if p.stage in axes):
        found, axis = opened.footprints[stage], axes[stage]
        assert axis is not None
        assert found.dimension is not None
        schedule.apply(slide, stage, axis, loop)
        schedule.apply(fold_storage, found.buffer, found.dimension + copies, loop)


def _cut(program: Program, opened: OpenNest, outer: Sequence[str], threads: int) -> Cut | None:
    """How threads share a nest; None for one thread, several results, or too little to do."""
    if threads == 1 or opened.nest.beside or nest_steps(program, opened.pieces) < MIN_STEPS:
        return None
    cuts = nest_cuts(program, opened.pieces, outer, opened.nest.loop, opened.footprints)
    return best_cut(cuts, threads) if cuts else None


def _seat(opened: OpenNest, piece: Piece, stage: Stage) -> Seat:
    """The place of a producer: its ring's rows, and blocks of it, are loops that stay."""
    found = opened.footprints[stage.name]
    axis = moving_axis(stage, found)
    names = [a.name for a in stage.axes]
    kept = names.index(axis) + 1 if axis is not None and keeps_rows(stage, found) else 0
    blocks = opened.nest.blocks
    if blocks is not None and stage.name == blocks.reader:
        kept = max(kept, 1)
    return Seat(piece, axis, kept, opened.is_cut(stage.name))


def _seat_beside(stage: Stage, piece: Piece, shared: Sequence[str]) -> Seat:
    """The place of a further result; a guard on its position in the shared loop stays alone."""
    guarded = shared[-1] in guarded_axes(stage)
    kept = [a.name for a in stage.axes].index(shared[-1]) + 1 if guarded else 0
    return Seat(piece, shared[-1], kept)
