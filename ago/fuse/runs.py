"""Runs of consecutive pieces that may become one nest: producers read inside only, and results.

Read `find_runs` first. It looks at who reads what; axes, windows and worth come later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ago.fuse.pieces import Piece, reads_of
from ago.ir.program import Program

_LONGEST = 8
"""Most pieces of a nest."""


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive pieces of a program; the last one is a result.

    Attributes:
        first: Number of its first piece.
        pieces: Two or more, in order of execution.
        beside: Stages of further results among them.
    """

    first: int
    pieces: tuple[Piece, ...]
    beside: tuple[str, ...]

    @property
    def last(self) -> int:
        """Number of its last piece."""
        return self.first + len(self.pieces) - 1

    @property
    def results(self) -> tuple[Piece, ...]:
        """The last piece, and those beside it."""
        return tuple(p for p in self.pieces[:-1] if p.output in self.beside) + self.pieces[-1:]

    def __str__(self) -> str:
        return " + ".join(piece.output for piece in self.pieces)


def find_runs(program: Program, pieces: Sequence[Piece]) -> Iterator[Run]:
    """Runs in which every piece is a producer, which the run reads and nothing else, or a result.

    A result is not read in the run, with whose other pieces it shares producers.

    Args:
        program: A naive program after `find_pieces`.
        pieces: All its pieces.
    """
    buffers = [program.stage(piece.output).buffer for piece in pieces]
    reads = [reads_of(program, piece) for piece in pieces]
    readers = [[n for n, read in enumerate(reads) if buffer in read] for buffer in buffers]
    for first in range(len(pieces)):
        for last in range(first + 1, min(first + _LONGEST, len(pieces))):
            inner = range(first, last)
            beside = [n for n in inner if not any(reader <= last for reader in readers[n])]
            producers = [n for n in inner if n not in beside]
            private = all(max(readers[n]) <= last for n in producers)
            kept = {n: buffers[n] for n in producers}
            local = all(program.buffer(buffer).scope == "workspace" for buffer in kept.values())
            if private and local and _hangs_together(reads, kept, range(first, last + 1)):
                names = tuple(pieces[n].output for n in beside)
                yield Run(first, tuple(pieces[first : last + 1]), names)


def _hangs_together(reads: Sequence[Collection[str]], kept: Mapping[int, str], run: range) -> bool:
    """Whether producers and those that read them lead from the last piece to all others."""
    found, new = set(), {run[-1]}
    while new:
        found |= new
        near = {n for n, buffer in kept.items() if any(buffer in reads[m] for m in new)}
        near |= {n for n in run for m in new if m in kept and kept[m] in reads[n]}
        new = near - found
    return len(found) == len(run)
