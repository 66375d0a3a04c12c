"""Finding and replacing loops in a program's body; shared by all primitives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ago.ir.bounds import Interval, loop_interval
from ago.ir.index import Index, Var, variables
from ago.ir.nest import (
    Buffer,
    For,
    If,
    Leaf,
    Reduce,
    Stage,
    Stmt,
    leaf_loads,
    leaves,
    path_to,
    rewrite,
    walk,
    with_body,
)
from ago.ir.program import Program
from ago.ir.value import Value, loads, map_value
from ago.schedule.refusals import refuse


def loop_names(program: Program) -> tuple[str, ...]:
    """Names of all loops, outer before inner, in execution order."""
    return tuple(stmt.name for stmt in walk(program.body) if isinstance(stmt, For))


def find_path(program: Program, loop: str) -> tuple[For | If, ...]:
    """The statements from the top of the program down to `loop`, that loop last.

    Raises:
        ScheduleError: `unknown-loop`; the hint says what a retired loop became.
    """
    path = path_to(program.body, loop)
    if path is not None:
        return path
    names = loop_names(program)
    parts = [name for name in names if name.startswith(f"{loop}.")]
    if parts:
        is_stage = any(stage.name == loop for stage in program.stages)
        what = "is a stage, with the loops" if is_stage else "was split; it is now"
        hint = f"{loop} {what} {', '.join(parts)}"
    else:
        hint = f"loops are {', '.join(names)}"
    raise refuse("unknown-loop", program, f"no loop is called {loop!r}", hint=hint)


def find_loop(program: Program, loop: str) -> For:
    """The loop called `loop`.

    Raises:
        ScheduleError: `unknown-loop`.
    """
    found = find_path(program, loop)[-1]
    assert isinstance(found, For)
    return found


def ranges_of(path: Iterable[For | If]) -> dict[str, Interval]:
    """Inclusive ranges of the loops on a path, outermost first."""
    ranges: dict[str, Interval] = {}
    for stmt in path:
        if isinstance(stmt, For):
            ranges[stmt.name] = loop_interval(stmt, ranges)
    return ranges


def replace_last(program: Program, path: Sequence[For | If], new: tuple[Stmt, ...]) -> Program:
    """`program` with the last statement of `path`, which `find_path` gave, replaced by `new`."""
    *outside, old = path
    for stmt in reversed(outside):
        new, old = (with_body(stmt, _replaced(stmt.body, old, new)),), stmt
    return program.with_body(_replaced(program.body, old, new))


def _replaced(body: tuple[Stmt, ...], old: Stmt, new: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """`body` with its statement `old`, by identity, replaced."""
    if len(body) == 1:
        return new
    place = [stmt is old for stmt in body].index(True)
    return (*body[:place], *new, *body[place + 1 :])


def constant_extent(program: Program, loop: For) -> int:
    """The number of iterations of `loop`.

    Raises:
        ScheduleError: `extent-not-constant`.
    """
    extent = loop.extent
    if not extent.is_constant:
        message = f"loop {loop.name} runs over [{loop.lo}, {loop.hi})"
        raise refuse("extent-not-constant", program, message, loop=loop.name)
    return extent.const


def hoisted(path: Sequence[For | If]) -> Iterator[Reduce]:
    """The reductions inside the last loop of `path` that start outside it.

    A reduction starts in front of its outermost loop, so it does where a loop on the path reduces.
    """
    around = {stmt.name for stmt in path if isinstance(stmt, For)}
    for leaf in leaves(path[-1].body):
        if isinstance(leaf, Reduce) and around & set(leaf.loops):
            yield leaf


def starts_with(reduction: Reduce, buffer: str) -> bool:
    """Whether the first value of a reduction is written to a buffer, or read from it."""
    return reduction.buffer == buffer or any(
        load.buffer == buffer for load, _ in loads(reduction.init)
    )


def carried(body: tuple[Stmt, ...]) -> set[str]:
    """The loops along which a window slides below `body`, each iteration using earlier ones.

    Only `slide` makes loops whose first value depends on other loops.
    """
    return {name for stmt in walk(body) if isinstance(stmt, For) for name in variables(stmt.lo)}


def unused(name: str, taken: Collection[str]) -> str:
    """`name`, or `name` with the first number from 2 on that no one has taken."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}{number}", number + 1
    return found


def fresh_loops(program: Program, names: Collection[str], suffix: str) -> dict[str, str]:
    """New names for the loops of a copy: `suffix` added, with a number where one is taken.

    The names of retired loops stay taken by their parts.
    """
    taken = [f"{name}." for name in loop_names(program)]
    number, end = 1, f".{suffix}"
    while any(other.startswith(f"{name}{end}.") for name in names for other in taken):
        number += 1
        end = f".{suffix}{number}"
    return {name: name + end for name in names}


def moves_data(leaf: Leaf) -> bool:
    """Whether a leaf reads other elements of its buffer than the one it writes."""
    return any(
        load.buffer == leaf.buffer and load.index != leaf.index for load, _ in leaf_loads(leaf)
    )


def reads(body: tuple[Stmt, ...], buffer: str) -> bool:
    """Whether a statement below `body` loads from `buffer`."""
    return any(load.buffer == buffer for leaf in leaves(body) for load, _ in leaf_loads(leaf))


def find_buffer(program: Program, buffer: str) -> Buffer:
    """The buffer called `buffer`.

    Raises:
        ScheduleError: `unknown-buffer`.
    """
    for candidate in program.buffers:
        if candidate.name == buffer:
            return candidate
    hint = f"buffers are {', '.join(b.name for b in program.buffers)}"
    raise refuse("unknown-buffer", program, f"no buffer is called {buffer!r}", hint=hint)


def intermediate_buffer(program: Program, buffer: str) -> Buffer:
    """The buffer called `buffer`, which is no input, constant or output.

    Raises:
        ScheduleError: `unknown-buffer`, `not-intermediate`.
    """
    found = find_buffer(program, buffer)
    if found.scope in ("input", "constant", "output"):
        raise refuse("not-intermediate", program, f"{buffer} is an {found.scope}")
    return found


def rename_in_reductions(
    body: tuple[Stmt, ...], parts: Mapping[str, tuple[str, ...]]
) -> tuple[Stmt, ...]:
    """`body` with each reduction's retired loops replaced by their parts."""

    def change(stmt: Stmt) -> tuple[Stmt, ...] | None:
        if not isinstance(stmt, Reduce) or not any(name in parts for name in stmt.loops):
            return None
        loops = tuple(new for name in stmt.loops for new in parts.get(name, (name,)))
        return (replace(stmt, loops=loops),)

    return rewrite(body, change)


def map_stage(stage: Stage, load: Callable[[Value], Value | None]) -> Stage:
    """`stage` with each value rebuilt as `map_value` does."""
    init = None if stage.init is None else map_value(stage.init, load)
    return replace(stage, value=map_value(stage.value, load), init=init)


def map_leaf(leaf: Leaf, load: Callable[[Value], Value | None]) -> Leaf:
    """`leaf` with each value in it rebuilt as `map_value` does."""
    value = map_value(leaf.value, load)
    if isinstance(leaf, Reduce):
        return replace(leaf, value=value, init=map_value(leaf.init, load))
    return replace(leaf, value=value)


def plain_variable(index: Index) -> str | None:
    """The variable that `index` is, an empty string for the constant 0, None for anything else."""
    if index == Index():
        return ""
    match index.terms:
        case ((Var(name), 1),) if index.const == 0:
            return name
    return None
