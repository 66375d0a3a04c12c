"""What a loop nest is made of: axes and stages, statements, buffers.

Read `Stage` first, then `For`. A stage is one operator's naive nest in compact form; statements
are what schedules rewrite. All of it is immutable, and a rewrite shares what it did not touch.
Loops and their variables have one stable name, `conv.y.0`, unique in the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ago.errors import IRError
from ago.ir.identity import by_identity
from ago.ir.index import Index, as_index, var
from ago.ir.tensor import numpy_dtype
from ago.ir.value import (
    Call,
    Condition,
    Load,
    Value,
    loads,
)

LoopKind = Literal["serial", "parallel", "unrolled", "vector"]
Scope = Literal["input", "output", "constant", "workspace", "stack", "register"]
AxisKind = Literal["spatial", "reduce"]


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a stage's iteration domain `[0, extent)`; its variable is `stage.name`."""

    name: str
    extent: int
    kind: AxisKind = "spatial"

    def __str__(self) -> str:
        return f"{self.name}: {self.extent}" + (" reduce" if self.kind == "reduce" else "")


@dataclass(frozen=True, slots=True)
class Stage:
    """One operator's naive nest: `buffer[index] = value`, or a reduction of `value` into it.

    Attributes:
        name: Unique in the program; prefixes its loops' names.
        axes: Iteration domain, outermost first. A spatial axis is one dimension of the output.
        buffer: The one buffer it writes.
        index: Where it writes, in the variables of its spatial axes.
        value: What it stores or accumulates, in the variables of all its axes.
        reduce: Function that accumulates (`"add"`, `"max"`), or None for a plain store.
        init: Start value of the accumulation, in the spatial axes; None for a plain store.
        origin: Name of the graph node it came from, for comments and errors.
        guard: Where it computes anything at all; empty means everywhere.
    """

    name: str
    axes: tuple[Axis, ...]
    buffer: str
    index: tuple[Index, ...]
    value: Value
    reduce: str | None = None
    init: Value | None = None
    origin: str = ""
    guard: Condition = ()

    def __str__(self) -> str:
        axes = ", ".join(map(str, self.axes))
        return f"stage {self.name} over {axes}: {self.leaf()}"

    def loop(self, axis: str) -> str:
        """The name of the naive loop over `axis`."""
        return f"{self.name}.{axis}"

    def axis(self, name: str) -> Axis:
        """The axis called `name`.

        Raises:
            IRError: `unknown-axis` if there is none.
        """
        for axis in self.axes:
            if axis.name == name:
                return axis
        known = ", ".join(a.name for a in self.axes)
        raise IRError("unknown-axis", f"stage {self.name} has no axis {name!r}; it has {known}")

    @property
    def reduce_loops(self) -> tuple[str, ...]:
        """Names of the naive reduce loops, outermost first."""
        return tuple(self.loop(a.name) for a in self.axes if a.kind == "reduce")

    def leaf(self) -> Store | Reduce:
        """The statement at the centre of the naive nest."""
        if self.reduce is None or self.init is None:
            return Store(self.name, self.buffer, self.index, self.value)
        return Reduce(
            self.name,
            self.buffer,
            self.index,
            self.reduce,
            self.init,
            self.value,
            self.reduce_loops,
        )

    def nest(self) -> Stmt:
        """The naive nest: serial loops over the axes in order around `leaf()`; always the same."""
        return _naive_nest(self)


@dataclass(frozen=True, slots=True)
class Store:
    """`buffer[index] = value`, on behalf of `stage`."""

    stage: str
    buffer: str
    index: tuple[Index, ...]
    value: Value

    def __str__(self) -> str:
        return f"{Load(self.buffer, self.index)} = {self.value}"


@dataclass(frozen=True, slots=True)
class Reduce:
    """A whole reduction as one leaf: `buffer[index] = init`, then `op=` value over `loops`.

    `loops` names the enclosing loops that iterate over the reduction. `decompose` puts the
    initialisation in front of the outermost of them, so no primitive needs a special case.
    """

    stage: str
    buffer: str
    index: tuple[Index, ...]
    function: str
    init: Value
    value: Value
    loops: tuple[str, ...]

    def __str__(self) -> str:
        what = f"{self.function} of {self.value} over {', '.join(self.loops) or 'nothing'}"
        return f"{Load(self.buffer, self.index)} = {what}, from {self.init}"


@dataclass(frozen=True, slots=True)
class Update:
    """`buffer[index] = function(buffer[index], value)`: one step of a decomposed reduction."""

    stage: str
    buffer: str
    index: tuple[Index, ...]
    function: str
    value: Value

    def __str__(self) -> str:
        own = Load(self.buffer, self.index)
        return f"{own} = {Call(self.function, (own, self.value))}"


@dataclass(frozen=True, slots=True)
class Prefetch:
    """A hint that `buffer[index]` will be read soon; computes nothing. The element exists."""

    buffer: str
    index: tuple[Index, ...]

    def __str__(self) -> str:
        return f"prefetch {Load(self.buffer, self.index)}"


@dataclass(frozen=True, slots=True)
class For:
    """A loop of the variable `name` over `[lo, hi)`; an empty range does nothing."""

    name: str
    lo: Index
    hi: Index
    kind: LoopKind
    body: tuple[Stmt, ...]

    def __str__(self) -> str:
        kind = "" if self.kind == "serial" else f"{self.kind} "
        return f"{kind}for {self.name} in [{self.lo}, {self.hi}): {_few(self.body)}"

    @property
    def extent(self) -> Index:
        """`hi - lo`."""
        return self.hi - self.lo

    @property
    def index(self) -> Index:
        """The loop's variable as an index."""
        return var(self.name)


