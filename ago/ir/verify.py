"""Rejects programs that break a law of the loop-nest IR.

Read `LAWS` first, then `verify`. The checks are sound but conservative: what passes is in bounds
and free of races. Single elements that nobody wrote are left to the checked interpreter.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from ago.errors import IRError
from ago.ir.bounds import (
    Interval,
    guarded_interval,
    loop_interval,
    loop_ranges,
    simplify,
)
from ago.ir.extern import Extern
from ago.ir.functions import FUNCTIONS
from ago.ir.identity import by_identity
from ago.ir.index import Index, as_index, substitute, var, variables
from ago.ir.nest import Buffer, For, If, Leaf, Packing, Prefetch, Reduce, Stmt, Update, walk
from ago.ir.once import find_repeated
from ago.ir.printer import element_text, print_statements
from ago.ir.program import Program
from ago.ir.proofs import never_negative
from ago.ir.races import Access, accesses, find_race
from ago.ir.rings import find_stale_read
from ago.ir.value import Call, Condition, Load, Position, Select, Value
from ago.ir.value_types import Types, buffer_types, mistyped, value_type

LAWS: Mapping[str, str] = {
    "duplicate-name": "Loops, buffers and stages have names of their own.",
    "unknown-buffer": "Every buffer that is accessed or packed from is declared.",
    "unknown-function": "Every function called is a row of FUNCTIONS, with its operand count.",
    "wrong-type": "Operands have the element types that a function accepts, and a statement stores "
    "what its buffer holds.",
    "unbound-variable": "Every variable of an index belongs to a loop around it.",
    "wrong-rank": "An access has one index for each dimension of its buffer.",
    "out-of-bounds": "Every access is inside its buffer, by the loops and guards around it.",
    "write-to-constant": "Inputs and constants are read-only; constants pack from constants.",
    "read-before-write": "A buffer is written, somewhere, before the first read of it.",
    "reduce-loops": "A reduction's loops are around it, and only its value depends on them.",
    "incomplete-reduction": "No other stage reads a buffer inside the loops that reduce into it.",
    "stale-ring": "A ring, written at `e % n`, is read only where its slot holds the row meant.",
    "computed-twice": "A reduction takes each of its terms once; what is updated in place is "
    "updated once.",
    "race": "Iterations of a parallel or vector loop touch disjoint elements of what they write.",
    "vector-bounds": "Loops inside a vector loop have the same bounds in all lanes and are no "
    "vector loops.",
    "extern-alone": "An extern stage has its program to itself: no stages, no body.",
    "register-index": "Indices of a register buffer are constant once unrolled loops are; a vector "
    "loop's variable stands in the last one, with coefficient 1.",
}
"""What a well-formed program obeys, by error code."""


@by_identity(256)
def verify(program: Program) -> None:
    """Check every law; a program that passed is not checked again.

    Args:
        program: A program; its reductions may be whole or decomposed.

    Raises:
        IRError: The first broken law: its code is a key of `LAWS`, and the message names the
            statement, the loop and the buffer, and prints the nest with the loop marked.
    """
    _check_names(program)
    buffers = {b.name: b for b in program.buffers}
    for buffer in program.buffers:
        if buffer.packing is not None:
            _check_packing(buffer, buffer.packing, buffers)
    if program.extern is not None:
        _check_extern(program, program.extern, buffers)
    checker = _Checker(buffers, buffer_types(program.buffers))
    for stmt in program.body:
        checker.check(stmt, _Place(stmt))
    everywhere = list(accesses(program.body))
    _check_order(everywhere, buffers)
    for code, broken in (
        ("computed-twice", find_repeated(program.body, program.stages)),
        ("stale-ring", find_stale_read(program.body, buffers)),
    ):
        if broken is not None:
            top = broken.loops[0] if broken.loops else broken.leaf
            _Place(top, broken.loops).fail(code, broken.message)
    for loop, place in checker.concurrent:
        race = find_race(loop, place.loops, buffers, everywhere)
        if race is not None:
            place.inside(loop).fail("race", f"{loop.kind} loop {loop.name}: {race}")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a statement stands.

    Attributes:
        top: The outermost statement around it, for messages.
        loops: Loops around it, outermost first.
        ranges: Their inclusive ranges.
        known: Guards around it.
        never: Whether a loop around it never runs.
    """

    top: Stmt
    loops: tuple[For, ...] = ()
    ranges: Mapping[str, Interval] = field(default_factory=dict)
    known: Condition = ()
    never: bool = False

    def inside(self, stmt: For | If) -> _Place:
        """The place of the statements in the body of `stmt`."""
        if isinstance(stmt, If):
            return replace(self, known=self.known + stmt.condition)
        low, high = loop_interval(stmt, self.ranges)
        return replace(
            self,
            loops=(*self.loops, stmt),
            ranges={**self.ranges, stmt.name: (low, high)},
            never=self.never or low > high,
        )

    def fail(self, code: str, message: str) -> NoReturn:
        """Raise an `IRError` that prints the nest, with the innermost loop marked."""
        mark = self.loops[-1].name if self.loops else None
        where = f" (in loop {mark})" if mark else ""
        nest = textwrap.indent(print_statements((self.top,), mark), "  ")
        raise IRError(code, f"{message}{where}\n{nest.rstrip()}")


