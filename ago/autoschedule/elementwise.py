"""Vectorises the nests of an element-wise stage: its interior, and borders that were peeled off.

Read `tile_elementwise` first. Where no loop is contiguous in all accesses, the one along which the
loads are is vectorised, and the one along which the store is is unrolled around it: lanes are
transposed in registers as they are stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ago.errors import ScheduleError
from ago.ir.functions import SLOW
from ago.ir.index import Index, variables
from ago.ir.nest import For, If, Leaf, Stmt, Store
from ago.ir.program import Program
from ago.ir.value import Call, Load, Select, Value, loads
from ago.schedule.annotate import unroll, vectorize
from ago.schedule.reorder import reorder
from ago.schedule.split import split
from ago.schedule.trace import Schedule
from ago.schedule.tree import find_loop

MOST_UNROLLED = 8
"""Most vector statements in the body of a loop, and most rows of a transposed tile."""


@dataclass(frozen=True, slots=True)
class _Nest:
    """A leaf and the loops that hold nothing else, outermost first, with their iterations."""

    leaf: Store
    loops: Mapping[str, int]


def tile_elementwise(
    schedule: Schedule, stage: str, lanes: int, kept: Collection[str] = ()
) -> None:
    """Vectorise every nest of a stage that is still serial.

    Args:
        schedule: The schedule.
        stage: An element-wise stage; loops around several statements stay as they are.
        lanes: float32 lanes of a vector; 1 for scalar code, which is left alone.
        kept: Loops that stay outside of all others, as they are.
    """
    if lanes == 1:
        return
    for found in list(_nests(schedule.program.body, stage, ())):
        loops = {loop: extent for loop, extent in found.loops.items() if loop not in kept}
        nest = _Nest(found.leaf, loops)
        long = [loop for loop, extent in nest.loops.items() if extent > 1]
        steps = {loop: _Steps.of(schedule.program, nest.leaf, loop) for loop in long}
        along = [loop for loop in long if steps[loop].contiguous]
        stored = [loop for loop in long if steps[loop].store == 1]
        loaded = [loop for loop in long if steps[loop].loads and loop not in stored]
        if along and not (loaded and _is_choice(steps[along[-1]], nest.loops[along[-1]], lanes)):
            _vectorize_along(schedule, nest, along[-1], lanes)
        elif stored and loaded:
            _transpose(schedule, nest, stored[-1], loaded[-1], lanes)


@dataclass(frozen=True, slots=True)
class _Steps:
    """How a leaf's accesses move with a loop.

    Attributes:
        store: Elements from one iteration's store to the next one's; None if that varies.
        loads: Whether every load's next element is its neighbour or the same.
        moves: Whether any load's next element is another one.
    """

    store: int | None
    loads: bool
    moves: bool

    @property
    def contiguous(self) -> bool:
        return self.store == 1 and self.loads

    @staticmethod
    def of(program: Program, leaf: Store, loop: str) -> _Steps:
        found = [_step(program, load.buffer, load.index, loop) for load in _inputs(program, leaf)]
        store = _step(program, leaf.buffer, leaf.index, loop)
        return _Steps(store, all(step in (0, 1) for step in found), any(s != 0 for s in found))


def _is_choice(steps: _Steps, extent: int, lanes: int) -> bool:
    """Whether a loop only chooses between loads for less than a vector of neighbours."""
    return not steps.moves and extent < lanes


def _nests(body: tuple[Stmt, ...], stage: str, loops: tuple[For, ...]) -> Iterator[_Nest]:
    """The nests of a stage's stores; a loop counts from the last test or fork outside it."""
    alone = len(body) == 1
    for stmt in body:
        match stmt:
            case For(kind="serial") if _holds_one(stmt):
                yield from _nests(stmt.body, stage, (*(loops if alone else ()), stmt))
            case For():
                yield from _nests(stmt.body, stage, ())
            case If(_, inner):
                innermost = alone and all(isinstance(s, Store) for s in inner)
                yield from _nests(inner, stage, loops if innermost else ())
            case Store() if stmt.stage == stage and loops:
                yield _Nest(stmt, {loop.name: _iterations(loop) for loop in loops})


