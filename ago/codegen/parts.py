"""The parts of a function that threads share: iterations of its outermost parallel loops.

Read `Phase` and `find_phases` first. A function whose nests are parallel takes the number of a part
and computes that part alone. Parts are numbered in order of phases; parts of one phase may run at
the same time, and a phase begins when the one before it has ended. Phases that have nothing to do
with each other run side by side: `count_parts` says how many parts there are before threads meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ago.codegen.tree import (
    Assign,
    Block,
    Broadcast,
    Fetch,
    Load,
    Loop,
    Piece,
    Pointer,
    Register,
    Write,
)


@dataclass(frozen=True, slots=True)
class Phase:
    """Consecutive pieces of a function.

    Attributes:
        pieces: Loops over one parallel loop's range, cut or whole; or serial pieces.
        first: Number of its first part.
        count: How many parts it has; 1 if it is serial.
        start: First iteration of its parallel loop; None if it is serial.
        joins: Whether its parts may run beside those of the phase before it, and beside those that
            that one joins.
    """

    pieces: tuple[Piece, ...]
    first: int
    count: int
    start: int | None
    joins: bool = False


def find_phases(
    body: tuple[Piece, ...], pointers: tuple[Pointer, ...], private: frozenset[str]
) -> tuple[Phase, ...]:
    """The phases of a function; none where nothing in it is parallel.

    Args:
        body: Pieces of a function.
        pointers: The function's pointers, by number.
        private: Its buffers on the stack: where one is used in several phases, the function has no
            parts, because each call has a stack of its own.
    """
    groups: list[list[Piece]] = []
    for piece in body:
        if groups and _joins(groups[-1][-1], piece):
            groups[-1].append(piece)
        else:
            groups.append([piece])
    if not any(_is_parallel(group[0]) for group in groups) or _share(groups, pointers, private):
        return ()
    phases: list[Phase] = []
    first, beside = 0, _Touched(frozenset(), frozenset())
    for group in groups:
        start, count = _range(group) if _is_parallel(group[0]) else (None, 1)
        own = _touched(group, pointers)
        joins = bool(phases) and own.is_apart(beside)
        beside = own.with_(beside) if joins else own
        phases.append(Phase(tuple(group), first, count, start, joins))
        first += count
    return tuple(phases)


def count_parts(phases: Sequence[Phase]) -> tuple[int, ...]:
    """How many parts run at once, for each time that threads have to meet.

    Args:
        phases: Given by `find_phases`.
    """
    counts: list[int] = []
    for phase in phases:
        if phase.joins:
            counts[-1] += phase.count
        else:
            counts.append(phase.count)
    return tuple(counts)


@dataclass(frozen=True, slots=True)
class _Touched:
    """The buffers that some pieces read and those that they write."""

    reads: frozenset[str]
    writes: frozenset[str]

    def is_apart(self, other: _Touched) -> bool:
        """Whether neither writes what the other one touches."""
        return self.writes.isdisjoint(other.reads | other.writes) and self.reads.isdisjoint(
            other.writes
        )

    def with_(self, other: _Touched) -> _Touched:
        """Both together."""
        return _Touched(self.reads | other.reads, self.writes | other.writes)


def _touched(pieces: Iterable[Piece], pointers: tuple[Pointer, ...]) -> _Touched:
    """The buffers that pieces touch; hints do not count."""
    touched = _Touched(frozenset(), frozenset())
    for piece in pieces:
        if isinstance(piece, Block):
            loads = [n for n in piece.nodes if isinstance(n, Load | Broadcast)]
            stores = [a for a in piece.actions if isinstance(a, Write)]
            own = _Touched(_buffers(loads, pointers), _buffers(stores, pointers))
        else:
            own = _touched(piece.body, pointers)
        touched = touched.with_(own)
    return touched


def _buffers(
    accesses: Iterable[Load | Broadcast | Write], pointers: tuple[Pointer, ...]
) -> frozenset[str]:
    return frozenset(pointers[access.pointer].buffer for access in accesses)


def _is_parallel(piece: Piece) -> bool:
    return (
        isinstance(piece, Loop) and piece.parallel and piece.lo.is_constant and piece.hi.is_constant
    )


def _joins(before: Piece, piece: Piece) -> bool:
    """Whether a piece goes on with the phase of the one before it."""
    if not _is_parallel(before) or not _is_parallel(piece):
        return _is_parallel(before) == _is_parallel(piece)
    assert isinstance(before, Loop)
    assert isinstance(piece, Loop)
    return _origin(before) == _origin(piece) and before.hi == piece.lo


def _origin(loop: Loop) -> str:
    """The loop that a piece was cut from."""
    return loop.name.split(".cut", maxsplit=1)[0]


def _range(group: list[Piece]) -> tuple[int, int]:
    """First iteration and number of iterations of the loops of a phase."""
    loops = [piece for piece in group if isinstance(piece, Loop)]
    start = min(loop.lo.const for loop in loops)
    return start, max(loop.hi.const for loop in loops) - start


def _share(
    groups: list[list[Piece]], pointers: tuple[Pointer, ...], private: frozenset[str]
) -> bool:
    """Whether phases hand something over in registers or on the stack."""
    seen: set[str] = set()
    for group in groups:
        used = set().union(*(_private(piece, pointers, private) for piece in group))
        if used & seen:
            return True
        seen |= used
    return False


def _private(piece: Piece, pointers: tuple[Pointer, ...], private: frozenset[str]) -> set[str]:
    """Register variables and stack buffers that a piece uses."""
    if not isinstance(piece, Block):
        return set().union(*(_private(inner, pointers, private) for inner in piece.body))
    used: set[str] = set()
    for item in (*piece.nodes, *piece.actions):
        match item:
            case Register(name) | Assign(name):
                used.add(name)
            case Load() | Broadcast() | Write() | Fetch():
                used |= {pointers[item.pointer].buffer} & private
    return used
