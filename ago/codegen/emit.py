"""From a scheduled program to one C function.

Read `emit_function` first: it decomposes reductions, resolves loops, selects instructions, and
prints. The result is complete C but for the headers and helpers it names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ago.codegen.anchors import anchor_pointers
from ago.codegen.ctext import C_TYPES, HELPERS, Names, table_lines, table_name, used_helpers
from ago.codegen.element_helpers import ELEMENT_HELPERS
from ago.codegen.extern import extern_call
from ago.codegen.interleave import interleave
from ago.codegen.intrinsics import Intrinsics
from ago.codegen.invariants import keep_loads
from ago.codegen.lane_form import use_lanes
from ago.codegen.order import reorder
from ago.codegen.parts import count_parts, find_phases
from ago.codegen.print_tree import print_tree
from ago.codegen.resolve import resolve
from ago.codegen.select import select
from ago.errors import CodegenError
from ago.ir import value as ir
from ago.ir.extern import Extern
from ago.ir.index import Index, Table, tables
from ago.ir.nest import Buffer, Prefetch, leaves, walk
from ago.ir.program import Program
from ago.ir.reindexing import map_stmt_indices
from ago.target import Target

STACK_BYTES = 16 * 1024
"""Most bytes of `stack` buffers in one function."""

_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Function:
    """One C function.

    Attributes:
        name: Its C identifier.
        parameters: Names of the buffers it takes, in order.
        types: C type of the elements of each, with its `const`.
        signature: Its declaration without the semicolon.
        text: Its definition, comment included.
        helpers: Names of helper functions it calls.
        key: Equal for functions that differ in names and comments only.
        file: Name, without ending, of the file of `csrc/extern` that it calls; mostly none.
        parts: Where threads share it, how many of its parts may run at once, each time; its last
            argument is then the number of a part.
    """

    name: str
    parameters: tuple[str, ...]
    types: tuple[str, ...]
    signature: str
    text: str
    helpers: tuple[str, ...]
    key: str
    file: str = ""
    parts: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.text

    def renamed(self, name: str) -> Function:
        """The same function under another name."""
        signature = self.signature.replace(f" {self.name}(", f" {name}(", 1)
        text = self.text.replace(self.signature, signature, 1)
        return replace(self, name=name, signature=signature, text=text)

    def relabelled(self, program: Program, target: Target) -> Function:
        """The function of an equal workload: its program's name, and nodes in the comment.

        Args:
            program: What `emit_function` would give the same code for.
            target: What both are for.
        """
        function = self.renamed(program.name)
        code = function.text[function.text.index(function.signature) :]
        return replace(function, text=_comment(program, target) + code)

    def noted(self, note: str) -> Function:
        """The same function with one more line of comment at its start."""
        return replace(self, text=f"/* {note} */\n{self.text}")


def parameters(program: Program) -> tuple[Buffer, ...]:
    """The buffers that the function of a program takes as arguments, in order.

    Inputs, outputs and workspace in the program's order, and those constants that its body loads.
    """
    loaded = {load.buffer for leaf in leaves(program.body) for load, _ in ir.loads(leaf.value)}
    loaded |= {stmt.buffer for stmt in walk(program.body) if isinstance(stmt, Prefetch)}
    loaded |= set(program.extern.inputs) if program.extern else set()
    loaded |= {
        load.buffer
        for leaf in leaves(program.body)
        for load, _ in ir.loads(getattr(leaf, "init", ir.Const(0.0)))
    }
    return tuple(
        buffer
        for buffer in program.buffers
        if buffer.scope in ("input", "output", "workspace")
        or (buffer.scope == "constant" and buffer.name in loaded)
    )


def emit_function(program: Program, target: Target, intrinsics: Intrinsics) -> Function:
    """Generate the C function of a program.

    Args:
        program: Scheduled by primitives; may still hold whole reductions and symbolic tails.
        target: CPU to generate for.
        intrinsics: Table of the target's instruction set.

    Returns:
        The function, named after the program.

    Raises:
        CodegenError: The program cannot be emitted: names the loop or buffer and the reason.
    """
    if target.isa != intrinsics.isa or target.lanes != intrinsics.lanes:
        raise CodegenError(
            f"target {target.name} is {target.isa} with {target.lanes} lanes; the table is "
            f"{intrinsics.isa} with {intrinsics.lanes}"
        )
    if program.extern is not None:
        return _emit_extern(program, program.extern, target)
    _check_buffers(program)
    resolved = resolve(program)
    names = Names()
    name = names.new(program.name)
    arguments = parameters(program)
    buffers = {
        buffer.name: names.new(buffer.name)
        for buffer in program.buffers
        if buffer.scope != "register"
    }
    tree = select(resolved, intrinsics.lanes, names, intrinsics.rows.keys())
    tree = replace(tree, body=interleave(tree.body, tree.pointers, intrinsics.lanes))
    if intrinsics.lane_form:
        tree = replace(tree, body=use_lanes(tree.body, intrinsics.lanes))
    tree = anchor_pointers(replace(tree, body=reorder(tree.body, target.vector_registers)))
    tree = replace(tree, body=keep_loads(tree.body, tree.pointers, target.vector_registers))
    stack = frozenset(b.name for b in program.buffers if b.scope == "stack")
    phases = find_phases(tree.body, tree.pointers, stack)
    part = names.new("part") if phases else ""
    signature = _signature(name, arguments, buffers, part)
    registers = target.vector_registers
    statements = print_tree(resolved, tree, intrinsics, names, buffers, registers, phases, part)
    code = f"{signature} {{\n{_tables(resolved, statements)}{statements}}}\n"
    text = f"{_comment(program, target)}{code}"
    known = HELPERS.keys() | ELEMENT_HELPERS.keys() | intrinsics.helpers.keys()
    helpers = used_helpers(code, known)
    key = _key(code, names.given)
    return Function(
        name,
        tuple(b.name for b in arguments),
        _types(arguments),
        signature,
        text,
        helpers,
        key,
        parts=count_parts(phases),
    )


def _emit_extern(program: Program, extern: Extern, target: Target) -> Function:
    """The function of a program that an extern computes: its constants, and one call."""
    names = Names()
    name = names.new(program.name)
    arguments = parameters(program)
    buffers = {buffer.name: names.new(buffer.name) for buffer in arguments}
    signature = _signature(name, arguments, buffers)
    call = extern_call(extern, {**buffers, "": "NULL"}, names.new("constants"))
    code = f"{signature} {{\n{call}}}\n"
    text = f"{_comment(program, target)}{code}"
    listed = tuple(b.name for b in arguments)
    key = _key(code, names.given)
    types = _types(arguments)
    return Function(name, listed, types, signature, text, (), key, extern.function.file)


def _check_buffers(program: Program) -> None:
    stack = 0
    for buffer in program.buffers:
        if buffer.dtype not in C_TYPES:
            raise CodegenError(
                f"{program.name}: buffer {buffer.name} has dtype {buffer.dtype}; generated are "
                f"{', '.join(sorted(C_TYPES))}"
            )
        if buffer.scope == "stack":
            stack += buffer.nbytes
    if stack > STACK_BYTES:
        raise CodegenError(
            f"{program.name}: stack buffers take {stack} bytes, more than {STACK_BYTES}; move "
            "them to the workspace"
        )


def _types(arguments: tuple[Buffer, ...]) -> tuple[str, ...]:
    written = ("output", "workspace")
    return tuple(
        f"{'' if buffer.scope in written else 'const '}{C_TYPES[buffer.dtype]}"
        for buffer in arguments
    )


def _signature(
    name: str, arguments: tuple[Buffer, ...], buffers: dict[str, str], part: str = ""
) -> str:
    parts = [
        f"{kind} *restrict {buffers[buffer.name]}"
        for kind, buffer in zip(_types(arguments), arguments, strict=True)
    ]
    parts += [f"int32_t {part}"] if part else []
    line = f"void {name}({', '.join(parts) or 'void'})"
    if len(line) <= _WIDTH:
        return line
    return f"void {name}(\n    " + ",\n    ".join(parts) + ")"


def _tables(program: Program, statements: str) -> str:
    """Definitions of the constant tables that the statements look up."""
    found: dict[Table, None] = {}

    def note(index: Index) -> Index:
        found.update(dict.fromkeys(tables(index)))
        return index

    for stmt in program.body:
        map_stmt_indices(stmt, note)
    lines = [
        line for table in found if table_name(table) in statements for line in table_lines(table)
    ]
    return "".join(f"    {line}\n" for line in lines)


def _comment(program: Program, target: Target) -> str:
    """What a reader should know before the code: stages, their nodes, and the arrays."""
    lines = [f"{program.name}, for {target.isa}"]
    for stage in program.stages:
        origin = f" (node {stage.origin})" if stage.origin else ""
        domain = ", ".join(f"{axis.name} {axis.extent}" for axis in stage.axes)
        lines.append(f"  stage {stage.name}{origin}: {domain}")
    if program.extern is not None:
        extern = program.extern
        lines.append(f"  {extern.op} (node {extern.origin}), by {extern.function.file}.c")
    for buffer in program.buffers:
        shape = ", ".join(map(str, buffer.shape))
        kind = "" if buffer.dtype == "f32" else f" {buffer.dtype}"
        lines.append(f"  {buffer.scope} {buffer.name}{kind} [{shape}]")
    text = "\n".join(f" * {line}".replace("*/", "* /") for line in lines)
    return f"/*\n{text}\n */\n"


_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*")


def _key(code: str, own: frozenset[str]) -> str:
    """`code` without comments, its own identifiers numbered in order of appearance."""
    numbers: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        word = match[0]
        return numbers.setdefault(word, f"n{len(numbers)}") if word in own else word

    return _IDENTIFIER.sub(rename, _COMMENT.sub("", code))
