"""Reads the expressions of index notation, and says where one is wrong.

Read `Notation` first: one statement's text, from which it makes indices, conditions and values in
the names of the notation's own variables. Expressions are Python's, parsed by `ast`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from ago.errors import InputError
from ago.ir.functions import FUNCTIONS
from ago.ir.index import Index, as_index, var, variables
from ago.ir.value import Call, Condition, Const, Load, Select, Value

_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
}
_AFFINE = "an index is affine: variables, integers, + - *, // and % by constants"
_COMPARES = "a condition compares indices with < <= > >=, joined by and"


@dataclass(frozen=True, slots=True)
class Element:
    """An element that a statement reads: where it stands in the text, and what guards it."""

    node: ast.Subscript
    load: Load
    guard: Condition


@dataclass(slots=True)
class Notation:
    """One statement's text.

    Attributes:
        text: The whole definition, on one line.
        start: Where the statement begins in it.
        shapes: Shapes of the buffers that it may read.
        elements: What it reads, in the order of reading.
    """

    text: str
    start: int
    shapes: Mapping[str, tuple[int, ...]]
    elements: list[Element] = field(default_factory=list)

    def fail(self, place: ast.expr | int, message: str) -> NoReturn:
        """Raise with a caret under `place`: a part of the expression, or a position in `text`."""
        at = place if isinstance(place, int) else self.start + place.col_offset
        raise InputError(f"{message}\n  {self.text}\n  {' ' * at}^")

    def parse(self, text: str, offset: int) -> ast.expr:
        """`text`, which begins `offset` behind the statement, as an expression."""
        try:
            tree = ast.parse(f"({text})", mode="eval").body
        except SyntaxError as error:
            at = min(max((error.offset or 1) - 2, 0), max(len(text.rstrip()), 0))
            what = "this is no expression: numbers, elements such as A[i, k], + - * /, functions "
            self.fail(self.start + offset + at, f"{what}and if-else, each bracket closed")
        except RecursionError:
            self.fail(self.start + offset, "this is nested too deeply: cut it into statements")
        for node in ast.walk(tree):
            if isinstance(node, ast.expr):
                node.col_offset += offset - 1
        return tree

    def left(self, target: ast.expr) -> tuple[str, list[str]]:
        """The buffer that is computed, and the variables of its dimensions."""
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
            self.fail(target, "the left side is an element, such as C[i, j]")
        names: list[str] = []
        for part in _parts(target.slice):
            if not isinstance(part, ast.Name) or part.id in names:
                what = "each index on the left is a variable of its own"
                self.fail(part, f"{what}: what is added or doubled belongs to the right side")
            names.append(part.id)
        return target.value.id, names

    def value(self, node: ast.expr, guard: Condition = ()) -> Value:
        """An expression as a value; its elements are added to `elements`, with their guards."""
        match node:
            case ast.Constant(value=int() | float() as number):
                return Const(float(number))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return Const(-float(number))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Call("sub", (Const(0.0), self.value(operand, guard)))
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                args = (self.value(left, guard), self.value(right, guard))
                return Call(_OPERATORS[type(operator)], args)
            case ast.Call():
                return self._call(node, guard)
            case ast.Subscript():
                return self._element(node, guard)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                condition = self._condition(test)
                inside = self.value(then, guard + condition)
                return Select(condition, inside, self.value(otherwise, guard))
        self.fail(node, "a value is made of numbers, elements, + - * /, functions and if-else")

    def _call(self, node: ast.Call, guard: Condition) -> Value:
        function = node.func.id if isinstance(node.func, ast.Name) else ""
        if function not in FUNCTIONS:
            known = ", ".join(sorted(FUNCTIONS))
            self.fail(node, f"there is no function {function or 'here'}; functions are {known}")
        operands = FUNCTIONS[function].operands
        if len(node.args) != operands or node.keywords:
            what = f"{function} takes {operands} operands, not {len(node.args)}"
            self.fail(node, f"{what}: {function}({', '.join('abc'[:operands])})")
        return Call(function, tuple(self.value(arg, guard) for arg in node.args))

    def _element(self, node: ast.Subscript, guard: Condition) -> Value:
        buffer = node.value.id if isinstance(node.value, ast.Name) else ""
        if buffer not in self.shapes:
            known = ", ".join(sorted(self.shapes))
            self.fail(node, f"{buffer or 'this'} has no shape; shapes are given for {known}")
        index = tuple(self._index(part) for part in _parts(node.slice))
        shape = self.shapes[buffer]
        if len(index) != len(shape):
            what = f"{buffer} has shape {shape}, not {len(index)} dimensions"
            self.fail(node, f"{what}: write an index for each of its {len(shape)}")
        load = Load(buffer, index)
        self.elements.append(Element(node, load, guard))
        return load

    def _index(self, node: ast.expr) -> Index:
        match node:
            case ast.Name(id=name):
                return var(name)
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                return as_index(number)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._index(operand)
            case ast.BinOp(left=left, op=operator, right=right):
                return self._operation(node, self._index(left), operator, self._index(right))
        self.fail(node, _AFFINE)

    def _operation(self, node: ast.expr, a: Index, operator: ast.operator, b: Index) -> Index:
        if isinstance(operator, ast.Mult) and a.is_constant:
            a, b = b, a
        match operator:
            case ast.Add():
                return a + b
            case ast.Sub():
                return a - b
            case ast.Mult() if b.is_constant:
                return a * b.const
            case ast.FloorDiv() if b.is_constant and b.const > 0:
                return a // b.const
            case ast.Mod() if b.is_constant and b.const > 0:
                return a % b.const
        self.fail(node, _AFFINE)

    def _condition(self, node: ast.expr) -> Condition:
        match node:
            case ast.BoolOp(op=ast.And(), values=parts):
                return tuple(c for part in parts for c in self._condition(part))
            case ast.Compare(left=left, ops=operators, comparators=others):
                sides = [self._index(side) for side in (left, *others)]
                steps = zip(sides, operators, sides[1:], strict=False)
                return tuple(self._comparison(node, *step) for step in steps)
        self.fail(node, _COMPARES)

    def _comparison(self, node: ast.expr, a: Index, operator: ast.cmpop, b: Index) -> Index:
        match operator:
            case ast.GtE():
                return a - b
            case ast.Gt():
                return a - b - 1
            case ast.LtE():
                return b - a
            case ast.Lt():
                return b - a - 1
        self.fail(node, _COMPARES)


def _parts(node: ast.expr) -> list[ast.expr]:
    """The indices of a subscript."""
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def named_variables(value: Value) -> Iterator[str]:
    """Variables of a value, in order of appearance; those of one index by name."""
    match value:
        case Load(_, index):
            for part in index:
                yield from sorted(variables(part))
        case Call(_, args):
            for arg in args:
                yield from named_variables(arg)
        case Select(condition, then, otherwise):
            yield from named_variables(then)
            yield from named_variables(otherwise)
            for part in condition:
                yield from sorted(variables(part))
