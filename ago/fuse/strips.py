"""Strips of a nest: which of its loops threads share, and what each strip keeps for itself.

Read `Strips` first. A strip is what one iteration of a parallel loop computes. Rings do not reach
over its border: it computes the first window of rows whole, also those that its neighbour has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ago.fuse.footprint import Footprint
from ago.fuse.pieces import Piece
from ago.ir.program import Program
from ago.schedule.reorder import reorder
from ago.schedule.split import split

Step = tuple[Callable[..., Program], tuple[Any, ...]]
"""A primitive and its arguments after the program."""

MIN_STEPS = 20_000
"""Innermost iterations below which a nest is not worth waking a thread for."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A loop that threads could share.

    Attributes:
        path: The loops outside it, and it, outermost first.
        weights: What each of its iterations has to do; only their ratios count.
        again: Of a nest's work, the share that each strip but the first repeats.
    """

    path: tuple[str, ...]
    weights: tuple[int, ...]
    again: float = 0.0

    def chunk(self, threads: int) -> int:
        """How many iterations a thread takes."""
        return math.ceil(len(self.weights) / threads)

    def waste(self, threads: int) -> float:
        """What threads do beyond one's work, idle time included, as a share of that work."""
        chunk, total = self.chunk(threads), sum(self.weights)
        strips = [self.weights[n : n + chunk] for n in range(0, len(self.weights), chunk)]
        longest = max(map(sum, strips))
        return (1.0 + self.again * (len(strips) - 1)) * threads * longest / total - 1.0


@dataclass(frozen=True, slots=True)
class Strips:
    """A loop that has been cut.

    Attributes:
        home: The outermost loop, of whose iterations each is a strip.
        rest: What is left of the loop inside of a strip; None where that is one iteration.
    """

    home: str
    rest: str | None


def nest_cuts(
    program: Program,
    pieces: Sequence[Piece],
    outer: Sequence[str],
    loop: str,
    found: Mapping[str, Footprint],
) -> list[Cut]:
    """The loops of a nest that threads could share: the shared one, and those outside of it.

    Args:
        program: A naive program after `find_pieces`.
        pieces: The nest's, in order of execution.
        outer: The axes outside the shared loop.
        loop: The shared loop.
        found: What an iteration reads of each producer.
    """
    output, work = program.stage(pieces[-1].output), nest_steps(program, pieces)
    rows = 0.0
    for piece in pieces[:-1]:
        window = found[piece.output]
        if window.slides:
            kept = window.moving.window - window.moving.step
            rows += piece_steps(program, piece) * kept / window.extent
    extents = [(output.loop(a), output.axis(a).extent, 0.0) for a in outer]
    iterations = found[pieces[0].output].iterations
    cuts: list[Cut] = []
    path: tuple[str, ...] = ()
    for name, extent, again in [*extents, (loop, iterations, rows / work)]:
        path = (*path, name)
        if extent > 1:
            cuts.append(Cut(path, (1,) * extent, again))
    return cuts


def nest_steps(program: Program, pieces: Sequence[Piece]) -> int:
    """Innermost iterations of some pieces."""
    return sum(piece_steps(program, piece) for piece in pieces)


def piece_steps(program: Program, piece: Piece) -> int:
    """Innermost iterations of a piece: of its reduction where it has one."""
    stage = program.stage(piece.reduction or piece.output)
    return math.prod(a.extent for a in stage.axes)


def best_cut(cuts: Sequence[Cut], threads: int) -> Cut:
    """The cut that wastes least; the outermost of equals, which come first."""
    return min(cuts, key=lambda cut: cut.waste(threads))


def cut_steps(cut: Cut, threads: int) -> tuple[list[Step], Strips]:
    """What cuts a loop into a strip for each thread, and brings the strips to the outside.

    The strips are not made parallel: what they keep for themselves has to be made private first.

    Args:
        cut: The loop; nothing stands beside the loops of its path.
        threads: How many threads there will be.

    Returns:
        The primitives with their arguments, and the loops that they make.
    """
    *outside, loop = cut.path
    chunk = cut.chunk(threads)
    strips, steps = Strips(loop, None), list[Step]()
    if chunk > 1:
        tail = "exact" if len(cut.weights) % chunk == 0 else "guard"
        steps.append((split, (loop, chunk, tail)))
        strips = Strips(f"{loop}.0", f"{loop}.1")
    if outside:
        steps.append((reorder, ([strips.home, *outside],)))
    return steps, strips