@dataclass(frozen=True, slots=True)
class If:
    """Runs `body` where every index of `condition` is at least 0; forms no address otherwise."""

    condition: Condition
    body: tuple[Stmt, ...]

    def __str__(self) -> str:
        condition = " and ".join(f"{part} >= 0" for part in self.condition)
        return f"if {condition}: {_few(self.body)}"


@by_identity(1024)
def _naive_nest(stage: Stage) -> Stmt:
    leaf = stage.leaf()
    body: Stmt = If(stage.guard, (leaf,)) if stage.guard else leaf
    for axis in reversed(stage.axes):
        body = For(stage.loop(axis.name), Index(), as_index(axis.extent), "serial", (body,))
    return body


def _few(body: tuple[Stmt, ...]) -> str:
    """A body in one line: its only statement, or how many there are."""
    return str(body[0]) if len(body) == 1 else f"{len(body)} statements"


Leaf = Store | Reduce | Update
Stmt = Leaf | Prefetch | For | If

_LEAVES = (Store, Reduce, Update)
_NESTS = (For, If)


@dataclass(frozen=True, slots=True)
class Packing:
    """How a packed constant is made at compile time from a model parameter.

    Attributes:
        source: Name of the constant buffer it gathers from.
        loops: Names of the loops that index the packed array, one for each of its dimensions.
        index: Index into `source` in those loops' variables.
        condition: Where the element comes from `source`; elsewhere it is 0.
    """

    source: str
    loops: tuple[str, ...]
    index: tuple[Index, ...]
    condition: Condition = ()


@dataclass(frozen=True, slots=True)
class Buffer:
    """A dense row-major array.

    Attributes:
        name: Unique in the program.
        shape: Physical extents, elements.
        scope: Where it lives; inputs and constants are read-only.
        dtype: Element type, such as `"f32"`.
        packing: For a packed constant, the recipe; None for a constant stored as in the model.
    """

    name: str
    shape: tuple[int, ...]
    scope: Scope
    dtype: str = "f32"
    packing: Packing | None = None

    def __str__(self) -> str:
        packed = "" if self.packing is None else f", packed from {self.packing.source}"
        return f"{self.scope} {self.name}: {self.dtype}{list(self.shape)}{packed}"

    @property
    def nbytes(self) -> int:
        """Its size, bytes."""
        return math.prod(self.shape) * numpy_dtype(self.dtype).itemsize


def walk(body: tuple[Stmt, ...]) -> list[Stmt]:
    """Every statement below `body`, outer before inner, in execution order."""
    found: list[Stmt] = []
    _collect(body, found)
    return found


def _collect(body: tuple[Stmt, ...], found: list[Stmt]) -> None:
    for stmt in body:
        found.append(stmt)
        if isinstance(stmt, _NESTS):
            _collect(stmt.body, found)


def leaves(body: tuple[Stmt, ...]) -> list[Leaf]:
    """Every leaf below `body`, in execution order."""
    return [stmt for stmt in walk(body) if isinstance(stmt, _LEAVES)]


def leaf_loads(leaf: Leaf) -> tuple[tuple[Load, Condition], ...]:
    """Each load of a leaf with the select guards around it; a reduction's init comes first."""
    if isinstance(leaf, Reduce):
        return loads(leaf.init) + loads(leaf.value)
    return loads(leaf.value)


def uses_buffer(leaf: Leaf, buffer: str) -> bool:
    """Whether a leaf loads from a buffer or stores to it."""
    return leaf.buffer == buffer or any(load.buffer == buffer for load, _ in leaf_loads(leaf))


def rewrite(
    body: tuple[Stmt, ...], change: Callable[[Stmt], tuple[Stmt, ...] | None]
) -> tuple[Stmt, ...]:
    """Rebuild `body` top-down: where `change` returns statements they replace one, else recurse.

    Untouched subtrees are shared with the old body.
    """
    result: list[Stmt] = []
    same = True
    for stmt in body:
        replaced = change(stmt)
        if replaced is not None:
            result.extend(replaced)
            same = same and len(replaced) == 1 and replaced[0] is stmt
        elif isinstance(stmt, _NESTS):
            inner = rewrite(stmt.body, change)
            result.append(stmt if inner is stmt.body else with_body(stmt, inner))
            same = same and inner is stmt.body
        else:
            result.append(stmt)
    return body if same else tuple(result)


def with_body(stmt: For | If, body: tuple[Stmt, ...]) -> For | If:
    """`stmt` around other statements; much faster than `replace`, on a path that is hot."""
    if isinstance(stmt, For):
        return For(stmt.name, stmt.lo, stmt.hi, stmt.kind, body)
    return If(stmt.condition, body)


def path_to(body: tuple[Stmt, ...], loop: str) -> tuple[For | If, ...] | None:
    """The statements from the top of `body` down to the loop called `loop`, that loop last."""
    path: list[For | If] = []
    return tuple(reversed(path)) if _climb(body, loop, path) else None


def _climb(body: tuple[Stmt, ...], loop: str, path: list[For | If]) -> bool:
    """Look for a loop below `body`, and put it and what is around it, inside first, on `path`."""
    for stmt in body:
        if isinstance(stmt, _NESTS) and (
            (isinstance(stmt, For) and stmt.name == loop) or _climb(stmt.body, loop, path)
        ):
            path.append(stmt)
            return True
    return False
