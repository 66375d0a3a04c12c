"""Rejects programs that break a law of the loop-nest IR.

Read `LAWS` first, then `verify`. The checks are sound but conservative: what passes is in bounds
and free of races. Single elements that nobody wrote are left to the checked interpreter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from ago.errors import IRError
from ago.ir.bounds import (
    guarded_interval,
    loop_ranges,
)
from ago.ir.extern import Extern
from ago.ir.identity import by_identity
from ago.ir.index import Index, as_index, variables
from ago.ir.nest import Buffer, For, Packing, Reduce, Stmt, walk
from ago.ir.once import find_repeated
from ago.ir.printer import element_text, print_statements
from ago.ir.program import Program
from ago.ir.proofs import never_negative
from ago.ir.races import Access, accesses, find_race
from ago.ir.rings import find_stale_read
from ago.ir.statement_laws import Place, StatementChecker
from ago.ir.value_types import buffer_types

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


@by_identity(128)
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
    checker = StatementChecker(buffers, buffer_types(program.buffers))
    for stmt in program.body:
        checker.check(stmt, Place(stmt))
    everywhere = list(accesses(program.body))
    _check_order(everywhere, buffers)
    for code, broken in (
        ("computed-twice", find_repeated(program.body, program.stages)),
        ("stale-ring", find_stale_read(program.body, buffers)),
    ):
        if broken is not None:
            top = broken.loops[0] if broken.loops else broken.leaf
            Place(top, broken.loops).fail(code, broken.message)
    for loop, place in checker.concurrent:
        race = find_race(loop, place.loops, buffers, everywhere)
        if race is not None:
            place.inside(loop).fail("race", f"{loop.kind} loop {loop.name}: {race}")


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
    Place(top, access.loops).fail(code, message)
