"""Whether the iterations of a parallel or vector loop touch disjoint elements.

Read `find_race` first. A proof is one expression of the index whose range, in one iteration, lies
wholly before its range in the next one. The test is conservative: no proof counts as a race.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ago.ir.bounds import Bounds, bounds_of, extremes, loop_ranges
from ago.ir.index import FloorDiv, Index, Mod, as_index, substitute, var, variables
from ago.ir.interned import KEPT
from ago.ir.nest import Buffer, For, If, Leaf, Prefetch, Reduce, Stmt, Update
from ago.ir.proofs import never_negative_within
from ago.ir.value import loads

Span = tuple[Index, Index]
"""The smallest and the largest value of an index in one iteration."""


_SHORT = 64
"""Most iterations of a loop that are told apart in a proof."""


@dataclass(frozen=True, slots=True)
class Access:
    """One element that a leaf touches.

    Attributes:
        leaf: The statement.
        buffer: Name of the buffer.
        index: Which element.
        writes: Whether it is a store.
        loops: Loops around the leaf, outermost first.
    """

    leaf: Leaf
    buffer: str
    index: tuple[Index, ...]
    writes: bool
    loops: tuple[For, ...]


def accesses(body: tuple[Stmt, ...], loops: tuple[For, ...] = ()) -> Iterator[Access]:
    """Every access below `body` in program order: a leaf's loads, then its store.

    An update loads the element it stores; a whole reduction initialises it, so it does not.
    """
    for stmt in body:
        match stmt:
            case For():
                yield from accesses(stmt.body, (*loops, stmt))
            case If():
                yield from accesses(stmt.body, loops)
            case Prefetch():
                continue
            case _:
                values = (stmt.init, stmt.value) if isinstance(stmt, Reduce) else (stmt.value,)
                for value in values:
                    for load, _ in loads(value):
                        yield Access(stmt, load.buffer, load.index, False, loops)
                if isinstance(stmt, Update):
                    yield Access(stmt, stmt.buffer, stmt.index, False, loops)
                yield Access(stmt, stmt.buffer, stmt.index, True, loops)


def find_race(
    loop: For, outer: tuple[For, ...], buffers: Mapping[str, Buffer], everywhere: Sequence[Access]
) -> str | None:
    """Why iterations of `loop` may touch one element that they write; None if they cannot.

    A stack or register buffer used inside one parallel loop only is private to each iteration;
    that no iteration reads there what another one left is for the checked interpreter to see.

    Args:
        loop: A parallel or vector loop.
        outer: The loops around it, outermost first.
        buffers: The program's buffers by name.
        everywhere: All accesses of the program.
    """
    depth = len(outer)
    inside = [a for a in everywhere if len(a.loops) > depth and a.loops[depth] is loop]
    for access in inside:
        if isinstance(access.leaf, Reduce) and loop.name in access.leaf.loops:
            return f"reduction of {access.leaf.buffer} runs over it"
    low, high = loop_ranges((*outer, loop))[loop.name]
    if low >= high:
        return None
    for name in sorted({a.buffer for a in inside if a.writes}):
        touching = [a for a in inside if a.buffer == name]
        uses = sum(a.buffer == name for a in everywhere)
        private = loop.kind == "parallel" and buffers[name].scope in ("stack", "register")
        if private and uses == len(touching):
            continue
        if not _separated(loop, outer, touching):
            return f"its iterations may touch the same elements of {name}"
    return None


def _separated(loop: For, outer: tuple[For, ...], touching: Sequence[Access]) -> bool:
    """Whether one coordinate orders what the iterations of `loop` touch."""
    coordinates = [list(_coordinates(access.index)) for access in touching]
    count = min(map(len, coordinates))
    depth = len(outer) + 1
    for number in range(count):
        spans = [
            extremes(own[number], access.loops[depth:])
            for own, access in zip(coordinates, touching, strict=True)
        ]
        if _ordered(loop, outer, spans):
            return True
    return False


def _ordered(loop: For, outer: tuple[For, ...], spans: Sequence[Span]) -> bool:
    """Whether all spans of one iteration lie before all spans of the next, or all after."""
    distinct = tuple(dict.fromkeys(spans))
    names = {loop.name}.union(*(variables(end) for span in distinct for end in span))
    return _are_ordered(loop.name, bounds_of((*outer, loop), names), distinct)


@lru_cache(maxsize=KEPT)
def _are_ordered(loop: str, bounds: Bounds, spans: tuple[Span, ...]) -> bool:
    step = {loop: var(loop) + 1}
    nexts = [(substitute(low, step), substitute(high, step)) for low, high in spans]

    def before(gaps: Iterator[Index]) -> bool:
        return all(_exceeds_zero(gap, loop, bounds) for gap in gaps)

    return before(low - high for low, _ in nexts for _, high in spans) or before(
        low - high for low, _ in spans for _, high in nexts
    )


def _exceeds_zero(gap: Index, loop: str, bounds: Bounds) -> bool:
    """Whether an index is at least 1 in each iteration of a loop but the last.

    Where a loop is short, as over the parts that threads take, its iterations are told apart: tiles
    at the end of a range, which overlap, do so in the last part only.
    """
    if never_negative_within(gap - 1, bounds):
        return True
    low, end = next((low, end) for name, low, end in bounds if name == loop)
    if not (end - low).is_constant or not low.is_constant or (end - low).const > _SHORT:
        return False
    return all(
        never_negative_within(substitute(gap, {loop: as_index(n)}) - 1, bounds)
        for n in range(low.const, end.const - 1)
    )


def _coordinates(index: tuple[Index, ...]) -> Iterator[Index]:
    """The dimensions of an index, and `e` where two of them are `e // n` and `e % n`."""
    yield from index
    atoms = [i.terms[0][0] for i in index if len(i.terms) == 1]
    for quotient in atoms:
        if isinstance(quotient, FloorDiv) and Mod(quotient.value, quotient.divisor) in atoms:
            yield quotient.value
