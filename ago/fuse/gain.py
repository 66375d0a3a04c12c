"""What a nest is worth, by the analytic model: cycles saved and cycles spent, each with its name.

Read `nest_gain` first. It counts traffic only where both ways differ: intermediate results against
their rings, and weights that each iteration streams again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ago.cost_model.analytic import stream_cycles
from ago.fuse.footprint import Footprint
from ago.fuse.pieces import Piece
from ago.fuse.shape import stage_loads
from ago.ir.program import Program
from ago.target import Target


@dataclass(frozen=True, slots=True)
class Gain:
    """The terms of the model, in cycles; what is spent is negative.

    Attributes:
        traffic: Saved on intermediate results: each is written and read near the core.
        weights: Spent on weights that every iteration reads again.
        recompute: Spent on elements that are computed more than once.
        saved_bytes: Of intermediate results that no longer leave for the level that held them.
        working_set: Bytes that one iteration touches and the next one finds again.
        level: The cache that holds them: `L1`, `L2`, `L3` or `memory`.
    """

    traffic: float
    weights: float
    recompute: float
    saved_bytes: int
    working_set: int
    level: str

    @property
    def cycles(self) -> float:
        """All terms together."""
        return self.traffic + self.weights + self.recompute

    def __str__(self) -> str:
        terms = {
            "traffic": self.traffic,
            "weights": self.weights,
            "recompute": self.recompute,
        }
        text = ", ".join(f"{name} {cycles:+,.0f}" for name, cycles in terms.items() if cycles)
        size = f"{self.working_set:,} B in {self.level}"
        return f"{self.cycles:+,.0f} cycles ({text or 'nothing'}; works on {size})"


def nest_gain(
    program: Program,
    pieces: Sequence[Piece],
    found: Mapping[str, Footprint],
    factors: Mapping[str, Fraction],
    target: Target,
) -> Gain:
    """What the model expects a nest to save.

    Args:
        program: A naive program after `find_pieces`.
        pieces: The nest's, in order of execution.
        found: What an iteration reads of each producer.
        factors: How often each producer's elements are computed.
        target: Caches.
    """
    windows = [found[piece.output] for piece in pieces[:-1]]
    sizes = [4.0 * math.prod(f.shape) for f in windows]
    weights = sum(constant_bytes(program, piece) for piece in pieces)
    near = sum(4.0 * f.kept_elements for f in windows) + weights
    apart = sum(stream_cycles(target, 3 * size, size) for size in sizes)
    together = sum(stream_cycles(target, 2 * size, near) for size in sizes)
    steps = max(f.iterations * f.repeats for f in windows)
    again = sum(
        max(float(factors[piece.output]) - 1.0, 0.0) * _work(program, piece, target)
        for piece in pieces[:-1]
    )
    moved = [size for size in sizes if cache_level(target, size) != cache_level(target, near)]
    return Gain(
        traffic=apart - together,
        weights=-stream_cycles(target, steps * weights, near),
        recompute=-again,
        saved_bytes=int(2 * sum(moved)),
        working_set=int(near),
        level=cache_level(target, near),
    )


def constant_bytes(program: Program, piece: Piece) -> float:
    """Bytes of constants that a piece reads."""
    names = {piece.output, piece.reduction} - {None}
    loaded = {load.buffer for n in names if n for load in stage_loads(program.stage(n))}
    constants = (b for b in program.buffers if b.name in loaded and b.scope == "constant")
    return sum(4.0 * math.prod(b.shape) for b in constants)


def cache_level(target: Target, nbytes: float) -> str:
    """The level that holds data of so many bytes."""
    sizes = {"L1": target.l1_bytes, "L2": target.l2_bytes, "L3": target.l3_bytes}
    return next((name for name, size in sizes.items() if nbytes <= 0.75 * size), "memory")


def _work(program: Program, piece: Piece, target: Target) -> float:
    """Cycles of a piece's arithmetic at the peak."""
    stage = program.stage(piece.reduction or piece.output)
    return math.prod(a.extent for a in stage.axes) / (target.lanes * target.fma_pipes)
