"""Which elements statements write and read, exactly: what a box of bounds alone does not say.

Read `exact_box` first, then `starts_anew`. Both are sound and not complete: they say yes only where
it is proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ago.ir.bounds import extremes
from ago.ir.index import Index, Var, variables
from ago.ir.nest import For, If, Leaf, Prefetch, Reduce, Stmt, Update
from ago.ir.proofs import never_negative
from ago.ir.value import Condition, loads
from ago.schedule.region import Box


@dataclass(frozen=True, slots=True)
class Use:
    """One access of a buffer.

    Attributes:
        leaf: The statement.
        index: Which element.
        writes: Whether it is a store.
        loops: Loops around it, outermost first.
        known: Guards around it.
    """

    leaf: Leaf
    index: tuple[Index, ...]
    writes: bool
    loops: tuple[For, ...]
    known: Condition


def uses(
    body: tuple[Stmt, ...], buffer: str, loops: tuple[For, ...] = (), known: Condition = ()
) -> Iterator[Use]:
    """Each access below `body` to `buffer`, in program order: a leaf's loads, then its store.

    Args:
        body: Statements.
        buffer: Name of the buffer.
        loops: Loops around `body`, outermost first.
        known: Guards around `body`.
    """
    for stmt in body:
        match stmt:
            case For():
                yield from uses(stmt.body, buffer, (*loops, stmt), known)
            case If(condition, inner):
                yield from uses(inner, buffer, loops, known + condition)
            case Prefetch():
                continue
            case _:
                yield from _leaf_uses(stmt, buffer, loops, known)


def _leaf_uses(leaf: Leaf, buffer: str, loops: tuple[For, ...], known: Condition) -> Iterator[Use]:
    values = (leaf.init, leaf.value) if isinstance(leaf, Reduce) else (leaf.value,)
    for value in values:
        for load, guard in loads(value, known):
            if load.buffer == buffer:
                yield Use(leaf, load.index, False, loops, guard)
    if leaf.buffer == buffer:
        if isinstance(leaf, Update):
            yield Use(leaf, leaf.index, False, loops, known)
        yield Use(leaf, leaf.index, True, loops, known)


def exact_box(write: Use, depth: int) -> Box | None:
    """The box that a statement writes while its loops below `depth` run, all of it.

    Args:
        write: A store.
        depth: How many of its loops stay as they are.

    Returns:
        Inclusive bounds in the variables of the outer loops, every element between them written;
        None where that is not proved.
    """
    inner = write.loops[depth:]
    names = {loop.name for loop in inner}
    used = [name for index in write.index for name in variables(index) & names]
    if len(set(used)) != len(used):
        return None
    if not all(_runs_alone(loop, write, names, loop.name in used) for loop in inner):
        return None
    if not all(_dense(index, inner) for index in write.index):
        return None
    bounds = [extremes(index, inner) for index in write.index]
    return Box(tuple(low for low, _ in bounds), tuple(high for _, high in bounds))


def _runs_alone(loop: For, use: Use, inner: set[str], moves: bool) -> bool:
    """Whether the bounds of `loop` are fixed outside; one that moves no index must run at all.

    A reduction has its first value in front of its own loops, so that those do not matter.
    """
    if isinstance(use.leaf, Reduce) and loop.name in use.leaf.loops:
        return True
    if (variables(loop.lo) | variables(loop.hi)) & inner:
        return False
    return moves or proved_within(loop.extent - 1, use)


def _dense(index: Index, inner: Sequence[For]) -> bool:
    """Whether `index` takes every value between its extremes while `inner` loops run."""
    loops = {loop.name: loop for loop in inner}
    strides: list[tuple[int, str]] = []
    for atom, coefficient in index.terms:
        if isinstance(atom, Var):
            if atom.name in loops:
                strides.append((abs(coefficient), atom.name))
        elif variables(Index(((atom, 1),))) & loops.keys():
            return False
    reach = 1
    for position, (stride, name) in enumerate(sorted(strides)):
        if stride > reach:
            return False
        extent = loops[name].extent
        if not extent.is_constant and position < len(strides) - 1:
            return False
        reach += stride * (extent.const - 1) if extent.is_constant else 0
    return True


def starts_anew(body: tuple[Stmt, ...], buffer: str, path: Sequence[For | If]) -> bool:
    """Whether each read of `buffer` below `body` is proved to see a write of the same run of it.

    Args:
        body: What one iteration of a loop executes.
        buffer: Name of the buffer.
        path: The statements around `body`, outermost first, that loop last.
    """
    loops = tuple(stmt for stmt in path if isinstance(stmt, For))
    known = tuple(part for stmt in path if isinstance(stmt, If) for part in stmt.condition)
    outside = {loop.name for loop in loops}
    writes: list[Use] = []
    for use in uses(body, buffer, loops, known):
        if use.writes:
            hoisted = isinstance(use.leaf, Reduce) and outside & set(use.leaf.loops)
            if hoisted:
                return False
            writes.append(use)
        elif not any(_reads_within(use, write) for write in writes):
            return False
    return True


def _reads_within(read: Use, write: Use) -> bool:
    """Whether `read` is proved to touch only what `write`, before it, has written.

    Guards of the write count where they hold for the read: they stand around both.
    """
    shared = 0
    while shared < min(len(read.loops), len(write.loops)):
        if read.loops[shared] is not write.loops[shared]:
            break
        shared += 1
    around = {loop.name for loop in read.loops[:shared]}
    if not all(part in read.known and variables(part) <= around for part in write.known):
        return False
    box = exact_box(write, shared)
    if box is None:
        return False
    return all(
        proved_within(index - low, read) and proved_within(high - index, read)
        for index, low, high in zip(read.index, box.low, box.high, strict=True)
    )


def proved_within(difference: Index, use: Use) -> bool:
    """Whether `difference` is proved to be at least 0 where `use` happens."""
    return never_negative(difference, use.loops, use.known)
