"""Operators in index notation: `define("C[i,j] += A[i,k] * B[k,j]", shapes=...)`.

Read `define` first. Each statement becomes one stage, whose axes are the variables of its indices,
with extents inferred from the shapes. What is wrong is reported with a caret under the place.
"""

from __future__ import annotations

import ast
import math
import numbers
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ago.errors import InputError
from ago.ir.bounds import guarded_interval, interval
from ago.ir.index import Index, Var, as_index, substitute, var, variables
from ago.ir.nest import Axis, Buffer, For, Scope, Stage
from ago.ir.notation import Element, Notation, named_variables
from ago.ir.program import Program
from ago.ir.proofs import never_negative
from ago.ir.value import Const, substitute_value

Shape = tuple[int, ...]

_STARTS: Mapping[str, tuple[str, float]] = {
    "+=": ("add", 0.0),
    "*=": ("mul", 1.0),
    "max=": ("max", float("-inf")),
    "min=": ("min", float("inf")),
}
"""Reducing operators: the function, and what the reduction starts with."""

_MOST_ELEMENTS = 2**48
"""Elements of a buffer: what a 64-bit processor can address, and an index can count."""

_ASSIGNMENT = re.compile(r"(?<![<>=!])(\+=|\*=|\bmax\s*=|\bmin\s*=|=)(?!=)")


def define(
    text: str,
    shapes: Mapping[str, Shape],
    *,
    constants: Collection[str] = (),
    extents: Mapping[str, int] | None = None,
    name: str = "defined",
) -> Program:
    """A program from index notation.

    A statement is `C[i, j] = value`, or a reduction with `+=`, `*=`, `max=` or `min=` over all
    variables that stand on the right only. A value is made of numbers, elements such as
    `X[2*y + ky, c]`, the operators `+ - * /`, functions such as `max(0, x)` (those of
    `ago.ir.functions`), and `a if y >= 1 and y < n else b`, where only one branch is read.
    Indices are affine, with `//` and `%` by constants. Several statements are separated by `;`;
    what one computes, later ones may read.

    A variable that is an index by itself ranges over that dimension. Others range as far as all
    their elements exist: in `X[2*y + ky]`, `y` takes `(len(X) - len(ky)) // 2 + 1` values.
    What stands under a condition determines none.

    Args:
        text: One or more statements.
        shapes: Shape of each buffer that is read and not computed, elements by dimension.
        constants: Names of those that are constants; the others are inputs.
        extents: Extents of variables that no index determines.
        name: Name of the program.

    Returns:
        A naive program with one stage a statement, named after what it computes. Its loops are
        `C.i` and so on: first the variables of the left side, then those reduced over in order of
        appearance. The last statement computes the output.

    Raises:
        InputError: The text cannot be understood, an extent is unknown or does not fit, or an
            element does not exist, with a caret under the place; or a shape, an extent or a
            constant is none.

    Example:
        >>> program = define("C[i,j] += A[i,k] * B[k,j]", shapes={"A": (4, 5), "B": (5, 6)})
        >>> print(program.stages[0].axes[2])
        k: 5 reduce
        >>> pool = define("P[y,c] max= X[2*y + r, c]", {"X": (9, 4)}, extents={"r": 3})
        >>> pool.buffer("P").shape
        (4, 4)
    """
    known = {buffer: _shape(buffer, shape) for buffer, shape in shapes.items()}
    given = {name: _size(f"extent of {name}", extent) for name, extent in (extents or {}).items()}
    stages: list[Stage] = []
    text = text.replace("\n", " ")
    start = 0
    for part in text.split(";"):
        stage = _stage(Notation(text, start, known), part, dict(given))
        sizes = tuple(a.extent for a in stage.axes if a.kind == "spatial")
        known[stage.buffer] = _shape(stage.buffer, sizes)
        stages.append(stage)
        start += len(part) + 1
    unused = given.keys() - {axis.name for stage in stages for axis in stage.axes}
    if unused:
        raise InputError(f"extents has {min(unused)}, which no statement uses")
    return Program.naive(name, _buffers(stages, known, constants), tuple(stages))


def _shape(buffer: str, shape: Shape) -> Shape:
    """The shape of a buffer, checked."""
    if not isinstance(shape, Sequence) or isinstance(shape, str):
        raise InputError(f"the shape of {buffer} is sizes, such as (4, 5), not {shape!r}")
    sizes = tuple(_size(f"size of {buffer}", size) for size in shape)
    if math.prod(sizes) > _MOST_ELEMENTS:
        raise InputError(f"{buffer} {list(sizes)} has more elements than memory could hold")
    return sizes


def _size(what: str, size: int) -> int:
    """A size or an extent, checked; NumPy's integers are taken too."""
    if isinstance(size, bool) or not isinstance(size, numbers.Integral) or size < 0:
        raise InputError(f"each {what} is an integer of at least 0, not {size!r}")
    return int(size)


