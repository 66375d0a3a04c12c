"""Whether a ring is read only while its slot holds what is meant.

Read `find_stale_read` first. A ring is a dimension that is written at `e % n`, `n` its extent: the
slot then holds row `e` until another row lands there. Intervals cannot tell, so the rows are
played through, exactly: the program is reduced to the loops that move the ring, and those run.

An index `e % n` keeps its rows up to a multiple of `n` only. So a read may be off by one and the
same multiple whenever it meets what one statement wrote, which then is what it means; any other
row is stale. Rings that move along a loop that their rows no longer mention are not judged. Where
another dimension is the variable of a loop, each of its iterations has a ring of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ago.ir.decompose import decompose
from ago.ir.index import Index, Mod, substitute, var, variables
from ago.ir.nest import Buffer, For, If, Leaf, Prefetch, Stmt, Store
from ago.ir.value import Condition, loads


@dataclass(frozen=True, slots=True)
class StaleRead:
    """A read of a row that its slot does not hold.

    Attributes:
        leaf: The statement.
        loops: Loops around it, outermost first.
        message: What it reads, and what the slot holds.
    """

    leaf: Leaf
    loops: tuple[For, ...]
    message: str


def ring_row(index: Index, extent: int) -> Index | None:
    """`e` where `index` is `e % extent`; None for any other index."""
    match index:
        case Index(((Mod(row, divisor), 1),), 0) if divisor == extent:
            return row
    return None


def find_stale_read(body: tuple[Stmt, ...], buffers: Mapping[str, Buffer]) -> StaleRead | None:
    """The first read of a row that another row has replaced, or that was never computed.

    Guards that do not move the ring are taken to hold, and other loops to run once. A slot that is
    also written in another form than `e % n` is not judged until its next row.

    Args:
        body: A program's statements.
        buffers: Its buffers.
    """
    rings = sorted(set(_rings(body, buffers)))
    if not rings:
        return None
    simple = decompose(body)
    for name, dimension, copies in rings:
        stale = _Player(buffers[name], dimension, copies).play(simple)
        if stale is not None:
            return stale
    return None


def _rings(
    body: tuple[Stmt, ...], buffers: Mapping[str, Buffer]
) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """Buffer and dimension of each ring, and the dimensions that tell its copies apart.

    Its rows move along no other dimension.
    """
    for stmt in body:
        if isinstance(stmt, For | If):
            yield from _rings(stmt.body, buffers)
        elif not isinstance(stmt, Prefetch):
            shape = buffers[stmt.buffer].shape
            for dimension, (index, extent) in enumerate(zip(stmt.index, shape, strict=True)):
                row = ring_row(index, extent)
                if row is None:
                    continue
                aside = [d for d, i in enumerate(stmt.index) if variables(row) & variables(i)]
                copies = tuple(d for d in aside if d != dimension)
                if all(_is_variable(stmt.index[d]) for d in copies):
                    yield stmt.buffer, dimension, copies


def _is_variable(index: Index) -> bool:
    """Whether an index is the variable of a loop."""
    return any(index == var(name) for name in variables(index))


@dataclass(frozen=True, slots=True)
class _Touch:
    """One access of the ring: the row, None where it cannot be told, and the guards in its leaf.

    `copy` is where it stands along the dimensions that tell copies apart.
    """

    leaf: Leaf
    row: Index | None
    copy: tuple[Index, ...]
    writes: bool
    known: Condition
    loops: tuple[For, ...]


class _StaleError(Exception):
    """Raised by the text that plays the rows."""

    def __init__(self, number: int, row: int, held: int | None, at: Mapping[str, int]) -> None:
        super().__init__()
        self.number = number
        self.row = row
        self.held = held
        self.at = at


@dataclass(slots=True)
class _Player:
    """Writes the reduced program as Python text, and runs it."""

    buffer: Buffer
    dimension: int
    copies: tuple[int, ...]
    touches: list[_Touch] = field(default_factory=list)
    moving: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    offsets: dict[tuple[int, int], tuple[int, int, Mapping[str, int]]] = field(default_factory=dict)

    def play(self, body: tuple[Stmt, ...]) -> StaleRead | None:
        if not self._find_moving(body):
            return None
        extent = self.buffer.shape[self.dimension]
        names = {name: var(f"v{place}") for place, name in enumerate(sorted(self.moving))}
        self._block(body, (), 0, names)
        scope: dict[str, object] = {"slots": {}, "unwritten": None, "look": self._look}
        try:
            exec("\n".join(self.lines), scope)
        except _StaleError as error:
            touch = self.touches[error.number]
            loops = [x.name for x in touch.loops if x.name in names]
            at = ", ".join(f"{name} = {error.at[str(names[name])]}" for name in loops)
            state = "is empty" if error.held is None else f"holds row {error.held} by then"
            message = (
                f"stage {touch.leaf.stage} reads row {error.row} of {self.buffer.name}, a ring of "
                f"{extent} in dimension {self.dimension}, whose slot {error.row % extent} {state}"
            )
            return StaleRead(touch.leaf, touch.loops, f"{message}, at {at}" if at else message)
        return None

    def _look(
        self, number: int, row: int, slot: tuple[int, int] | None, at: Mapping[str, int]
    ) -> None:
        """Read a slot, which holds a row and the number of the access that wrote it."""
        if slot is None:
            raise _StaleError(number, row, None, at)
        held, writer = slot
        if writer < 0:
            return
        if (number, writer) not in self.offsets:
            self.offsets[number, writer] = held - row, row, dict(at)
        offset, other, before = self.offsets[number, writer]
        if offset and offset != held - row:
            raise _StaleError(number, other, other + offset, before)
        if offset != held - row:
            raise _StaleError(number, row, held, at)

    def _find_moving(self, body: tuple[Stmt, ...]) -> bool:
        """Collect the loops that rows, their loops' bounds and their guards depend on.

        Returns:
            Whether each row mentions all of those around it.
        """
        ties: list[frozenset[str]] = []
        rows: list[tuple[frozenset[str], frozenset[str]]] = []

        def visit(body: tuple[Stmt, ...], path: tuple[For | If, ...]) -> None:
            for stmt in body:
                if isinstance(stmt, For | If):
                    visit(stmt.body, (*path, stmt))
                elif not isinstance(stmt, Prefetch):
                    for touch in self._touches(stmt, ()):
                        ties.extend(_ties(path, touch.known))
                        if touch.row is not None:
                            used = variables(touch.row).union(*map(variables, touch.copy))
                            self.moving |= used
                            around = frozenset(x.name for x in path if isinstance(x, For))
                            rows.append((used, around))

        visit(body, ())
        grows = True
        while grows:
            found = {name for tie in ties if tie & self.moving for name in tie}
            grows = not found <= self.moving
            self.moving |= found
        return all(around & self.moving <= used for used, around in rows)

    def _touches(self, leaf: Leaf, loops: tuple[For, ...]) -> Iterator[_Touch]:
        for load, known in loads(leaf.value):
            if load.buffer == self.buffer.name:
                yield _Touch(leaf, *self._slot(load.index), False, known, loops)
        if leaf.buffer == self.buffer.name:
            if not isinstance(leaf, Store):
                yield _Touch(leaf, *self._slot(leaf.index), False, (), loops)
            yield _Touch(leaf, *self._slot(leaf.index), True, (), loops)

    def _slot(self, index: tuple[Index, ...]) -> tuple[Index | None, tuple[Index, ...]]:
        """The row of an access, and its copy."""
        row = ring_row(index[self.dimension], self.buffer.shape[self.dimension])
        return row, tuple(index[d] for d in self.copies)

    def _block(
        self,
        body: Sequence[Stmt],
        loops: tuple[For, ...],
        depth: int,
        names: Mapping[str, Index],
    ) -> None:
        for stmt in body:
            match stmt:
                case For():
                    start = len(self.lines)
                    head = self._head(stmt, names)
                    self._line(depth, head)
                    self._block(stmt.body, (*loops, stmt), depth + 1, names)
                    if len(self.lines) == start + 1:
                        self.lines.pop()
                case If(condition, inner):
                    start = len(self.lines)
                    self._line(depth, f"if {self._holds(condition, names)}:")
                    self._block(inner, loops, depth + 1, names)
                    if len(self.lines) == start + 1:
                        self.lines.pop()
                case Prefetch():
                    continue
                case _:
                    for touch in self._touches(stmt, loops):
                        self._touch(touch, depth, names)

    def _head(self, loop: For, names: Mapping[str, Index]) -> str:
        if loop.name not in self.moving:
            return "if True:" if loop.extent.const > 0 or loop.extent.terms else "if False:"
        low, high = (substitute(bound, names) for bound in (loop.lo, loop.hi))
        return f"for {names[loop.name]} in range({low}, {high}):"

    def _touch(self, touch: _Touch, depth: int, names: Mapping[str, Index]) -> None:
        extent = self.buffer.shape[self.dimension]
        if touch.row is None:
            if touch.writes:
                self._line(depth, "slots, unwritten = {}, (0, -1)")
            return
        row = substitute(touch.row, names)
        place = ", ".join([f"({row}) % {extent}", *(str(substitute(i, names)) for i in touch.copy)])
        number = len(self.touches)
        self.touches.append(touch)
        if touch.writes:
            self._line(depth, f"slots[{place}] = {row}, {number}")
            return
        known = self._holds(touch.known, names)
        looking = f"look({number}, {row}, slots.get(({place}), unwritten), globals())"
        self._line(depth, looking if known == "True" else f"if {known}: {looking}")

    def _holds(self, condition: Condition, names: Mapping[str, Index]) -> str:
        parts = (part for part in condition if variables(part) <= self.moving)
        return " and ".join(f"{substitute(part, names)} >= 0" for part in parts) or "True"

    def _line(self, depth: int, text: str) -> None:
        self.lines.append(" " * depth + text)


def _ties(path: Sequence[For | If], known: Condition) -> Iterator[frozenset[str]]:
    """Loops that belong together: one with those of its bounds, and those of one guard."""
    for stmt in path:
        if isinstance(stmt, For):
            bounds = variables(stmt.lo) | variables(stmt.hi)
            yield bounds | {stmt.name}
        else:
            yield from (variables(part) for part in stmt.condition)
    yield from (variables(part) for part in known)
