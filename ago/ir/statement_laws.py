"""The laws that one statement can break by itself, given the loops and guards around it.

Read `Place` first, then `StatementChecker`. What concerns several statements, such as their order
and races, is checked by `verify`, which names all laws.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NoReturn

from ago.errors import IRError
from ago.ir.bounds import (
    Bounds,
    Interval,
    bounds_of,
    guarded_interval,
    interval,
    loop_interval,
    ranges_within,
    simplify,
)
from ago.ir.functions import FUNCTIONS
from ago.ir.index import Index, substitute, var, variables
from ago.ir.interned import KEPT
from ago.ir.nest import Buffer, For, If, Leaf, Prefetch, Reduce, Stmt, Update
from ago.ir.printer import element_text, print_statements
from ago.ir.proofs import first_outside
from ago.ir.value import Call, Condition, Load, Position, Select, Value, value_indices
from ago.ir.value_types import Types, mistyped, value_type


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement stands.

    Attributes:
        top: The outermost statement around it, for messages.
        loops: Loops around it, outermost first.
        ranges: Their inclusive ranges.
        known: Guards around it, and of loops that may be empty that they are not.
        never: Whether a loop around it never runs.
    """

    top: Stmt
    loops: tuple[For, ...] = ()
    ranges: Mapping[str, Interval] = field(default_factory=dict)
    known: Condition = ()
    never: bool = False

    def inside(self, stmt: For | If) -> Place:
        """The place of the statements in the body of `stmt`."""
        if isinstance(stmt, If):
            return self.where(stmt.condition)
        low, high = loop_interval(stmt, self.ranges)
        ranges = {**self.ranges, stmt.name: (low, high)}
        never = self.never or low > high
        extent = stmt.extent
        may_be_empty = not extent.is_constant and interval(extent, self.ranges)[0] <= 0
        known = (*self.known, extent - 1) if may_be_empty else self.known
        return Place(self.top, (*self.loops, stmt), ranges, known, never)

    def where(self, condition: Condition) -> Place:
        """The same place while `condition` holds."""
        return Place(self.top, self.loops, self.ranges, self.known + condition, self.never)

    def fail(self, code: str, message: str) -> NoReturn:
        """Raise an `IRError` that prints the nest, with the innermost loop marked."""
        mark = self.loops[-1].name if self.loops else None
        where = f" (in loop {mark})" if mark else ""
        nest = textwrap.indent(print_statements((self.top,), mark), "  ")
        raise IRError(code, f"{message}{where}\n{nest.rstrip()}")


@dataclass(slots=True)
class StatementChecker:
    """Checks each statement by itself, and collects the loops that may race.

    Attributes:
        buffers: The program's buffers by name.
        types: Their element types.
        concurrent: Parallel and vector loops that were seen, with their places.
    """

    buffers: Mapping[str, Buffer]
    types: Types
    concurrent: list[tuple[For, Place]] = field(default_factory=list)

    def check(self, stmt: Stmt, place: Place) -> None:
        """Check a statement and all below it.

        Raises:
            IRError: The first broken law.
        """
        match stmt:
            case For():
                self._check_loop(stmt, place)
            case If(condition, body):
                for part in condition:
                    self._check_variables(part, place)
                for inner in body:
                    self.check(inner, place.inside(stmt))
            case Prefetch(buffer, index):
                self._check_access("prefetch", buffer, index, place)
            case _:
                self._check_leaf(stmt, place)

    def _check_loop(self, loop: For, place: Place) -> None:
        for bound in (loop.lo, loop.hi):
            self._check_variables(bound, place)
        lanes = {outer.name for outer in place.loops if outer.kind == "vector"}
        if lanes and loop.kind == "vector":
            place.fail("vector-bounds", f"vector loop {loop.name} is inside another vector loop")
        if lanes & (variables(loop.lo) | variables(loop.hi)):
            place.fail("vector-bounds", f"bounds of loop {loop.name} differ between lanes")
        inside = place.inside(loop)
        if loop.kind in ("parallel", "vector") and not inside.never:
            self.concurrent.append((loop, place))
        for inner in loop.body:
            self.check(inner, inside)

    def _check_leaf(self, leaf: Leaf, place: Place) -> None:
        self._check_access("store", leaf.buffer, leaf.index, place)
        scope = self.buffers[leaf.buffer].scope
        if scope in ("input", "constant"):
            element = element_text(leaf.buffer, leaf.index)
            place.fail("write-to-constant", f"stage {leaf.stage} stores {element}, an {scope}")
        self._check_value(leaf.value, place)
        if isinstance(leaf, Reduce):
            _check_function(leaf.function, 2, place)
            self._check_value(leaf.init, place)
            _check_reduce(leaf, place)
        elif isinstance(leaf, Update):
            _check_function(leaf.function, 2, place)
        self._check_types(leaf, place)

    def _check_types(self, leaf: Leaf, place: Place) -> None:
        values = [leaf.value]
        if isinstance(leaf, Reduce):
            values.append(leaf.init)
        if isinstance(leaf, Reduce | Update):
            values.append(Call(leaf.function, (Load(leaf.buffer, leaf.index), leaf.value)))
        held = self.types[leaf.buffer]
        for value in values:
            mistake = mistyped(value, self.types)
            stored = value_type(value, self.types)
            if not mistake and stored != held:
                mistake = f"{leaf.buffer} holds {held}, the value is {stored}"
            if mistake:
                element = element_text(leaf.buffer, leaf.index)
                place.fail("wrong-type", f"stage {leaf.stage} stores {element}: {mistake}")

    def _check_value(self, value: Value, place: Place) -> None:
        match value:
            case Load(buffer, index):
                self._check_access("load", buffer, index, place)
            case Position(part):
                self._check_variables(part, place)
            case Call(function, args):
                _check_function(function, len(args), place)
                for arg in args:
                    self._check_value(arg, place)
            case Select(condition, then, otherwise):
                for part in condition:
                    self._check_variables(part, place)
                self._check_value(then, place.where(condition))
                self._check_value(otherwise, place)

    def _check_access(self, verb: str, name: str, index: tuple[Index, ...], place: Place) -> None:
        if name not in self.buffers:
            what = f"{verb} of {element_text(name, index)}"
            place.fail("unknown-buffer", f"{what}: there is no buffer {name}")
        buffer = self.buffers[name]
        if len(index) != len(buffer.shape):
            what = f"{verb} of {element_text(name, index)}"
            place.fail("wrong-rank", f"{what}, but {name} has shape {buffer.shape}")
        for part in index:
            self._check_variables(part, place)
        outside = first_outside(index, buffer.shape, place.loops, place.known)
        if outside is not None and not place.never:
            low, high = guarded_interval(index[outside], place.ranges, place.known)
            place.fail(
                "out-of-bounds",
                f"{verb} of {element_text(name, index)} may reach {low} to {high} in dimension "
                f"{outside}, which has {buffer.shape[outside]} elements",
            )
        if buffer.scope == "register":
            _check_register(name, index, place)

    def _check_variables(self, index: Index, place: Place) -> None:
        if not variables(index) <= place.ranges.keys():
            name = min(variables(index) - place.ranges.keys())
            place.fail("unbound-variable", f"{index} uses {name}, which no loop around it defines")


