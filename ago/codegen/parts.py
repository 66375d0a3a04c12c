"""The parts of a function that threads share: iterations of its outermost parallel loops.

Read `Phase` and `find_phases` first. A function whose nests are parallel takes the number of a part
and computes that part alone. Parts are numbered in order of phases; parts of one phase may run at
the same time, and a phase begins when the one before it has ended.
"""

from __future__ import annotations

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
    """

    pieces: tuple[Piece, ...]
    first: int
    count: int
    start: int | None


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
    first = 0
    for group in groups:
        start, count = _range(group) if _is_parallel(group[0]) else (None, 1)
        phases.append(Phase(tuple(group), first, count, start))
        first += count
    return tuple(phases)


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