@dataclass(slots=True)
class _Checker:
    """Checks each statement by itself, and collects the loops that may race."""

    buffers: Mapping[str, Buffer]
    types: Types
    concurrent: list[tuple[For, _Place]] = field(default_factory=list)

    def check(self, stmt: Stmt, place: _Place) -> None:
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

    def _check_loop(self, loop: For, place: _Place) -> None:
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

    def _check_leaf(self, leaf: Leaf, place: _Place) -> None:
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

    def _check_types(self, leaf: Leaf, place: _Place) -> None:
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

    def _check_value(self, value: Value, place: _Place) -> None:
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
                self._check_value(then, replace(place, known=place.known + condition))
                self._check_value(otherwise, place)

    def _check_access(self, verb: str, name: str, index: tuple[Index, ...], place: _Place) -> None:
        element = element_text(name, index)
        if name not in self.buffers:
            place.fail("unknown-buffer", f"{verb} of {element}: there is no buffer {name}")
        shape = self.buffers[name].shape
        if len(index) != len(shape):
            place.fail("wrong-rank", f"{verb} of {element}, but {name} has shape {shape}")
        for part in index:
            self._check_variables(part, place)
        for dimension, (part, extent) in enumerate(zip(index, shape, strict=True)):
            if place.never or _inside(part, extent, place):
                continue
            low, high = guarded_interval(part, place.ranges, place.known)
            place.fail(
                "out-of-bounds",
                f"{verb} of {element} may reach {low} to {high} in dimension {dimension}, "
                f"which has {extent} elements",
            )
        if self.buffers[name].scope == "register":
            _check_register(element, index, place)

    def _check_variables(self, index: Index, place: _Place) -> None:
        for name in sorted(variables(index) - place.ranges.keys()):
            place.fail("unbound-variable", f"{index} uses {name}, which no loop around it defines")


def _inside(index: Index, extent: int, place: _Place) -> bool:
    return all(
        never_negative(part, place.loops, place.known) for part in (index, extent - 1 - index)
    )


def _check_function(name: str, operands: int, place: _Place) -> None:
    if name not in FUNCTIONS:
        place.fail("unknown-function", f"there is no function {name}")
    wanted = FUNCTIONS[name].operands
    if wanted != operands:
        place.fail("unknown-function", f"{name} takes {wanted} operands, not {operands}")


def _check_reduce(leaf: Reduce, place: _Place) -> None:
    reducing = set(leaf.loops)
    what = f"reduction of {element_text(leaf.buffer, leaf.index)}"
    around = [loop.name for loop in place.loops]
    for name in leaf.loops:
        if name not in around:
            place.fail("reduce-loops", f"{what} runs over {name}, which is no loop around it")
    for index in (*leaf.index, *_indices(leaf.init)):
        for name in sorted(variables(index) & reducing):
            place.fail("reduce-loops", f"{what} starts at {index}, which uses its loop {name}")
    for loop in place.loops:
        used = (variables(loop.lo) | variables(loop.hi)) & reducing
        if loop.name not in reducing and used:
            place.fail(
                "reduce-loops",
                f"{what} cannot start before its loops: bounds of {loop.name} use {min(used)}",
            )


def _indices(value: Value) -> Iterator[Index]:
    """Every index in `value`, of loads and of conditions."""
    match value:
        case Load(_, index):
            yield from index
        case Position(index):
            yield index
        case Call(_, args):
            for arg in args:
                yield from _indices(arg)
        case Select(condition, then, otherwise):
            yield from condition
            yield from _indices(then)
            yield from _indices(otherwise)


