"""Lowers symbolic tails: afterwards unrolled and vector loops have constant bounds and no test.

Read `resolve` first. Schedules write tails as `min`, `max` and guards that stay symbolic. Here the
serial loops around them are cut exactly where such a bound or guard changes, outermost first; each
part is simplified with its own ranges. Reductions are decomposed before, so that a reduce loop cut
in two keeps one initialisation.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from ago.codegen.breakpoints import Scope, crossings, kinks, steps
from ago.errors import CodegenError
from ago.ir.bounds import Interval, loop_interval, prove, simplify
from ago.ir.decompose import decompose
from ago.ir.index import Index, as_index, maximum, minimum, variables
from ago.ir.nest import For, If, Prefetch, Reduce, Stmt, Store, Update, walk
from ago.ir.program import Program
from ago.ir.reindexing import rename_loops, substitute_body
from ago.ir.simplify import simplify_body
from ago.ir.value import Condition, Load, Value, map_value, select_conditions

_CUT = re.compile(r"\.cut\d+$")

_Ranges = Mapping[str, Interval]


@dataclass(frozen=True, slots=True)
class _Context:
    """Where a statement stands.

    Attributes:
        ranges: Inclusive ranges of the enclosing loops.
        known: Indices that guards around it make at least 0.
        expanded: Enclosing unrolled and vector loops.
        inside: Whether an unrolled or vector loop encloses it.
    """

    ranges: _Ranges
    known: Condition
    expanded: frozenset[str]
    inside: bool

    def within(self, loop: For, span: Interval) -> _Context:
        """The context of the loop's body, its variable ranging over `span`.

        A vector loop counts as two iterations at least, so that no simplification makes its
        variable a constant and with it the vector a scalar.
        """
        inner = loop.kind in ("unrolled", "vector")
        if loop.kind == "vector":
            span = (span[0], max(span[1], span[0] + 1))
        return _Context(
            {**self.ranges, loop.name: span},
            self.known,
            self.expanded | {loop.name} if inner else self.expanded,
            self.inside or inner,
        )


def resolve(program: Program) -> Program:
    """Decompose reductions and cut serial loops until no unrolled or vector loop needs a test.

    Loops that never run vanish, serial and unrolled loops of one iteration become their constant,
    guards that always hold are dropped. Copies of loops have unique names that end in `.cutN`.

    Args:
        program: A scheduled program.

    Returns:
        The same computation with constant bounds of unrolled and vector loops.

    Raises:
        CodegenError: The extent of an unrolled or vector loop still depends on a serial loop.
    """
    resolver = _Resolver(program)
    context = _Context({}, (), frozenset(), inside=False)
    return program.with_body(resolver.body(decompose(program.body), context))


class _Resolver:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._registers = {b.name for b in program.buffers if b.scope == "register"}
        self._names: set[str] = set()

    def body(self, body: tuple[Stmt, ...], context: _Context) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in body:
            match stmt:
                case For(kind="serial" | "parallel"):
                    result.extend(self._serial(stmt, context))
                case For():
                    result.extend(self._expanded(stmt, context))
                case If():
                    result.extend(self._if(stmt, context))
                case _:
                    result.extend(simplify_body((stmt,), context.ranges, context.known))
        return tuple(result)

    def _if(self, guard: If, context: _Context) -> tuple[Stmt, ...]:
        condition = _undecided(guard.condition, context)
        if condition is None:
            return ()
        if not condition:
            return self.body(guard.body, context)
        inner = self.body(guard.body, replace(context, known=context.known + condition))
        return (If(condition, inner),) if inner else ()

    def _expanded(self, loop: For, context: _Context) -> tuple[Stmt, ...]:
        """An unrolled or vector loop: constant extent, constant start."""
        lo, hi = (simplify(bound, context.ranges) for bound in (loop.lo, loop.hi))
        extent = simplify(hi - lo, context.ranges)
        if not variables(extent) <= context.expanded:
            raise CodegenError(
                f"{self._program.name}: the {loop.kind} loop {loop.name} runs {loop.extent} times, "
                "which no cut of the loops around it makes constant; use another tail or keep it "
                "serial"
            )
        if extent.is_constant and extent.const <= 0:
            return ()
        if not variables(lo) <= context.expanded:
            body = substitute_body(loop.body, {loop.name: loop.index + lo})
            return self._expanded(replace(loop, lo=Index(), hi=extent, body=body), context)
        if loop.kind == "unrolled" and extent == as_index(1):
            return self.body(substitute_body(loop.body, {loop.name: lo}), context)
        loop = replace(loop, lo=lo, hi=hi)
        self._names.add(loop.name)
        inner = self.body(loop.body, context.within(loop, loop_interval(loop, context.ranges)))
        return (replace(loop, body=inner),) if inner else ()

    def _serial(self, loop: For, context: _Context) -> tuple[Stmt, ...]:
        lo, hi = (simplify(bound, context.ranges) for bound in (loop.lo, loop.hi))
        loop = replace(loop, lo=lo, hi=hi)
        first, last = loop_interval(loop, context.ranges)
        if last < first:
            return ()
        if simplify(hi - lo, context.ranges) == as_index(1):
            inner = self.body(substitute_body(loop.body, {loop.name: lo}), context)
            if loop.kind == "serial" or context.ranges or not inner:
                return inner
            return (replace(loop, body=inner),)  # one part of several
        self._names.add(loop.name)
        inside = context.within(loop, (first, last))
        points = self._breakpoints(loop, inside)
        if not points:
            inner = self.body(loop.body, inside)
            return (replace(loop, body=inner),) if inner else ()
        result: list[Stmt] = []
        for number, (start, end) in enumerate(_pairs(points)):
            part = loop if number == 0 else self._copy(loop)
            part_lo = lo if start is None else maximum(lo, start)
            part_hi = hi if end is None else minimum(hi, end)
            result.extend(self._serial(replace(part, lo=part_lo, hi=part_hi), context))
        return tuple(result)

    def _copy(self, loop: For) -> For:
        """The loop with every loop in it renamed."""
        names: dict[str, str] = {}
        for stmt in walk((loop,)):
            if isinstance(stmt, For):
                base = _CUT.sub("", stmt.name)
                number = 1
                while f"{base}.cut{number}" in self._names:
                    number += 1
                names[stmt.name] = f"{base}.cut{number}"
                self._names.add(names[stmt.name])
        (copy,) = rename_loops((loop,), names)
        assert isinstance(copy, For)
        return copy

    # Breakpoints

    def _breakpoints(self, loop: For, context: _Context) -> list[int]:
        """Where to cut a serial loop: first for bounds, and only then for guards."""
        outer = frozenset(
            name
            for name, (low, high) in context.ranges.items()
            if name != loop.name and name not in context.expanded and low < high
        )
        searches: tuple[tuple[Iterator[_Site], Callable[[Index, Scope], set[int]]], ...] = (
            (_bounds(loop.body, context, self._registers), kinks),
            (_bounds(loop.body, context, frozenset()), steps),
            (_guards(loop.body, context), kinks),
            (_guards(loop.body, context), crossings),
        )
        for sites, search in searches:
            points: set[int] = set()
            for index, where in sites:
                if loop.name in variables(index):
                    scope = Scope(loop.name, where.ranges, where.expanded, outer)
                    points |= search(simplify(index, where.ranges), scope)
            if points:
                return sorted(points)
        return []


def _pairs(points: list[int]) -> Iterator[tuple[int | None, int | None]]:
    """Consecutive ranges between cut points, open at both ends."""
    ends: list[int | None] = [None, *points, None]
    return itertools.pairwise(ends)


_Site = tuple[Index, _Context]


def _bounds(
    body: tuple[Stmt, ...], context: _Context, registers: AbstractSet[str]
) -> Iterator[_Site]:
    """Indices below a loop that must become free of serial loops: extents, register positions."""
    for stmt in body:
        match stmt:
            case For():
                inner = context.within(stmt, loop_interval(stmt, context.ranges))
                if stmt.kind in ("unrolled", "vector"):
                    yield stmt.extent, context
                yield from _bounds(stmt.body, inner, registers)
            case If():
                yield from _bounds(stmt.body, context, registers)
            case Prefetch():
                continue
            case _:
                for buffer, index in _accesses(stmt):
                    if buffer in registers:
                        yield from ((position, context) for position in index)


def _guards(body: tuple[Stmt, ...], context: _Context) -> Iterator[_Site]:
    """Conditions below a loop that unrolled or vector loops test, or that depend on them."""
    for stmt in body:
        match stmt:
            case For():
                inner = context.within(stmt, loop_interval(stmt, context.ranges))
                yield from _guards(stmt.body, inner)
            case If():
                yield from _tested(stmt.condition, context)
                yield from _guards(stmt.body, context)
            case Store() | Update() | Reduce():
                for condition in select_conditions(stmt.value):
                    yield from _tested(condition, context)


def _tested(condition: Condition, context: _Context) -> Iterator[_Site]:
    for index in condition:
        if context.inside or variables(index) & context.expanded:
            yield index, context


def _accesses(leaf: Stmt) -> Iterable[tuple[str, tuple[Index, ...]]]:
    assert isinstance(leaf, Store | Update | Reduce)
    found = [(leaf.buffer, leaf.index)]

    def visit(part: Value) -> None:
        if isinstance(part, Load):
            found.append((part.buffer, part.index))

    map_value(leaf.value, visit)
    return found


# Simplification


def _undecided(condition: Condition, context: _Context) -> Condition | None:
    """What is left of a condition; None if it never holds."""
    left: list[Index] = []
    for index in condition:
        simple = simplify(index, context.ranges)
        truth = prove(simple, context.ranges, context.known)
        if truth is False:
            return None
        if truth is None:
            left.append(simple)
    return tuple(left)
