"""Prints programs as Python text that runs, and that is the reference interpreter.

Read `print_program` first. Loops print as `for`, runs of rectangular loops as one
`for i, j, k in grid(4, 8, 14):`, reductions in the form that `decompose` gives them. The text
calls `grid` and the `ir_...` functions of `interpreter.PRELUDE`, and nothing else. Integer
arithmetic that may leave its type is wrapped around, `i32(a + b)`. It is short, stable and free of
addresses.

The checked form differs in three places only: parallel loops run in shuffled order; stack and
register buffers used inside one parallel loop alone are new in each of its iterations; and a vector
loop becomes one `ir_store` a statement, which evaluates all lanes before it stores any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from ago.errors import IRError
from ago.ir.decompose import decompose
from ago.ir.extern import Extern
from ago.ir.functions import FLOATS, FUNCTIONS, INTEGERS
from ago.ir.index import Index, variables
from ago.ir.naming import buffer_identifiers, identifier, loop_identifiers
from ago.ir.nest import Buffer, For, If, Leaf, Prefetch, Reduce, Stmt, Store, leaves, walk
from ago.ir.reindexing import rename_loops
from ago.ir.value import Call, Condition, Const, Load, Position, Select, Value, loads
from ago.ir.value_types import Types, buffer_types, value_type

if TYPE_CHECKING:
    from ago.ir.program import Program

_INFIX: Mapping[str, tuple[str, int]] = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2)}
"""Functions printed as operators: symbol and precedence."""

_COMPARISONS: Mapping[str, str] = {"equal": "==", "less": "<", "less_equal": "<="}

_MERGED_KINDS = ("serial", "unrolled")


def print_program(program: Program, *, checked: bool = False) -> str:
    """The text of `program`: a comment that lists its buffers, and one function.

    Args:
        program: Any program, also an ill-formed one.
        checked: Print the form that checked interpretation runs.

    Returns:
        Python source. Its function takes the arrays of `parameters(program)` in that order and
        fills the outputs.
    """
    buffers = buffer_identifiers(b.name for b in program.buffers)
    origins = {s.name: f"{s.name}: {s.origin}" if s.origin else s.name for s in program.stages}
    lines = [f"# program {program.name}"]
    lines += [f"#   {_describe(b)}" for b in program.buffers]
    arguments = ", ".join(buffers[b.name] for b in parameters(program))
    lines.append(f"def {identifier(program.name)}({arguments}):")
    types = buffer_types(program.buffers)
    printer = _Printer(buffers, origins, types, checked=checked)
    homes = _private_loops(program.body) if checked else {}
    for buffer in program.buffers:
        if buffer.scope in ("workspace", "stack", "register"):
            home = "" if buffer.scope == "workspace" else homes.get(buffer.name, "")
            kind = "" if buffer.dtype == "f32" else f', "{buffer.dtype}"'
            allocation = f'{buffers[buffer.name]} = ir_alloc("{buffer.name}", {buffer.shape}{kind})'
            printer.allocations.setdefault(home, []).append(f"{allocation}  # {buffer.scope}")
    if program.extern is not None:
        printer.print_extern(program.extern)
    else:
        printer.print_body(program.body, depth=1)
    return "\n".join(lines + printer.lines) + "\n"


def print_statements(body: tuple[Stmt, ...], mark: str | None = None) -> str:
    """The text of a part of a program.

    Args:
        body: Statements, printed in decomposed form.
        mark: Name of a loop whose line gets a trailing `# <---` and that name.
    """
    buffers = buffer_identifiers(_buffers_of(body))
    printer = _Printer(buffers, {}, {}, mark=mark)
    printer.print_body(body, depth=0)
    return "\n".join(printer.lines) + "\n"


def parameters(program: Program) -> tuple[Buffer, ...]:
    """The arrays that a program is called with: inputs, constants that its body uses, outputs."""
    used = set(_buffers_of(program.body))
    if program.extern is not None:
        used |= set(program.extern.inputs)
    inputs = tuple(b for b in program.buffers if b.scope == "input")
    constants = tuple(b for b in program.buffers if b.scope == "constant" and b.name in used)
    return inputs + constants + tuple(b for b in program.buffers if b.scope == "output")


def value_text(
    value: Value, buffers: Mapping[str, str], level: int = 0, types: Types = MappingProxyType({})
) -> str:
    """`value` as a Python expression.

    Args:
        value: The expression.
        buffers: Identifier of each buffer; others print under their own name.
        level: Precedence of the place: 0 stands alone, 1 in a sum or call, 2 in a product.
        types: Element types of the buffers; where one is missing, f32.
    """
    match value:
        case Const(number, dtype):
            return repr(float(number)) if dtype in FLOATS else repr(number)
        case Position(place):
            text = str(place)
            return f"({text})" if level and not text.isidentifier() else text
        case Load(buffer, index):
            return element_text(buffer, index, buffers)
        case Call():
            return _call_text(value, buffers, level, types)
        case Select(condition, then, otherwise):
            branches = (
                value_text(then, buffers, 1, types),
                value_text(otherwise, buffers, 0, types),
            )
            text = f"{branches[0]} if {condition_text(condition)} else {branches[1]}"
            return f"({text})" if level else text


def _call_text(call: Call, buffers: Mapping[str, str], level: int, types: Types) -> str:
    row = FUNCTIONS.get(call.function)
    kind = value_type(call, types) if row is not None and row.wraps else "f32"
    if kind in INTEGERS:
        return f"{kind}({_bare_call(call, buffers, 0, types)})"
    return _bare_call(call, buffers, level, types)


def _bare_call(call: Call, buffers: Mapping[str, str], level: int, types: Types) -> str:
    """A call before its result wraps around."""
    match call:
        case Call(function, (a, b)) if function in _INFIX:
            symbol, own = _INFIX[function]
            left, right = (
                value_text(v, buffers, place, types) for v, place in ((a, own), (b, own + 1))
            )
            text = f"{left} {symbol} {right}"
            return f"({text})" if own < level else text
        case Call(function, (a, b)) if function in _COMPARISONS:
            left, right = (value_text(v, buffers, 1, types) for v in (a, b))
            text = f"{left} {_COMPARISONS[function]} {right}"
            return f"({text})" if level else text
        case Call(function, args):
            return f"ir_{function}({', '.join(value_text(a, buffers, 1, types) for a in args)})"


def condition_text(condition: Condition) -> str:
    """A conjunction as Python, `y >= 1 and y < 56` where the form of its parts is simple."""
    return " and ".join(map(_comparison, condition)) or "True"


def element_text(
    buffer: str, index: tuple[Index, ...], buffers: Mapping[str, str] = MappingProxyType({})
) -> str:
    """`buffer[index]` as Python; see `value_text` for `buffers`."""
    subscript = ", ".join(map(str, index)) or "()"
    return f"{buffers.get(buffer, buffer)}[{subscript}]"


def _comparison(index: Index) -> str:
    """`index >= 0`, with a constant, or the one side that is negative, moved to the right."""
    if all(c > 0 for _, c in index.terms):
        return f"{Index(index.terms)} >= {-index.const}"
    if all(c < 0 for _, c in index.terms):
        return f"{-Index(index.terms)} < {index.const + 1}"
    return f"{index} >= 0"


def _describe(buffer: Buffer) -> str:
    text = f"{buffer.scope} {buffer.name}: {buffer.dtype}{list(buffer.shape)}"
    recipe = buffer.packing
    if recipe is None:
        return text
    text += f" = {element_text(recipe.source, recipe.index)} for {', '.join(recipe.loops)}"
    return text + (f" if {condition_text(recipe.condition)}" if recipe.condition else "")


def _buffers_of(body: tuple[Stmt, ...]) -> Iterable[str]:
    yield from (stmt.buffer for stmt in walk(body) if isinstance(stmt, Prefetch))
    for leaf in leaves(body):
        yield leaf.buffer
        values = (leaf.init, leaf.value) if isinstance(leaf, Reduce) else (leaf.value,)
        yield from (load.buffer for value in values for load, _ in loads(value))


def _private_loops(body: tuple[Stmt, ...]) -> dict[str, str]:
    """The innermost parallel loop around all accesses of each buffer that has one."""
    around: dict[str, tuple[str, ...]] = {}

    def visit(body: tuple[Stmt, ...], parallel: tuple[str, ...]) -> None:
        for stmt in body:
            match stmt:
                case For(kind="parallel"):
                    visit(stmt.body, (*parallel, stmt.name))
                case For() | If():
                    visit(stmt.body, parallel)
                case Prefetch():
                    continue
                case _:
                    for name in _buffers_of((stmt,)):
                        shared = zip(around.get(name, parallel), parallel, strict=False)
                        around[name] = tuple(a for a, b in shared if a == b)

    visit(body, ())
    return {name: loops[-1] for name, loops in around.items() if loops}


def _loops_of(body: tuple[Stmt, ...]) -> Iterable[str]:
    return (stmt.name for stmt in walk(body) if isinstance(stmt, For))


def _stages_of(stmt: Stmt) -> frozenset[str]:
    return frozenset(leaf.stage for leaf in leaves((stmt,)))


@dataclass(slots=True)
class _Printer:
    """Collects the lines of one text.

    `allocations` are the lines that begin the body of a loop, or of the function for the name `""`.
    """

    buffers: Mapping[str, str]
    origins: Mapping[str, str]
    types: Types
    mark: str | None = None
    checked: bool = False
    lines: list[str] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)
    allocations: dict[str, list[str]] = field(default_factory=dict)

    def print_body(self, body: tuple[Stmt, ...], depth: int) -> None:
        body = decompose(body)
        names = loop_identifiers(_loops_of(body), frozenset(self.buffers.values()))
        if self.mark in names:
            self.marks = {names[self.mark]: self.mark}
        self.allocations = {names.get(loop, loop): a for loop, a in self.allocations.items()}
        self._allocate("", depth)
        self._block(rename_loops(body, names), depth, named=frozenset())

    def print_extern(self, extern: Extern) -> None:
        self._allocate("", 1)
        names = {"": "None", **self.buffers}
        self._line(1, f"# {extern.name}: {extern.origin}" if extern.origin else f"# {extern.name}")
        read, written = (
            "".join(f"{names[buffer]}, " for buffer in buffers)
            for buffers in (extern.inputs, extern.outputs)
        )
        self._line(1, f"ir_extern({extern.op!r}, ({read}), ({written}), {dict(extern.attrs)})")

    def _block(self, body: tuple[Stmt, ...], depth: int, named: frozenset[str]) -> None:
        """Print statements; a comment announces each stage where its own part begins."""
        before = named
        for stmt in body:
            stages = _stages_of(stmt)
            if len(stages) == 1 and stages != before:
                (stage,) = stages
                if stage in self.origins:
                    self._line(depth, f"# {self.origins[stage]}")
            before = stages or before
            self._statement(stmt, depth, stages)
        if not body:
            self._line(depth, "pass")

    def _statement(self, stmt: Stmt, depth: int, stages: frozenset[str]) -> None:
        match stmt:
            case For(kind="vector") if self.checked:
                self._lanes(stmt, depth, (), ())
            case For():
                loops = _rectangle(stmt)
                self._loop_line(loops, depth)
                self._allocate(loops[-1].name, depth + 1)
                self._block(loops[-1].body, depth + 1, stages)
            case If(condition, body):
                self._line(depth, f"if {condition_text(condition)}:")
                self._block(body, depth + 1, stages)
            case Prefetch(buffer, index):
                element = element_text(buffer, index, self.buffers)
                self._line(depth, f"ir_prefetch({element})")
            case _:
                self._line(depth, self._assignment(stmt))

    def _loop_line(self, loops: tuple[For, ...], depth: int) -> None:
        first = loops[0]
        names = ", ".join(loop.name for loop in loops)
        if len(loops) > 1:
            domain = f"grid({', '.join(str(loop.hi) for loop in loops)})"
        else:
            domain = _range(first)
        if self.checked and first.kind == "parallel":
            domain = f"ir_shuffled({domain})"
        text = f"for {names} in {domain}:"
        notes: list[str] = [] if first.kind == "serial" else [first.kind]
        notes += [f"<--- {self.marks[loop.name]}" for loop in loops if loop.name in self.marks]
        self._line(depth, text + (f"  # {', '.join(notes)}" if notes else ""))

    def _assignment(self, leaf: Leaf) -> str:
        target = element_text(leaf.buffer, leaf.index, self.buffers)
        if isinstance(leaf, Store):
            return f"{target} = {self._value(leaf.value)}"
        if leaf.function in _INFIX and self.types.get(leaf.buffer, "f32") in FLOATS:
            return f"{target} {_INFIX[leaf.function][0]}= {self._value(leaf.value)}"
        return f"{target} = {self._value(_stored(leaf))}"

    def _value(self, value: Value) -> str:
        return value_text(value, self.buffers, 0, self.types)

    def _lanes(self, stmt: Stmt, depth: int, lanes: tuple[For, ...], mask: Condition) -> None:
        """Print what is inside a vector loop statement by statement, all lanes at a time."""
        match stmt:
            case For(kind="vector"):
                for inner in stmt.body:
                    self._lanes(inner, depth, (*lanes, stmt), mask)
            case For():
                _require_uniform(stmt, lanes)
                self._loop_line((stmt,), depth)
                start = len(self.lines)
                for inner in stmt.body:
                    self._lanes(inner, depth + 1, lanes, mask)
                if len(self.lines) == start:
                    self._line(depth + 1, "pass")
            case If(condition, body):
                for inner in body:
                    self._lanes(inner, depth, lanes, mask + condition)
            case Prefetch():
                raise IRError("vector-bounds", "a vector loop holds a prefetch")
            case _:
                index = "".join(f"{i}, " for i in stmt.index)
                item = f"(({index.rstrip(' ')}), {self._value(_stored(stmt))})"
                clauses = "".join(f" for {lane.name} in {_range(lane)}" for lane in lanes)
                clauses += f" if {condition_text(mask)}" if mask else ""
                target = self.buffers.get(stmt.buffer, stmt.buffer)
                self._line(depth, f"ir_store({target}, [{item}{clauses}])")

    def _allocate(self, loop: str, depth: int) -> None:
        for line in self.allocations.get(loop, ()):
            self._line(depth, line)

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)


def _stored(leaf: Leaf) -> Value:
    """What a leaf of a decomposed body stores."""
    if isinstance(leaf, Store):
        return leaf.value
    return Call(leaf.function, (Load(leaf.buffer, leaf.index), leaf.value))


def _range(loop: For) -> str:
    return f"range({loop.hi})" if loop.lo == Index() else f"range({loop.lo}, {loop.hi})"


def _rectangle(loop: For) -> tuple[For, ...]:
    """`loop` and the loops directly inside it that share its kind, start at 0 and do not use it."""
    loops = [loop]
    names = {loop.name}
    while len(loops[-1].body) == 1 and loop.kind in _MERGED_KINDS and loop.lo == Index():
        (inner,) = loops[-1].body
        if not isinstance(inner, For) or inner.kind != loop.kind or inner.lo != Index():
            break
        if inner.name in names or variables(inner.hi) & names:
            break
        loops.append(inner)
        names.add(inner.name)
    return tuple(loops)


def _require_uniform(loop: For, lanes: tuple[For, ...]) -> None:
    used = variables(loop.lo) | variables(loop.hi)
    for lane in lanes:
        if lane.name in used:
            raise IRError(
                "vector-bounds",
                f"bounds of loop {loop.name} depend on the vector loop {lane.name} around it",
            )