def _check_register(element: str, index: tuple[Index, ...], place: _Place) -> None:
    """Require that unrolling every unrolled loop leaves constants, and lanes in the last index."""
    for dimension, part in enumerate(index):
        unrolled = part
        for loop in reversed(place.loops):
            if loop.kind in ("unrolled", "vector"):
                offset = var(f"{loop.kind} {loop.name}")
                unrolled = substitute(unrolled, {loop.name: loop.lo + offset})
        unrolled = simplify(unrolled, place.ranges)
        last = dimension == len(index) - 1
        free = {name for name in variables(unrolled) if not name.startswith("unrolled ")}
        lanes = {name for name in free if name.startswith("vector ")}
        if free - lanes:
            place.fail(
                "register-index",
                f"{element} is in registers, but its index uses {min(free - lanes)}, "
                "which is not unrolled",
            )
        if lanes and (not last or any(unrolled.coefficient(name) != 1 for name in lanes)):
            place.fail(
                "register-index",
                f"{element} is in registers; its {min(lanes)} must stand in the last index, once",
            )


def _check_names(program: Program) -> None:
    loops = (stmt.name for stmt in walk(program.body) if isinstance(stmt, For))
    groups: tuple[tuple[str, Iterable[str]], ...] = (
        ("buffers", (b.name for b in program.buffers)),
        ("stages", (s.name for s in program.stages)),
        ("loops", loops),
    )
    for kind, names in groups:
        for name, count in Counter(names).items():
            if count == 1:
                continue
            message = f"{count} {kind} are called {name}"
            if kind == "loops":
                message += f"\n{print_statements(program.body, name)}"
            raise IRError("duplicate-name", message)


def _check_extern(program: Program, extern: Extern, buffers: Mapping[str, Buffer]) -> None:
    what = f"extern {extern.name} ({extern.op})"
    if program.stages or program.body:
        raise IRError("extern-alone", f"{what} shares program {program.name} with loop nests")
    written = (*extern.outputs, *extern.scratch)
    for name in (*filter(None, extern.inputs), *written):
        if name not in buffers:
            raise IRError("unknown-buffer", f"{what}: there is no buffer {name}")
    for name in written:
        scope = buffers[name].scope
        if scope in ("input", "constant"):
            raise IRError("write-to-constant", f"{what} writes {name}, an {scope}")


def _check_packing(buffer: Buffer, recipe: Packing, buffers: Mapping[str, Buffer]) -> None:
    what = f"packing of {buffer.name} from {element_text(recipe.source, recipe.index)}"
    source = buffers.get(recipe.source)
    if source is None:
        raise IRError("unknown-buffer", f"{what}: there is no buffer {recipe.source}")
    if buffer.scope != "constant" or source.scope != "constant":
        raise IRError("write-to-constant", f"{what}: both must be constants")
    if len(recipe.loops) != len(buffer.shape) or len(recipe.index) != len(source.shape):
        shapes = f"{buffer.shape} from {source.shape}"
        raise IRError("wrong-rank", f"{what} does not fit the shapes, {shapes}")
    loops = tuple(
        For(name, Index(), as_index(extent), "serial", ())
        for name, extent in zip(recipe.loops, buffer.shape, strict=True)
    )
    for index in (*recipe.index, *recipe.condition):
        for name in sorted(variables(index) - set(recipe.loops)):
            raise IRError("unbound-variable", f"{what}: {name} is none of its loops")
    ranges = loop_ranges(loops)
    for index, extent in zip(recipe.index, source.shape, strict=True):
        for part in (index, extent - 1 - index):
            if not never_negative(part, loops, recipe.condition):
                low, high = guarded_interval(index, ranges, recipe.condition)
                raise IRError(
                    "out-of-bounds", f"{what}: {index} is {low} to {high}, outside {extent}"
                )


def _check_order(everywhere: Sequence[Access], buffers: Mapping[str, Buffer]) -> None:
    """Buffers are written before they are read, and read only after their reductions."""
    written = {b.name for b in buffers.values() if b.scope in ("input", "constant")}
    reductions = {a.buffer: a.leaf for a in everywhere if a.writes and isinstance(a.leaf, Reduce)}
    for access in everywhere:
        if access.writes:
            written.add(access.buffer)
            continue
        element = element_text(access.buffer, access.index)
        reader = f"stage {access.leaf.stage} reads {element}"
        if access.buffer not in written:
            _fail_access(access, "read-before-write", f"{reader} before {access.buffer} is written")
        reduction = reductions.get(access.buffer)
        if reduction is None or reduction.stage == access.leaf.stage:
            continue
        for loop in access.loops:
            if loop.name in reduction.loops:
                _fail_access(
                    access,
                    "incomplete-reduction",
                    f"{reader} inside loop {loop.name}, over which {reduction.stage} reduces it",
                )


def _fail_access(access: Access, code: str, message: str) -> NoReturn:
    top: Stmt = access.loops[0] if access.loops else access.leaf
    _Place(top, access.loops).fail(code, message)
