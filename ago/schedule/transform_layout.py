"""`transform_layout`: the dimensions of an intermediate buffer are permuted and split."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ago.errors import ScheduleError
from ago.ir.bounds import Interval, loop_interval, simplify
from ago.ir.index import Index
from ago.ir.nest import Buffer, For, If, Leaf, Prefetch, Stage, Stmt
from ago.ir.program import Program
from ago.ir.value import Load, Value
from ago.schedule.parallel import keep_parallel
from ago.schedule.refusals import refuse
from ago.schedule.tree import intermediate_buffer, map_leaf, map_stage

_PART = re.compile(r"([A-Za-z_]\w*)(?:(//|%)(\d+))?")

_Ranges = Mapping[str, Interval]


@dataclass(frozen=True, slots=True)
class _Dimension:
    """A new dimension: an old one, or its quotient or remainder by a constant.

    Attributes:
        source: Position of the old dimension.
        operator: `"//"`, `"%"`, or an empty string for all of it.
        divisor: The constant; 1 for all of it.
    """

    source: int
    operator: str
    divisor: int

    def extent(self, shape: tuple[int, ...]) -> int:
        """Its size, for a buffer that had `shape`."""
        return self.divisor if self.operator == "%" else -(-shape[self.source] // self.divisor)

    def at(self, index: tuple[Index, ...]) -> Index:
        """Its position for the old `index`."""
        old = index[self.source]
        return old % self.divisor if self.operator == "%" else old // self.divisor


def transform_layout(program: Program, buffer: str, layout: str) -> Program:
    """Store a buffer with its dimensions in another order, and split, in all accesses.

    Rewrite::

        C: [8, 30]                                     C: [4, 8, 8]
        ... C[y, c] ...    →  (layout "y c -> c//8 y c%8")    ... C[c // 8, y, c % 8] ...

    Constants are laid out by `pack`, at compile time. Afterwards a producer of a split buffer has
    no region for `compute_at`, so place it first; a permutation is no obstacle.

    Requires:
        1. The buffer exists (`unknown-buffer`) and is an intermediate one (`not-intermediate`).
        2. The layout names each dimension once left of `->`, and right of it each of them whole,
           or once as `name//n` and once as `name%n` with the same n (`bad-layout`).
        3. Parallel loops stay provably free of races (`race`, `private-flow`).

    Args:
        program: The program.
        buffer: Name of the buffer.
        layout: Names of the old dimensions, `->`, and the new ones, separated by spaces.

    Returns:
        The rewritten program; indices are simplified with the ranges of their loops.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import chain
        >>> transform_layout(chain(4, 6), "S", "i j -> j//3 i j%3").buffer("S").shape
        (2, 4, 3)
    """
    old = intermediate_buffer(program, buffer)
    new = _parse(program, old, layout)
    shape = tuple(dimension.extent(old.shape) for dimension in new)
    body = _map_body(program.body, buffer, new, {})
    stages = tuple(_map_stage(stage, buffer, new) for stage in program.stages)
    after = replace(program, stages=stages, body=body).with_buffer(replace(old, shape=shape))
    return keep_parallel(program, after)


def _parse(program: Program, buffer: Buffer, layout: str) -> tuple[_Dimension, ...]:
    left, arrow, right = str(layout).partition("->")
    names = left.split()
    if not arrow or len(set(names)) != len(names) or len(names) != len(buffer.shape):
        message = f"{layout!r} does not name {len(buffer.shape)} dimensions, an arrow, and new ones"
        raise _refusal(program, buffer, message)
    dimensions: list[_Dimension] = []
    for part in right.split():
        match = _PART.fullmatch(part)
        if match is None or match[1] not in names or match[3] == "0":
            message = f"{part!r} in {layout!r} is no dimension, nor a quotient or remainder of one"
            raise _refusal(program, buffer, message)
        dimensions.append(_Dimension(names.index(match[1]), match[2] or "", int(match[3] or 1)))
    for source, name in enumerate(names):
        parts = sorted((d.operator, d.divisor) for d in dimensions if d.source == source)
        divisor = parts[0][1] if parts else 0
        if parts not in ([("", 1)], [("%", divisor), ("//", divisor)]):
            message = f"{layout!r} must hold {name} once, or as one quotient and one remainder"
            raise _refusal(program, buffer, message)
    return tuple(dimensions)


def _refusal(program: Program, buffer: Buffer, message: str) -> ScheduleError:
    hint = "an example for three dimensions: 'y x c -> c//8 y x c%8'"
    return refuse("bad-layout", program, f"{buffer.name}: {message}", hint=hint)


def _map_body(
    body: tuple[Stmt, ...], buffer: str, new: tuple[_Dimension, ...], ranges: _Ranges
) -> tuple[Stmt, ...]:
    result: list[Stmt] = []
    for stmt in body:
        match stmt:
            case For():
                inside = {**ranges, stmt.name: loop_interval(stmt, ranges)}
                result.append(replace(stmt, body=_map_body(stmt.body, buffer, new, inside)))
            case If():
                result.append(replace(stmt, body=_map_body(stmt.body, buffer, new, ranges)))
            case Prefetch():
                result.append(stmt)
            case _:
                result.append(_map_leaf(stmt, buffer, new, ranges))
    return tuple(result)


def _map_leaf(leaf: Leaf, buffer: str, new: tuple[_Dimension, ...], ranges: _Ranges) -> Leaf:
    mapped = map_leaf(leaf, lambda value: _load(value, buffer, new, ranges))
    if leaf.buffer != buffer:
        return mapped
    return replace(mapped, index=_at(leaf.index, new, ranges))


def _map_stage(stage: Stage, buffer: str, new: tuple[_Dimension, ...]) -> Stage:
    ranges = {stage.loop(a.name): (0, a.extent - 1) for a in stage.axes}
    mapped = map_stage(stage, lambda value: _load(value, buffer, new, ranges))
    if stage.buffer != buffer:
        return mapped
    return replace(mapped, index=_at(stage.index, new, ranges))


def _load(value: Value, buffer: str, new: tuple[_Dimension, ...], ranges: _Ranges) -> Value | None:
    if isinstance(value, Load) and value.buffer == buffer:
        return Load(buffer, _at(value.index, new, ranges))
    return None


def _at(
    index: tuple[Index, ...], new: tuple[_Dimension, ...], ranges: _Ranges
) -> tuple[Index, ...]:
    return tuple(simplify(dimension.at(index), ranges) for dimension in new)
