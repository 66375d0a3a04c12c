"""What a nest is worth, by the analytic model: cycles saved and cycles spent, each with its name.

Read `nest_gain` first. It counts traffic only where both ways differ: intermediate results against
their rings, and weights that each iteration streams again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ago.cost_model.analytic import candidate_tiles, stream_cycles, tile_cycles
from ago.fuse.footprint import Footprint, moving_axis
from ago.fuse.pieces import Piece, reads_of
from ago.fuse.problem import tile_problem, vector_choices
from ago.fuse.shape import reduction_axis, roles, stage_loads
from ago.fuse.strips import MIN_STEPS, Cut, best_cut, nest_steps, piece_steps
from ago.ir.identity import by_identity
from ago.ir.index import variables
from ago.ir.program import Program
from ago.target import Target

_ROW_CYCLES = 400.0
"""Cycles to begin and end a row of a ring: its index, its tests, its borders."""

_PHASE_CYCLES = 5000.0
"""Cycles in which a thread waits for the others before the next nest."""

EXPOSED = 0.25
"""Share of the cycles of traffic that arithmetic and prefetching leave to be seen."""


@dataclass(frozen=True, slots=True)
class Gain:
    """The terms of the model, in cycles; what is spent is negative.

    Attributes:
        traffic: Saved on intermediate results: each is written and read near the core.
        tiles: Spent on register tiles that blocks of channels make worse; saved where they are
            better.
        weights: Spent on weights that every iteration reads again.
        rows: Spent on the loops, tests and borders of rows that go into a ring one by one, and of
            their blocks.
        recompute: Spent on elements that are computed more than once.
        strips: With several threads: saved on meeting between pieces, spent on strips of unequal
            size and on the rows that both strips at a border compute.
        saved_bytes: Of intermediate results that no longer leave for the level that held them.
        working_set: Bytes that one iteration touches and the next one finds again.
        level: The cache that holds them: `L1`, `L2`, `L3` or `memory`.
        block_set: Bytes that one block inside an iteration writes and reads again; 0 where there
            are no blocks.
    """

    traffic: float
    weights: float
    tiles: float
    rows: float
    recompute: float
    saved_bytes: int
    working_set: int
    level: str
    strips: float = 0.0
    block_set: int = 0

    @property
    def cycles(self) -> float:
        """All terms together."""
        terms = (self.traffic, self.weights, self.tiles, self.rows, self.recompute, self.strips)
        return sum(terms)

    def __str__(self) -> str:
        terms = {
            "traffic": self.traffic,
            "weights": self.weights,
            "tiles": self.tiles,
            "rows": self.rows,
            "recompute": self.recompute,
            "strips": self.strips,
        }
        text = ", ".join(f"{name} {cycles:+,.0f}" for name, cycles in terms.items() if cycles)
        size = f"{self.working_set:,} B in {self.level}"
        if self.block_set:
            size += f", in blocks of {self.block_set:,} B in L1"
        return f"{self.cycles:+,.0f} cycles ({text or 'nothing'}; works on {size})"


def nest_gain(
    program: Program,
    pieces: Sequence[Piece],
    axis: str,
    found: Mapping[str, Footprint],
    factors: Mapping[str, Fraction],
    target: Target,
) -> Gain:
    """What the model expects a nest to save.

    Args:
        program: A naive program after `find_pieces`.
        pieces: The nest's, in order of execution.
        axis: The shared axis of the results.
        found: What an iteration reads of each producer.
        factors: How often each producer's elements are computed.
        target: Caches.
    """
    producers = [piece for piece in pieces if piece.output in found]
    windows = [found[piece.output] for piece in producers]
    sizes = [4.0 * math.prod(f.shape) for f in windows]
    reads = [sum(f.buffer in reads_of(program, piece) for piece in pieces) for f in windows]
    constants = [
        constant_bytes(program, piece, _moving(program, piece, axis, found)) for piece in pieces
    ]
    weights = sum(again for again, _ in constants)
    near = sum(4.0 * f.kept_elements for f in windows) + weights
    near += sum(parts for _, parts in constants) / windows[0].iterations
    visits = list(zip(sizes, reads, strict=True))
    apart = sum(stream_cycles(target, (2 + n) * size, size) for size, n in visits)
    together = sum(stream_cycles(target, (1 + n) * size, near) for size, n in visits)
    steps = max(f.iterations * f.repeats for f in windows)
    again = sum(
        max(float(factors[piece.output]) - 1.0, 0.0) * _work(program, piece, target)
        for piece in producers
    )
    busy = sum(_work(program, piece, target) for piece in pieces)
    moved = [size for size in sizes if cache_level(target, size) != cache_level(target, near)]
    return Gain(
        traffic=EXPOSED * (apart - together),
        weights=-_seen(stream_cycles(target, steps * weights, near), busy),
        tiles=sum(tile_gain(program, piece, found, target) for piece in pieces),
        rows=-_ROW_CYCLES * sum(f.extent * f.repeats for f in windows if f.slides),
        recompute=-again,
        saved_bytes=int(2 * sum(moved)),
        working_set=int(near),
        level=cache_level(target, near),
    )


def strip_gain(
    program: Program, pieces: Sequence[Piece], cuts: Sequence[Cut], target: Target, threads: int
) -> float:
    """What several threads save on a nest, against each piece shared by itself; cycles.

    Args:
        program: A naive program after `find_pieces`.
        pieces: The nest's, in order of execution.
        cuts: The loops of the nest that threads could share.
        target: The CPU.
        threads: How many threads there are.
    """
    saved, serial = 0.0, threads - 1.0
    for piece in pieces:
        if piece_steps(program, piece) < MIN_STEPS:
            saved += serial * _work(program, piece, target)
        elif piece is not pieces[-1]:
            saved += threads * _PHASE_CYCLES
    shared = cuts and nest_steps(program, pieces) >= MIN_STEPS
    waste = best_cut(cuts, threads).waste(threads) if shared else serial
    return saved - waste * sum(_work(program, piece, target) for piece in pieces)


def _moving(
    program: Program, piece: Piece, axis: str, found: Mapping[str, Footprint]
) -> str | None:
    """The axis of a piece's output that moves with the shared loop."""
    window = found.get(piece.output)
    return axis if window is None else moving_axis(program.stage(piece.output), window)