def _holds_one(loop: For) -> bool:
    """Whether a loop holds a single leaf, and nothing beside it and the nests around it."""
    body = loop.body
    while len(body) == 1:
        (stmt,) = body
        if not isinstance(stmt, For | If):
            return True
        body = stmt.body
    return False


def _inputs(program: Program, leaf: Leaf) -> list[Load]:
    """The loads that no packing will lay out as the loops want them."""
    found = [load for load, _ in loads(leaf.value)]
    return [load for load in found if program.buffer(load.buffer).scope != "constant"]


def _step(program: Program, buffer: str, index: tuple[Index, ...], loop: str) -> int | None:
    """Elements between the accesses of neighbouring iterations; None where that varies."""
    total = 0
    for extent, position in zip(program.buffer(buffer).shape, index, strict=True):
        coefficient = position.coefficient(loop)
        if coefficient == 0 and loop in variables(position):
            return None
        total = total * extent + coefficient
    return total


def _vectorize_along(schedule: Schedule, nest: _Nest, loop: str, lanes: int) -> None:
    """Vectors along a contiguous loop; several of them, and of the next loop's, unrolled."""
    others = [name for name in nest.loops if name != loop]
    if [*others, loop] != list(nest.loops):
        schedule.apply(reorder, [*others, loop])
    budget = max(MOST_UNROLLED // (1 + _calls(nest.leaf.value)), 1)
    inner, vectors = _split_vectors(schedule, loop, lanes)
    schedule.apply(vectorize, inner)
    if vectors > budget:
        if budget > 1:
            _unroll_part(schedule, f"{loop}.0", budget)
        return
    if vectors > 1:
        schedule.apply(unroll, f"{loop}.0")
    if others and budget // vectors > 1:
        _unroll_part(schedule, others[-1], budget // vectors)


def _split_vectors(schedule: Schedule, loop: str, lanes: int) -> tuple[str, int]:
    """The loop over the lanes of a vector, and how many vectors there are."""
    extent = _extent(schedule, loop)
    if extent <= lanes:
        return loop, 1
    schedule.apply(split, loop, lanes, "exact" if extent % lanes == 0 else "guard")
    return f"{loop}.1", -(-extent // lanes)


def _unroll_part(schedule: Schedule, loop: str, factor: int) -> None:
    """Unroll some iterations of a loop: a divisor of all where one is near."""
    extent = _extent(schedule, loop)
    if extent <= factor:
        schedule.apply(unroll, loop)
        return
    near = [f for f in range(factor, factor // 2, -1) if extent % f == 0]
    schedule.apply(split, loop, near[0] if near else factor, "guard")
    schedule.apply(unroll, f"{loop}.1")


def _transpose(schedule: Schedule, nest: _Nest, stored: str, loaded: str, lanes: int) -> None:
    """Tiles of vectors along one loop times rows along the one in which stores are neighbours."""
    outer = [name for name in nest.loops if name not in (stored, loaded)]
    rows, vector = stored, loaded
    if nest.loops[stored] > MOST_UNROLLED:
        schedule.apply(split, stored, MOST_UNROLLED, "guard")
        outer.append(f"{stored}.0")
        rows = f"{stored}.1"
    if nest.loops[loaded] > lanes:
        try:
            schedule.apply(split, loaded, lanes, "shift")
        except ScheduleError:
            schedule.apply(split, loaded, lanes, "guard")
        outer.append(f"{loaded}.0")
        vector = f"{loaded}.1"
    schedule.apply(reorder, [*outer, rows, vector])
    schedule.apply(unroll, rows)
    schedule.apply(vectorize, vector)


def _extent(schedule: Schedule, loop: str) -> int:
    return _iterations(find_loop(schedule.program, loop))


def _iterations(loop: For) -> int:
    """The iterations of a loop; 1 where their number varies."""
    return loop.extent.const if loop.extent.is_constant else 1


def _calls(value: Value) -> int:
    """Calls of functions that are no single instructions in a value."""
    match value:
        case Call(function, args):
            return (function in SLOW) + sum(map(_calls, args))
        case Select(_, then, otherwise):
            return _calls(then) + _calls(otherwise)
    return 0