def _buffers(
    stages: Sequence[Stage], shapes: Mapping[str, Shape], constants: Collection[str]
) -> tuple[Buffer, ...]:
    computed = [stage.buffer for stage in stages]

    def scope(name: str) -> Scope:
        if name in computed:
            return "output" if name == computed[-1] else "workspace"
        return "constant" if name in constants else "input"

    missing = sorted(set(constants) - (shapes.keys() - set(computed)))
    if missing:
        raise InputError(f"constant {missing[0]} has no shape")
    return tuple(Buffer(name, shape, scope(name)) for name, shape in shapes.items())


def _stage(notation: Notation, text: str, extents: dict[str, int]) -> Stage:
    """One statement as a stage, its axes with inferred extents."""
    match = _ASSIGNMENT.search(text)
    if match is None:
        notation.fail(notation.start, "a statement needs =, +=, *=, max= or min=")
    operator = match[1].replace(" ", "")
    target = notation.parse(text[: match.start()], 0)
    buffer, spatial = notation.left(target)
    if buffer in notation.shapes:
        notation.fail(target, f"{buffer} is an operand, or computed already")
    source = notation.parse(text[match.end() :], match.end())
    value = notation.value(source)
    reduced = [n for n in dict.fromkeys(named_variables(value)) if n not in spatial]
    if reduced and operator == "=":
        what = f"{', '.join(reduced)} not in {buffer}[...]: reduce with +=, *=, max= or min="
        what += ", or name it there"
        notation.fail(notation.start + match.start(), what)
    names = [*spatial, *reduced]
    found = _Extents(notation, extents)
    found.infer()
    for name in names:
        if name not in extents:
            what = f"no index gives the extent of {name}: pass extents={{{name!r}: ...}}"
            notation.fail(_place_of(name, (target, source)), what)
    found.check_bounds(names)
    axes = tuple(Axis(n, extents[n], "spatial" if n in spatial else "reduce") for n in names)
    loops = {n: var(f"{buffer}.{n}") for n in names}
    function, start = _STARTS.get(operator, (None, 0.0))
    return Stage(
        buffer,
        axes,
        buffer,
        tuple(loops[n] for n in spatial),
        substitute_value(value, loops),
        function,
        None if function is None else Const(start),
    )


@dataclass(frozen=True, slots=True)
class _Extents:
    """Extents of a statement's variables, found from what it reads.

    Attributes:
        notation: The statement, read.
        known: Extents by variable, as far as known.
    """

    notation: Notation
    known: dict[str, int]

    def infer(self) -> None:
        """Find the extents that indices give; what a condition guards gives none."""
        for element in self.notation.elements:
            for index, extent in self._dimensions(element):
                name = _plain(index)
                if name and not element.guard and self.known.setdefault(name, extent) != extent:
                    self.notation.fail(
                        element.node,
                        f"{name} is {self.known[name]} elsewhere and {extent} in "
                        f"{element.load.buffer}: give it another name there, or an equal shape",
                    )
        while found := self._reach():
            self.known.update(found)

    def _reach(self) -> dict[str, int]:
        """Extents of variables that are the only unknown ones in some index."""
        found: dict[str, int] = {}
        for element in self.notation.elements:
            for index, extent in self._dimensions(element):
                unknown = sorted(variables(index) - self.known.keys())
                step = index.coefficient(unknown[0]) if len(unknown) == 1 else 0
                if step <= 0 or element.guard:
                    continue
                (name,) = unknown
                rest = substitute(index, {name: Index()})
                room = extent - 1 - interval(rest, self._ranges())[1]
                count = room // step + 1
                if count < 1:
                    self.notation.fail(
                        element.node, f"{name} has no value for which {index} is inside"
                    )
                found[name] = min(count, found.get(name, count))
        return found

    def _dimensions(self, element: Element) -> list[tuple[Index, int]]:
        return list(zip(element.load.index, self.notation.shapes[element.load.buffer], strict=True))

    def _ranges(self) -> dict[str, tuple[int, int]]:
        return {name: (0, extent - 1) for name, extent in self.known.items()}

    def check_bounds(self, names: Sequence[str]) -> None:
        """Fail where an element is not proved to exist while the variables `names` run."""
        loops = tuple(
            For(name, Index(), as_index(self.known[name]), "serial", ()) for name in names
        )
        for element in self.notation.elements:
            for index, extent in self._dimensions(element):
                parts = (index, extent - 1 - index)
                if all(never_negative(p, loops, element.guard) for p in parts):
                    continue
                low, high = guarded_interval(index, self._ranges(), element.guard)
                self.notation.fail(
                    element.node,
                    f"{index} is {low} to {high}, and {element.load.buffer} has {extent} there: "
                    "guard it with if-else, or pass smaller extents",
                )


def _place_of(name: str, trees: Sequence[ast.expr]) -> ast.expr:
    """The first place at which a variable is named."""
    named = [n for t in trees for n in ast.walk(t) if isinstance(n, ast.Name) and n.id == name]
    return named[0]


def _plain(index: Index) -> str:
    """The variable that `index` is; an empty string for anything else."""
    match index.terms:
        case ((Var(name), 1),) if index.const == 0:
            return name
    return ""
