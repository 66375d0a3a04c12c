"""Prints one straight-line block of a tree.

Read `BlockPrinter` first. A node that is used once is printed where it is used; one that is used
more often gets a name at its first use. Statements keep the order of the block's actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ago.codegen.barriers import factor_depths, settled, window_turns
from ago.codegen.ctext import float_literal, index_text, literal, number_name
from ago.codegen.elements import apply_text
from ago.codegen.tree import (
    Apply,
    Assign,
    Block,
    Broadcast,
    Choose,
    Collect,
    Element,
    Fetch,
    Lane,
    Load,
    Node,
    Number,
    Ordinal,
    Register,
    RegisterVariable,
    Shuffle,
    Write,
    operands,
)
from ago.ir.functions import FUNCTIONS

if TYPE_CHECKING:
    from ago.codegen.print_tree import Printer


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value is in C: its element type, and whether it is a vector; of bool, a mask."""

    dtype: str
    vector: bool


def kind_of(register: RegisterVariable) -> Kind:
    """What a register variable is."""
    return Kind(register.dtype, register.vector)


class BlockPrinter:
    """Prints one block into the function around it."""

    def __init__(self, printer: Printer, block: Block) -> None:
        self._printer = printer
        self._block = block
        self._named: dict[int, str] = {}
        self._uses = _count_uses(block)
        self._kinds = _node_kinds(block, printer)
        self._depths = factor_depths(block)
        self._depth = 0
        self._turns = window_turns(block, self._uses)
        rows = printer.intrinsics.rows
        library = {name for name, row in rows.items() if row.latency == "library"}
        settles = "settle" in rows
        self._settled = settled(block, library, printer.vector_registers) if settles else {}
        self._fetched: dict[str, str] = {}

    def print(self) -> None:
        """Print its actions in order, each with the values that it needs."""
        stage = ""
        for number, action in enumerate(self._block.actions):
            if isinstance(action, Fetch):
                address = self._address(action.pointer, action.offset)
                self._printer.line(f"__builtin_prefetch({address});")
                continue
            if action.stage != stage:
                stage = action.stage
                self._printer.line(f"/* {stage} */".replace("*/ */", "* / */"))
            for register in self._settled.get(number, ()):
                value = self._printer.intrinsics.rows["settle"].c(register)
                self._printer.assign(register, value)
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
        if self._depths.get(position, 0) > self._depth or position in self._turns:
            self._depth = self._depths.get(position, self._depth)
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
                return self._vector_number(value) if vector else literal(value, dtype)
            case Ordinal(index):
                text = index_text(index, printer.loops, printer.ranges)
                return text if text.isidentifier() or text.isdigit() else f"({text})"
            case Register(name):
                return name

    def _vector_number(self, value: float) -> str:
        """A vector constant: the function's, or one that this block fetches."""
        printer, text = self._printer, float_literal(value)
        if text in printer.numbers:
            return printer.numbers[text]
        if text not in self._fetched:
            name = self._fetched[text] = printer.names.new(number_name(text))
            place = f"ago_opaque({printer.stored_numbers[text]})"
            fetched = printer.intrinsics.rows["broadcast"].c(place)
            printer.line(f"const {printer.intrinsics.vector_type} {name} = {fetched};")
        return self._fetched[text]

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


def _node_kinds(block: Block, printer: Printer) -> list[Kind]:
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