def constant_bytes(program: Program, piece: Piece, axis: str | None) -> tuple[float, float]:
    """Bytes of constants that a piece reads in every iteration, and of those read in parts.

    `axis` is the axis of its output that moves with the shared loop: what is indexed by it is read
    part by part.
    """
    output = program.stage(piece.output)
    stages = [output]
    moving = {output.loop(axis)} if axis else set()
    if piece.reduction is not None:
        inner = program.stage(piece.reduction)
        stages.append(inner)
        own = reduction_axis(output, inner, axis) if axis else None
        moving |= {inner.loop(own)} if own else set()
    again, parts = 0.0, 0.0
    for load in {load.buffer: load for stage in stages for load in stage_loads(stage)}.values():
        buffer = program.buffer(load.buffer)
        if buffer.scope != "constant":
            continue
        if any(moving & variables(i) for i in load.index):
            parts += buffer.nbytes
        else:
            again += buffer.nbytes
    return again, parts


def _seen(streamed: float, busy: float) -> float:
    """Cycles of a stream that arithmetic does not hide: more of them, the less of it there is."""
    return streamed * min(max(EXPOSED, streamed / busy), 1.0)


def cache_level(target: Target, nbytes: float) -> str:
    """The level that holds data of so many bytes."""
    sizes = {"L1": target.l1_bytes, "L2": target.l2_bytes, "L3": target.l3_bytes}
    return next((name for name, size in sizes.items() if nbytes <= 0.75 * size), "memory")


def tile_gain(
    program: Program, piece: Piece, found: Mapping[str, Footprint], target: Target
) -> float:
    """Cycles that a producer gains in blocks of its vectorised axis, by its best register tiles."""
    window = found.get(piece.output)
    if window is None or piece.reduction is None:
        return 0.0
    part = roles(program, piece.output, piece.reduction, target.lanes)
    if part is None or part.lane_axis is None:
        return 0.0
    if moving_axis(part.output, window) != part.lane_axis:
        return 0.0
    whole = max(window.extent // target.lanes, 1)
    block = max(window.moving.window // target.lanes, 1)
    blocks = window.iterations
    apart = _cycles(program, piece, whole, target)
    return apart - blocks * _cycles(program, piece, block, target)


@by_identity(4)
def _cycles(program: Program, piece: Piece, vectors: int, target: Target) -> float:
    """Cycles of a piece's reduction over so many vectors of its lane axis, best tile, data near."""
    lanes = target.lanes
    part = roles(program, piece.output, piece.reduction, lanes)
    assert part is not None
    lane = part.lane_axis
    assert lane is not None
    problem = replace(tile_problem(program, part, lane, part.row_axis, lanes), vectors=vectors)
    choices = vector_choices(program, part, lane, lanes, vectors)
    return tile_cycles(problem, candidate_tiles(problem, target, choices)[0], target)


def _work(program: Program, piece: Piece, target: Target) -> float:
    """Cycles of a piece's arithmetic at the peak."""
    return piece_steps(program, piece) / (target.lanes * target.fma_pipes)
