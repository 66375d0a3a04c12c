"""Scalar value expressions: what a statement stores.

Read `Value` first: constants, guarded loads, calls of named scalar functions, and selects. A
`Select` evaluates only the branch its condition picks, so it guards a load that would be out of
bounds. The functions that `Call` may name are the rows of `FUNCTIONS`, each with its numpy meaning;
the intrinsic tables of the backends implement the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ago.ir.index import Index, substitute

Condition = tuple[Index, ...]
"""A conjunction: every index in it must be at least 0."""


@dataclass(frozen=True, slots=True)
class Const:
    """A float constant; may be infinite."""

    value: float


@dataclass(frozen=True, slots=True)
class Load:
    """`buffer[index]`; one index for each dimension of the buffer."""

    buffer: str
    index: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """`function(*args)`, a row of `FUNCTIONS`."""

    function: str
    args: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Select:
    """`then` where all of `condition` holds, else `otherwise`; only that branch is evaluated."""

    condition: Condition
    then: Value
    otherwise: Value


Value = Const | Load | Call | Select

FUNCTIONS: Mapping[str, tuple[int, str]] = {
    # name: (operands, meaning). `max` and `min` return the second operand when either is NaN, so
    # the operand that may be NaN stands second: Relu is max(0, x), Clip is min(high, max(low, x)).
    "add": (2, "a + b"),
    "sub": (2, "a - b"),
    "mul": (2, "a * b"),
    "div": (2, "a / b"),
    "max": (2, "a if a > b else b"),
    "min": (2, "a if a < b else b"),
    # NaN where either operand is NaN, for a maximum over elements of which any may be NaN.
    "nanmax": (2, "a if a > b or a != a else b"),
}
"""Scalar functions: operand count and meaning. Every backend implements each row."""


def add(a: Value, b: Value) -> Value:
    """`a + b`."""
    return Call("add", (a, b))


def mul(a: Value, b: Value) -> Value:
    """`a * b`."""
    return Call("mul", (a, b))


def loads(value: Value, guard: Condition = ()) -> Iterator[tuple[Load, Condition]]:
    """Each load in `value` with the condition under which it is evaluated, in evaluation order.

    A load in the `otherwise` branch carries only the outer guard: a negated conjunction is no box.
    """
    match value:
        case Load():
            yield value, guard
        case Call(_, args):
            for arg in args:
                yield from loads(arg, guard)
        case Select(condition, then, otherwise):
            yield from loads(then, guard + condition)
            yield from loads(otherwise, guard)
        case Const():
            return


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


def map_indices(value: Value, change: Callable[[Index], Index]) -> Value:
    """`value` with every index in it, of loads and of conditions, replaced by `change(index)`."""
    match value:
        case Load(buffer, index):
            return Load(buffer, tuple(change(i) for i in index))
        case Call(function, args):
            return Call(function, tuple(map_indices(a, change) for a in args))
        case Select(condition, then, otherwise):
            return Select(
                tuple(change(c) for c in condition),
                map_indices(then, change),
                map_indices(otherwise, change),
            )
        case Const():
            return value


def substitute_value(value: Value, replacements: Mapping[str, Index]) -> Value:
    """`value` with loop variables replaced by indices."""
    return map_indices(value, lambda index: substitute(index, replacements))