def _check_function(name: str, operands: int, place: Place) -> None:
    if name not in FUNCTIONS:
        place.fail("unknown-function", f"there is no function {name}")
    wanted = FUNCTIONS[name].operands
    if wanted != operands:
        place.fail("unknown-function", f"{name} takes {wanted} operands, not {operands}")


def _check_reduce(leaf: Reduce, place: Place) -> None:
    reducing = set(leaf.loops)
    what = f"reduction of {element_text(leaf.buffer, leaf.index)}"
    around = [loop.name for loop in place.loops]
    for name in leaf.loops:
        if name not in around:
            place.fail("reduce-loops", f"{what} runs over {name}, which is no loop around it")
    for index in (*leaf.index, *value_indices(leaf.init)):
        for name in sorted(variables(index) & reducing):
            place.fail("reduce-loops", f"{what} starts at {index}, which uses its loop {name}")
    for loop in place.loops:
        used = (variables(loop.lo) | variables(loop.hi)) & reducing
        if loop.name not in reducing and used:
            place.fail(
                "reduce-loops",
                f"{what} cannot start before its loops: bounds of {loop.name} use {min(used)}",
            )


def _check_register(name: str, index: tuple[Index, ...], place: Place) -> None:
    """Require that unrolling every unrolled loop leaves constants, and lanes in the last index."""
    used = frozenset().union(*map(variables, index))
    kinds = tuple((x.name, x.kind) for x in place.loops if x.kind in ("unrolled", "vector"))
    mistake = _not_promoted(index, kinds, bounds_of(place.loops, used))
    if mistake:
        place.fail("register-index", f"{element_text(name, index)} is in registers{mistake}")


@lru_cache(maxsize=KEPT)
def _not_promoted(
    index: tuple[Index, ...], kinds: tuple[tuple[str, str], ...], bounds: Bounds
) -> str:
    """Why an index does not stand for one register in each lane; empty where it does."""
    kind, ranges = dict(kinds), ranges_within(bounds)
    for dimension, part in enumerate(index):
        unrolled = part
        for name, first, _ in reversed(bounds):
            if name in kind:
                unrolled = substitute(unrolled, {name: first + var(f"{kind[name]} {name}")})
        unrolled = simplify(unrolled, ranges)
        free = {name for name in variables(unrolled) if not name.startswith("unrolled ")}
        lanes = {name for name in free if name.startswith("vector ")}
        if free - lanes:
            return f", but its index uses {min(free - lanes)}, which is not unrolled"
        last = dimension == len(index) - 1
        if lanes and (not last or any(unrolled.coefficient(name) != 1 for name in lanes)):
            return f"; its {min(lanes)} must stand in the last index, once"
    return ""
