"""Scalar value expressions: what a statement stores.

Read `Value` first: constants, positions, guarded loads, calls of named scalar functions, and
selects. A `Select` evaluates only the branch its condition picks, so it guards a load that would be
out of bounds. The functions that `Call` may name are the rows of `ago.ir.functions.FUNCTIONS`. Each
value has an element type, which follows from those of its leaves (`ago.ir.value_types`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ago.ir.functions import FLOATS
from ago.ir.identity import by_identity
from ago.ir.index import Index, substitute

Condition = tuple[Index, ...]
"""A conjunction: every index in it must be at least 0."""


@dataclass(frozen=True, slots=True)
class Const:
    """A constant of an element type; a float may be infinite or NaN."""

    value: float
    dtype: str = "f32"

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Position:
    """An index as a number: an i64."""

    index: Index

    def __str__(self) -> str:
        return f"position({self.index})"


@dataclass(frozen=True, slots=True)
class Load:
    """`buffer[index]`; one index for each dimension of the buffer."""

    buffer: str
    index: tuple[Index, ...]

    def __str__(self) -> str:
        return f"{self.buffer}[{', '.join(map(str, self.index))}]"


@dataclass(frozen=True, slots=True)
class Call:
    """`function(*args)`, a row of `ago.ir.functions.FUNCTIONS`."""

    function: str
    args: tuple[Value, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.args))})"


@dataclass(frozen=True, slots=True)
class Select:
    """`then` where all of `condition` holds, else `otherwise`; only that branch is evaluated."""

    condition: Condition
    then: Value
    otherwise: Value

    def __str__(self) -> str:
        condition = " and ".join(f"{part} >= 0" for part in self.condition)
        return f"select({condition}, {self.then}, {self.otherwise})"


Value = Const | Position | Load | Call | Select


def zero(dtype: str) -> Const:
    """The 0 of an element type."""
    return Const(False if dtype == "bool" else 0.0 if dtype in FLOATS else 0, dtype)


def positions(value: Value) -> Iterator[Index]:
    """The index of each position in `value`."""
    match value:
        case Position(index):
            yield index
        case Call(_, args):
            for arg in args:
                yield from positions(arg)
        case Select(_, then, otherwise):
            yield from positions(then)
            yield from positions(otherwise)


def add(a: Value, b: Value) -> Value:
    """`a + b`."""
    return Call("add", (a, b))


def mul(a: Value, b: Value) -> Value:
    """`a * b`."""
    return Call("mul", (a, b))


def loads(value: Value, guard: Condition = ()) -> tuple[tuple[Load, Condition], ...]:
    """Each load in `value` with the condition under which it is evaluated, in evaluation order.

    A load in the `otherwise` branch carries only the outer guard: a negated conjunction is no box.
    """
    found = _loads(value)
    return tuple([(load, guard + own) for load, own in found]) if guard else found


@by_identity(1 << 11)
def _loads(value: Value) -> tuple[tuple[Load, Condition], ...]:
    found: list[tuple[Load, Condition]] = []
    todo: list[tuple[Value, Condition]] = [(value, ())]
    while todo:
        value, guard = todo.pop()
        match value:
            case Load():
                found.append((value, guard))
            case Call(_, args):
                todo += [(arg, guard) for arg in reversed(args)]
            case Select(condition, then, otherwise):
                todo += [(otherwise, guard), (then, guard + condition)]
            case Const() | Position():
                continue
    return tuple(found)


def value_indices(value: Value) -> Iterator[Index]:
    """Every index in `value`: of loads, of positions and of conditions."""
    match value:
        case Load(_, index):
            yield from index
        case Position(index):
            yield index
        case Call(_, args):
            for arg in args:
                yield from value_indices(arg)
        case Select(condition, then, otherwise):
            yield from condition
            yield from value_indices(then)
            yield from value_indices(otherwise)


def select_conditions(value: Value) -> Iterator[Condition]:
    """The condition of each select in `value`, outer ones first."""
    match value:
        case Call(_, args):
            for arg in args:
                yield from select_conditions(arg)
        case Select(condition, then, otherwise):
            yield condition
            yield from select_conditions(then)
            yield from select_conditions(otherwise)
        case _:
            return


def functions(value: Value) -> Iterator[str]:
    """The function of each call in `value`, in evaluation order."""
    match value:
        case Call(function, args):
            for arg in args:
                yield from functions(arg)
            yield function
        case Select(_, then, otherwise):
            yield from functions(then)
            yield from functions(otherwise)
        case _:
            return


def map_value(value: Value, change: Callable[[Value], Value | None]) -> Value:
    """Rebuild `value` top-down: what `change` returns replaces a subtree; None recurses."""
    replaced = change(value)
    if replaced is not None:
        return replaced
    match value:
        case Call(function, args):
            return Call(function, tuple(map_value(a, change) for a in args))
        case Select(condition, then, otherwise):
            return Select(condition, map_value(then, change), map_value(otherwise, change))
        case _:
            return value


def map_each(indices: tuple[Index, ...], change: Callable[[Index], Index]) -> tuple[Index, ...]:
    """`indices` changed one by one; the same tuple where none changes."""
    mapped = tuple([change(index) for index in indices])
    return indices if all(map(operator.is_, mapped, indices)) else mapped


def map_indices(value: Value, change: Callable[[Index], Index]) -> Value:
    """`value` with every index in it, of loads and of conditions, replaced by `change(index)`.

    Where no index changes, the value itself comes back.
    """
    match value:
        case Load(buffer, index):
            mapped = map_each(index, change)
            return value if mapped is index else Load(buffer, mapped)
        case Position(place):
            return Position(change(place))
        case Call(function, args):
            changed = tuple([map_indices(a, change) for a in args])
            same = all(map(operator.is_, changed, args))
            return value if same else Call(function, changed)
        case Select(condition, then, otherwise):
            return Select(
                map_each(condition, change),
                map_indices(then, change),
                map_indices(otherwise, change),
            )
        case Const():
            return value


def substitute_value(value: Value, replacements: Mapping[str, Index]) -> Value:
    """`value` with loop variables replaced by indices."""
    return map_indices(value, lambda index: substitute(index, replacements))
