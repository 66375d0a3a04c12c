"""Simplifies statements with the ranges of their loops.

`simplify_body` drops guards that always hold, statements that never run, branches of selects that
are never taken, and the atoms of indices that the ranges decide. It keeps every loop that may run,
also those of one iteration: loop names are how schedules address loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ago.ir.bounds import Interval, loop_interval, prove, simplify
from ago.ir.index import Index
from ago.ir.nest import For, If, Prefetch, Reduce, Stmt
from ago.ir.value import Call, Condition, Load, Position, Select, Value


def simplify_body(
    body: tuple[Stmt, ...], ranges: Mapping[str, Interval], known: Condition = ()
) -> tuple[Stmt, ...]:
    """Simplify statements.

    Args:
        body: The statements.
        ranges: Ranges of the loops around them.
        known: Conditions known to hold around them.

    Returns:
        Equivalent statements.
    """
    result: list[Stmt] = []
    for stmt in body:
        result.extend(_simplify_stmt(stmt, ranges, known))
    return tuple(result)


def _simplify_stmt(
    stmt: Stmt, ranges: Mapping[str, Interval], known: Condition
) -> tuple[Stmt, ...]:
    match stmt:
        case For():
            return _simplify_loop(stmt, ranges, known)
        case If(condition, inner):
            open_, never = _undecided(condition, ranges, known)
            if never:
                return ()
            inside = simplify_body(inner, ranges, known + open_)
            return (If(open_, inside),) if open_ and inside else inside
        case Prefetch():
            return (replace(stmt, index=tuple(simplify(i, ranges) for i in stmt.index)),)
        case Reduce():
            return (
                replace(
                    stmt,
                    index=tuple(simplify(i, ranges) for i in stmt.index),
                    init=simplify_value(stmt.init, ranges, known),
                    value=simplify_value(stmt.value, ranges, known),
                ),
            )
        case _:
            index = tuple(simplify(i, ranges) for i in stmt.index)
            value = simplify_value(stmt.value, ranges, known)
            return (replace(stmt, index=index, value=value),)


def _simplify_loop(loop: For, ranges: Mapping[str, Interval], known: Condition) -> tuple[Stmt, ...]:
    low, high = loop_interval(loop, ranges)
    if low > high:
        return ()
    inside = simplify_body(loop.body, {**ranges, loop.name: (low, high)}, known)
    if not inside:
        return ()
    lo, hi = simplify(loop.lo, ranges), simplify(loop.hi, ranges)
    return (replace(loop, lo=lo, hi=hi, body=inside),)


def _undecided(
    condition: Condition, ranges: Mapping[str, Interval], known: Condition
) -> tuple[Condition, bool]:
    """The parts of `condition` that the ranges leave open, and whether it can never hold."""
    kept: list[Index] = []
    for unsimplified in condition:
        part = simplify(unsimplified, ranges)
        holds = prove(part, ranges, known)
        if holds is False:
            return (), True
        if holds is None:
            kept.append(part)
    return tuple(kept), False


def simplify_value(value: Value, ranges: Mapping[str, Interval], known: Condition) -> Value:
    """`value` with decided selects and atoms removed; meaning unchanged within the ranges."""
    match value:
        case Load(buffer, index):
            return Load(buffer, tuple(simplify(i, ranges) for i in index))
        case Position(place):
            return Position(simplify(place, ranges))
        case Call(function, args):
            return Call(function, tuple(simplify_value(a, ranges, known) for a in args))
        case Select(condition, then, otherwise):
            open_, never = _undecided(condition, ranges, known)
            if never:
                return simplify_value(otherwise, ranges, known)
            inside = simplify_value(then, ranges, known + open_)
            if not open_:
                return inside
            return Select(open_, inside, simplify_value(otherwise, ranges, known))
        case _:
            return value
