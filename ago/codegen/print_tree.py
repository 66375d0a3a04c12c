"""Prints a tree of pieces as the body of a C function.

Read `print_tree` first: it walks loops, guards and scopes, and declares pointers and register
variables where they are needed. Blocks are printed by `ago.codegen.print_block`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ago.codegen.ctext import C_TYPES, Names, float_literal, index_text, number_name
from ago.codegen.intrinsics import Intrinsics
from ago.codegen.parts import Phase
from ago.codegen.pointers import Definition, PointerPlan, definition_text, used_pointers
from ago.codegen.print_block import BlockPrinter, Kind, kind_of
from ago.codegen.tree import (
    Assign,
    Block,
    Guard,
    Loop,
    Number,
    Piece,
    Register,
    Tree,
)
from ago.ir.bounds import Interval, interval
from ago.ir.program import Program
from ago.ir.value import Condition

_INDENT = "    "

_OPERANDS = 4
"""Vector registers that a block needs beside its variables, for what passes by."""

_FETCHED = 4
"""Most constants that blocks fetch: those of approximations cost less in registers."""


def print_tree(
    program: Program,
    tree: Tree,
    intrinsics: Intrinsics,
    names: Names,
    buffers: Mapping[str, str],
    registers: int,
    phases: tuple[Phase, ...] = (),
    part: str = "",
) -> str:
    """The statements of a function, indented once.

    Args:
        program: The resolved program, for its buffers.
        tree: What to print.
        intrinsics: Table of the instruction set.
        names: Where names of loops, pointers and values come from.
        buffers: C identifier of each buffer that is no register buffer.
        registers: Vector registers of the target.
        phases: Those of the tree's body, where the function computes one part a call.
        part: C identifier of the number of the part.
    """
    printer = Printer(program, tree, intrinsics, names, buffers, registers)
    printer.function(phases, part)
    return "".join(f"{line}\n" for line in printer.lines)


class Printer:
    """The function as far as it is printed."""

    def __init__(
        self,
        program: Program,
        tree: Tree,
        intrinsics: Intrinsics,
        names: Names,
        buffers: Mapping[str, str],
        registers: int,
    ) -> None:
        self.lines: list[str] = []
        self.names = names
        self.intrinsics = intrinsics
        self.tree = tree
        self.loops: dict[str, str] = {}
        self.ranges: dict[str, Interval] = {}
        self.pointers = PointerPlan(tree.pointers, names, buffers)
        self.numbers: dict[str, str] = {}
        self.stored_numbers: dict[str, str] = {}
        self._program = program
        self._buffers = buffers
        self.vector_registers = registers
        self._room = registers - _OPERANDS
        self._written = {
            b.name for b in program.buffers if b.scope in ("output", "workspace", "stack")
        }
        self.registers = {register.name: register for register in tree.registers}
        self._declared: list[set[str]] = []
        self._depth = 1

    def line(self, text: str) -> None:
        """Print one line at the depth of the scope."""
        self.lines.append(f"{_INDENT * self._depth}{text}")

    def function(self, phases: tuple[Phase, ...], part: str) -> None:
        """Print the whole body."""
        for buffer in self._program.buffers:
            if buffer.scope == "stack":
                size, name = math.prod(buffer.shape), self._buffers[buffer.name]
                self.line(f"_Alignas(64) {C_TYPES[buffer.dtype]} {name}[{size}];")
        self._vector_numbers(self.tree.body)
        if not phases:
            self._scope(None, self.tree.body)
        for phase in phases:
            self._phase(phase, part)

    def _phase(self, phase: Phase, part: str) -> None:
        """One phase: its serial pieces under one test, or each loop's iteration of this part."""
        if phase.start is None:
            self.line(f"if ({part} == {phase.first}) {{")
            self._nested(None, phase.pieces)
            return
        shift = phase.first - phase.start
        for loop in phase.pieces:
            assert isinstance(loop, Loop)
            lo, hi = loop.lo.const, loop.hi.const
            self.line(f"if ({part} >= {lo + shift} && {part} < {hi + shift}) {{")
            variable = self._enter(loop)
            if hi - lo > 1:
                value = f"{part} - {shift}" if shift else part
                self.line(f"{_INDENT}const int64_t {variable} = {value};")
            self._nested(loop.name, loop.body, loop.opaque)

    def _vector_numbers(self, body: tuple[Piece, ...]) -> None:
        """Name each vector constant once, at the top of the function.

        As a vector; or where a block fills the registers as a number in memory, to be fetched by
        each block that needs it: compilers would keep the vector in a register through all loops.
        """
        found = list(blocks(body))
        numbers = [n for block in found for n in block.nodes if isinstance(n, Number) and n.vector]
        texts = list(dict.fromkeys(float_literal(n.value) for n in numbers))
        few = len(texts) <= _FETCHED
        if few and any(self._variables(block) + len(texts) > self._room for block in found):
            self._numbers_in_memory(texts)
            return
        for text in texts:
            name = self.numbers[text] = self.names.new(number_name(text))
            splat = self.intrinsics.rows["splat"].c(text)
            self.line(f"const {self.intrinsics.vector_type} {name} = {splat};")

    def _numbers_in_memory(self, texts: Sequence[str]) -> None:
        if not texts:
            return
        array = self.names.new("numbers")
        self.line(f"static const float {array}[] = {{{', '.join(texts)}}};")
        for place, text in enumerate(texts):
            self.stored_numbers[text] = f"{array} + {place}" if place else array

    def _variables(self, block: Block) -> int:
        """How many vector variables a block touches."""
        touched = {node.name for node in block.nodes if isinstance(node, Register)}
        touched |= assigned_registers(block)
        return sum(self.registers[name].vector for name in touched)

    # Scopes

    def _scope(
        self,
        loop: str | None,
        body: tuple[Piece, ...],
        opaque: frozenset[int] = frozenset(),
    ) -> None:
        for definition in self.pointers.enter(loop, used_pointers(body), opaque):
            self._define(definition)
        self._declared.append(set())
        self._declare(body)
        for piece in body:
            match piece:
                case Block():
                    BlockPrinter(self, piece).print()
                case Loop():
                    self._loop(piece)
                case Guard(condition, inner):
                    self.line(f"if ({self.condition(condition)}) {{")
                    self._nested(None, inner)
        self._declared.pop()
        self.pointers.leave(loop)

    def _define(self, definition: Definition) -> None:
        constant = definition.buffer not in self._written
        self.line(definition_text(definition, constant, self.loops, self.ranges))

    def _enter(self, loop: Loop) -> str:
        """Note a loop's range; returns the name of its variable."""
        variable = self.names.new(loop.name)
        self.ranges[loop.name] = (
            interval(loop.lo, self.ranges)[0],
            interval(loop.hi, self.ranges)[1] - 1,
        )
        self.loops[loop.name] = variable
        return variable

    def _loop(self, loop: Loop) -> None:
        lo, hi = (index_text(bound, self.loops, self.ranges) for bound in (loop.lo, loop.hi))
        for definition in self.pointers.enter_anchors(loop.name, loop.anchored):
            self._define(definition)
        variable = self._enter(loop)
        if any(isinstance(piece, Block) for piece in loop.body):
            # The schedule has unrolled what should be. Compilers' own unrolling makes spills in
            # large bodies, and in small ones functions that take them seconds.
            self.line("#pragma GCC unroll 1")
        self.line(f"for (int64_t {variable} = {lo}; {variable} < {hi}; ++{variable}) {{")
        self._nested(loop.name, loop.body, loop.opaque)
        self.pointers.leave(None)

    def _nested(
        self,
        loop: str | None,
        body: tuple[Piece, ...],
        opaque: frozenset[int] = frozenset(),
    ) -> None:
        self._depth += 1
        self._scope(loop, body, opaque)
        self._depth -= 1
        self.line("}")

    def condition(self, condition: Condition) -> str:
        """A conjunction as C."""
        return " && ".join(f"{index_text(c, self.loops, self.ranges)} >= 0" for c in condition)

    # Register variables

    def _declare(self, body: tuple[Piece, ...]) -> None:
        """Declare what a loop or guard of this scope touches first and a later piece reads."""
        assigned: set[str] = set()
        needed: set[str] = set()
        for piece in body:
            needed |= live_in(piece) - assigned
            if isinstance(piece, Block):
                assigned |= assigned_registers(piece)
        groups: dict[str, list[str]] = {}
        for name, register in self.registers.items():
            if name in needed and not self._is_declared(name):
                groups.setdefault(self.type_of(kind_of(register)), []).append(name)
                self._declared[-1].add(name)
        for ctype, group in groups.items():
            self.line(f"{ctype} {', '.join(group)};")

    def _is_declared(self, name: str) -> bool:
        return any(name in scope for scope in self._declared)

    def type_of(self, kind: Kind) -> str:
        """The C type of a value."""
        if not kind.vector:
            return C_TYPES[kind.dtype]
        mask = kind.dtype == "bool"
        return self.intrinsics.mask_type if mask else self.intrinsics.vector_type

    def assign(self, name: str, value: str) -> None:
        """Print an assignment, with the declaration if it is the first."""
        prefix = ""
        if not self._is_declared(name):
            self._declared[-1].add(name)
            prefix = f"{self.type_of(kind_of(self.registers[name]))} "
        self.line(f"{prefix}{name} = {value};")


def blocks(body: Iterable[Piece]) -> Iterator[Block]:
    """All blocks of a body, in order."""
    for piece in body:
        if isinstance(piece, Block):
            yield piece
        else:
            yield from blocks(piece.body)


def live_in(piece: Piece) -> set[str]:
    """Register variables that a piece may read before it sets them."""
    if isinstance(piece, Block):
        return {n.name for n in piece.nodes if isinstance(n, Register) and n.version == 0}
    live: set[str] = set()
    assigned: set[str] = set()
    for inner in piece.body:
        live |= live_in(inner) - assigned
        if isinstance(inner, Block):
            assigned |= assigned_registers(inner)
    return live


def assigned_registers(block: Block) -> set[str]:
    """Register variables that a block sets."""
    return {action.register for action in block.actions if isinstance(action, Assign)}
