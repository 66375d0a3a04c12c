"""A naive program as Python source that makes it again, equal to the last field.

Read `program_source` first. Values print as calls of their own classes, whatever these are; indices
print as arithmetic on loop variables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass

from ago.ir.index import Atom, FloorDiv, Index, Lookup, Max, Min, Mod, Var, variables
from ago.ir.naming import loop_identifiers
from ago.ir.program import Program

_INDEX_FUNCTIONS = ("as_index", "lookup", "maximum", "minimum", "var")


def program_source(program: Program, function: str) -> tuple[list[str], list[str]]:
    """A function that makes a naive program.

    Args:
        program: Its body is not printed: the function makes the naive one of its stages.
        function: Name of the function, which takes no arguments.

    Returns:
        Import statements, sorted, and the function's lines.
    """
    printer = _Source(loop_identifiers(_loops(program)))
    buffers = [f"        {printer.text(buffer)}," for buffer in program.buffers]
    stages = [f"        {printer.text(stage)}," for stage in program.stages]
    names = [f'    {own} = var("{loop}")' for loop, own in printer.names.items()]
    made = f"Program.naive({program.name!r}, buffers, stages)"
    imports = []
    if program.extern is not None:
        made = f"replace({made}, extern={printer.text(program.extern)})"
        imports = ["from dataclasses import replace"]
    lines = [
        f"def {function}():",
        *names,
        "    buffers = (",
        *buffers,
        "    )",
        "    stages = (",
        *stages,
        "    )",
        f"    return {made}",
    ]
    modules = {Program.__module__: {"Program"}, Index.__module__: set[str]()}
    for kind in printer.classes:
        modules.setdefault(kind.__module__, set()).add(kind.__name__)
    body = "\n".join(lines)
    modules[Index.__module__] |= {name for name in _INDEX_FUNCTIONS if f"{name}(" in body}
    imports += [
        f"from {module} import {', '.join(sorted(used))}"
        for module, used in sorted(modules.items())
        if used
    ]
    return imports, lines


def _loops(program: Program) -> Iterator[str]:
    """The variables of all indices, in order of appearance."""
    for stage in program.stages:
        yield from (stage.loop(axis.name) for axis in stage.axes)
    yield from _variables((program.buffers, program.stages))


def _variables(value: object) -> Iterator[str]:
    if isinstance(value, Index):
        yield from sorted(variables(value))
    elif isinstance(value, tuple):
        for part in value:
            yield from _variables(part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _variables(getattr(value, field.name))


class _Source:
    """Prints values; `classes` are those that the text calls."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names
        self.classes: set[type] = set()

    def text(self, value: object) -> str:
        """`value` as an expression."""
        if isinstance(value, Index):
            return self._index(value) if value.terms else f"as_index({value.const})"
        if isinstance(value, tuple):
            parts = ", ".join(map(self.text, value))
            return f"({parts},)" if len(value) == 1 else f"({parts})"
        if isinstance(value, Mapping):
            return f"{{{', '.join(f'{key!r}: {self.text(own)}' for key, own in value.items())}}}"
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if is_dataclass(value) and not isinstance(value, type):
            return self._call(value, fields(value))
        return repr(value)

    def _call(self, value: object, known: tuple[Field[object], ...]) -> str:
        """A call of the value's class; trailing arguments that are the defaults are left out."""
        self.classes.add(type(value))
        given = [(field, getattr(value, field.name)) for field in known if field.init]
        while given and given[-1][0].default is not MISSING:
            field, last = given[-1]
            if last != field.default:
                break
            given.pop()
        return f"{type(value).__name__}({', '.join(self.text(own) for _, own in given)})"

    def _index(self, index: Index) -> str:
        parts = [
            f"{self._atom(atom)} * {factor}" if factor != 1 else self._atom(atom)
            for atom, factor in index.terms
        ]
        return " + ".join([*parts, *([str(index.const)] if index.const else [])])

    def _atom(self, atom: Atom) -> str:
        match atom:
            case Var(name):
                return self.names[name]
            case Min(a, b):
                return f"minimum({self._index(a) or 0}, {self._index(b) or 0})"
            case Max(a, b):
                return f"maximum({self._index(a) or 0}, {self._index(b) or 0})"
            case FloorDiv(value, divisor):
                return f"(({self._index(value)}) // {divisor})"
            case Mod(value, divisor):
                return f"(({self._index(value)}) % {divisor})"
            case Lookup(table, place):
                return f"lookup({table.entries!r}, {self._index(place)})"
            case Lookup(table, place):
                return f"lookup({table}, {self._index(place)})"
