"""Prints a tree of pieces as the body of a C function.

Read `print_tree` first. A node that is used once is printed where it is used; one that is used more
often gets a name at its first use. Statements keep the order of the block's actions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ago.codegen.ctext import C_TYPES, Names, float_literal, index_text, literal
from ago.codegen.elements import apply_text
from ago.codegen.intrinsics import Intrinsics
from ago.codegen.parts import Phase
from ago.codegen.pointers import PointerPlan, definition_text, used_pointers
from ago.codegen.tree import (
    Apply,
    Assign,
    Block,
    Broadcast,
    Choose,
    Collect,
    Element,
    Fetch,
    Guard,
    Lane,
    Load,
    Loop,
    Node,
    Number,
    Ordinal,
    Piece,
    Register,
    RegisterVariable,
    Shuffle,
    Tree,
    Write,
    operands,
)
from ago.ir.bounds import Interval, interval
from ago.ir.functions import FUNCTIONS
from ago.ir.program import Program
from ago.ir.value import Condition

_INDENT = "    "


def print_tree(
    program: Program,
    tree: Tree,
    intrinsics: Intrinsics,
    names: Names,
    buffers: Mapping[str, str],
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
        phases: Those of the tree's body, where the function computes one part a call.
        part: C identifier of the number of the part.
    """
    printer = _Printer(program, tree, intrinsics, names, buffers)
    printer.function(phases, part)
    return "".join(f"{line}\n" for line in printer.lines)


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value is in C: its element type, and whether it is a vector; of bool, a mask."""

    dtype: str
    vector: bool


def kind_of(register: RegisterVariable) -> Kind:
    """What a register variable is."""
    return Kind(register.dtype, register.vector)


class _Printer:
    def __init__(
        self,
        program: Program,
        tree: Tree,
        intrinsics: Intrinsics,
        names: Names,
        buffers: Mapping[str, str],
    ) -> None:
        self.lines: list[str] = []
        self.names = names
        self.intrinsics = intrinsics
        self.tree = tree
        self.loops: dict[str, str] = {}
        self.ranges: dict[str, Interval] = {}
        self.pointers = PointerPlan(tree.pointers, names, buffers)
        self.numbers: dict[str, str] = {}
        self._program = program
        self._buffers = buffers
        self._written = {
            b.name for b in program.buffers if b.scope in ("output", "workspace", "stack")
        }
        self.registers = {register.name: register for register in tree.registers}
        self._declared: list[set[str]] = []
        self._depth = 1

    def line(self, text: str) -> None:
        self.lines.append(f"{_INDENT * self._depth}{text}")

    def function(self, phases: tuple[Phase, ...], part: str) -> None:
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
        """Name each vector constant once, at the top of the function."""
        for piece in body:
            if not isinstance(piece, Block):
                self._vector_numbers(piece.body)
                continue
            for node in piece.nodes:
                if not isinstance(node, Number) or not node.vector:
                    continue
                text = float_literal(node.value)
                if text not in self.numbers:
                    hint = "k" + text.strip("f").replace(".0", "").replace("-", "m")
                    name = self.names.new("k_inf" if "inf" in text else hint)
                    self.numbers[text] = name
                    splat = self.intrinsics.rows["splat"].c(text)
                    self.line(f"const {self.intrinsics.vector_type} {name} = {splat};")

    # Scopes

    def _scope(
        self,
        loop: str | None,
        body: tuple[Piece, ...],
        opaque: frozenset[int] = frozenset(),
    ) -> None:
        for definition in self.pointers.enter(loop, used_pointers(body), opaque):
            constant = definition.buffer not in self._written
            self.line(definition_text(definition, constant, self.loops, self.ranges))
        self._declared.append(set())
        self._declare(body)
        for piece in body:
            match piece:
                case Block():
                    _BlockPrinter(self, piece).print()
                case Loop():
                    self._loop(piece)
                case Guard(condition, inner):
                    self.line(f"if ({self.condition(condition)}) {{")
                    self._nested(None, inner)
        self._declared.pop()
        self.pointers.leave(loop)

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
        variable = self._enter(loop)
        if any(isinstance(piece, Block) for piece in loop.body):
            # The schedule has unrolled what should be. Compilers' own unrolling makes spills in
            # large bodies, and in small ones functions that take them seconds.
            self.line("#pragma GCC unroll 1")
        self.line(f"for (int64_t {variable} = {lo}; {variable} < {hi}; ++{variable}) {{")
        self._nested(loop.name, loop.body, loop.opaque)

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


class _BlockPrinter:
    """Prints one block."""

    def __init__(self, printer: _Printer, block: Block) -> None:
        self._printer = printer
        self._block = block
        self._named: dict[int, str] = {}
        self._uses = _count_uses(block)
        self._kinds = _node_kinds(block, printer)
        self._depths = _factor_depths(block)
        self._depth = 0

    def print(self) -> None:
        stage = ""
        for action in self._block.actions:
            if isinstance(action, Fetch):
                address = self._address(action.pointer, action.offset)
                self._printer.line(f"__builtin_prefetch({address});")
                continue
            if action.stage != stage:
                stage = action.stage
                self._printer.line(f"/* {stage} */".replace("*/ */", "* / */"))
            self._action(action)

    def _action(self, action: Assign | Write) -> None:
        value = self._use(action.node)
        printer = self._printer
        match action:
            case Assign(register, _, _):
                printer.assign(register, _bare(value))
            case Write(pointer, offset, 0, _, _):
                printer.line(f"{printer.pointers.name(pointer)}[{offset}] = {_bare(value)};")
            case Write(pointer, offset, lanes, _, _):
                row = "store" if lanes == printer.intrinsics.lanes else f"store.{lanes}"
                address = self._address(pointer, offset)
                printer.line(f"{printer.intrinsics.rows[row].c(address, value)};")

    def _use(self, position: int) -> str:
        """The expression for a node; names it first if it is used more than once."""
        if position in self._named:
            return self._named[position]
        node = self._block.nodes[position]
        text = self._text(node)
        if (
            self._uses[position] < 2
            or position in self._block.lazy
            or isinstance(node, Register | Number)
        ):
            return text
        printer = self._printer
        if self._depths.get(position, 0) > self._depth:
            self._depth = self._depths[position]
            printer.line("ago_keep_order();")
        name = printer.names.new(self._hint(node))
        printer.line(f"const {printer.type_of(self._kinds[position])} {name} = {text};")
        self._named[position] = name
        return name

    def _hint(self, node: Node) -> str:
        match node:
            case Load(pointer) | Broadcast(pointer):
                return f"{self._printer.tree.pointers[pointer].buffer}_v"
            case Lane(vector) | Shuffle(vector):
                return self._hint(self._block.nodes[vector])
            case _:
                return "t"

    def _address(self, pointer: int, offset: int) -> str:
        name = self._printer.pointers.name(pointer)
        if offset == 0:
            return name
        return f"{name} {'-' if offset < 0 else '+'} {abs(offset)}"

    def _text(self, node: Node) -> str:
        rows = self._printer.intrinsics.rows
        match node:
            case Load():
                return self._load(node)
            case Broadcast(pointer, offset):
                return rows["broadcast"].c(self._address(pointer, offset))
            case Lane(vector, lane):
                return rows[f"lane.{lane}"].c(self._use(vector))
            case Shuffle() | Element():
                return self._lanes(node)
            case Number() | Ordinal() | Register():
                return self._leaf(node)
            case Apply():
                return self._apply(node)
            case Collect(lanes):
                row = rows["splat" if len(lanes) == 1 else "set"]
                return row.c(*(self._use(lane) for lane in lanes))
            case Choose(condition, then, otherwise):
                test = self._printer.condition(condition)
                return f"(({test}) ? {self._use(then)} : {self._use(otherwise)})"

    def _lanes(self, node: Shuffle | Element) -> str:
        """Lanes by their numbers, in the notation that compilers share for all vector types."""
        if isinstance(node, Element):
            return f"{self._use(node.vector)}[{node.lane}]"
        arguments = [self._use(node.first), self._use(node.second), *map(str, node.lanes)]
        return f"__builtin_shufflevector({', '.join(arguments)})"

    def _leaf(self, node: Number | Ordinal | Register) -> str:
        printer = self._printer
        match node:
            case Number(value, vector, dtype):
                return printer.numbers[float_literal(value)] if vector else literal(value, dtype)
            case Ordinal(index):
                text = index_text(index, printer.loops, printer.ranges)
                return text if text.isidentifier() or text.isdigit() else f"({text})"
            case Register(name):
                return name

    def _load(self, node: Load) -> str:
        if node.lanes == 0:
            return f"{self._printer.pointers.name(node.pointer)}[{node.offset}]"
        intrinsics = self._printer.intrinsics
        row = "load" if node.lanes == intrinsics.lanes else f"load.{node.lanes}"
        return intrinsics.rows[row].c(self._address(node.pointer, node.offset))

    def _apply(self, node: Apply) -> str:
        intrinsics = self._printer.intrinsics
        if node.function == "fma" and node.vector and intrinsics.lane_form:
            return self._fma_lane(node)
        args = [self._use(arg) for arg in node.args]
        if node.vector:
            return intrinsics.rows[node.function].c(*args)
        operand_types = [self._kinds[arg].dtype for arg in node.args]
        return apply_text(node.function, operand_types, args, intrinsics)

    def _fma_lane(self, node: Apply) -> str:
        """An FMA whose factor may be one lane of a vector."""
        rows = self._printer.intrinsics.rows
        a, b, c = node.args
        nodes = self._block.nodes
        if isinstance(nodes[a], Lane):
            a, b = b, a
        factor = nodes[b]
        if not isinstance(factor, Lane):
            return rows["fma"].c(self._use(a), self._use(b), self._use(c))
        vector = self._use(factor.vector)
        return rows[f"fma_lane.{factor.lane}"].c(self._use(a), vector, self._use(c))


def _factor_depths(block: Block) -> dict[int, int]:
    """How many vectors of factors come before each in a run of neighbours, by the load's position.

    Where a block holds several steps' factors, a compiler would load the later ones early and run
    out of registers; a barrier in front of each next depth keeps them where they are used.
    """
    found: dict[tuple[int, int, int], int] = {}
    for node in block.nodes:
        if isinstance(node, Lane):
            load = block.nodes[node.vector]
            if isinstance(load, Load):
                found[load.pointer, load.version, load.offset] = node.vector
    depths: dict[int, int] = {}
    for pointer, version, offset in sorted(found):
        load = block.nodes[found[pointer, version, offset]]
        assert isinstance(load, Load)
        before = found.get((pointer, version, offset - load.lanes))
        depths[found[pointer, version, offset]] = 0 if before is None else depths[before] + 1
    return depths


def _bare(text: str) -> str:
    """`text` without parentheses around all of it, which a whole statement does not need."""
    if not text.startswith("("):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if position == len(text) - 1 else text
    return text


def _count_uses(block: Block) -> list[int]:
    """How many nodes and actions use each node, among those that are evaluated."""
    uses = [0] * len(block.nodes)
    pending = [action.node for action in block.actions if not isinstance(action, Fetch)]
    while pending:
        position = pending.pop()
        uses[position] += 1
        if uses[position] == 1 or position in block.lazy:
            pending.extend(operands(block.nodes[position]))
    return uses


def _node_kinds(block: Block, printer: _Printer) -> list[Kind]:
    """What each node of a block is."""
    result: list[Kind] = []
    pointers = printer.tree.pointers
    for node in block.nodes:
        match node:
            case Load(pointer, _, lanes):
                result.append(Kind(pointers[pointer].dtype, vector=lanes > 0))
            case Register(name):
                result.append(kind_of(printer.registers[name]))
            case Number(_, vector, dtype):
                result.append(Kind(dtype, vector))
            case Ordinal():
                result.append(Kind("i64", vector=False))
            case Apply(function, args, vector):
                row = FUNCTIONS.get(function)
                dtype = row.result if row is not None and row.result else result[args[-1]].dtype
                result.append(Kind(dtype, vector))
            case Choose(_, then, _):
                result.append(result[then])
            case Element():
                result.append(Kind("f32", vector=False))
            case _:
                result.append(Kind("f32", vector=True))
    return result
