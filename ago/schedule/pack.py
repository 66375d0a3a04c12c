"""`pack`: a constant is laid out at compile time in the order in which the loops read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ago.ir.bounds import guarded_interval
from ago.ir.index import Index, as_index, var, variables
from ago.ir.nest import Buffer, For, If, Leaf, Packing, Reduce, Stmt, leaves, rewrite, uses_buffer
from ago.ir.program import Program
from ago.ir.value import Condition, Const, Load, Select, Value, loads
from ago.schedule.refusals import refuse, require_names
from ago.schedule.tree import find_path, hoisted, map_leaf, ranges_of, unused

Path = tuple[For | If, ...]
"""The statements down to a loop, that loop last."""


def pack(program: Program, buffer: str, loops: Sequence[str]) -> Program:
    """Replace a constant by a packed copy, one dimension a loop.

    Rewrite::

        for o, k, i: ... w[16*o + i, k] ...   →   for o, k, i: ... w_packed[o, k, i] ...
                                                  w_packed[o, k, i] = w[16*o + i, k], or 0 outside

    A load under a select whose other branch is 0 is packed with its guard: the zeros are stored,
    the guard leaves the loop. So constants are padded to whole vectors.

    Requires:
        1. The buffer exists (`unknown-buffer`) and is a constant (`not-constant`), and so do the
           loops, each named once (`unknown-loop`, `repeated-loop`).
        2. It is read in one way only (`many-accesses`), inside all of the loops; a reduction starts
           in front of its outermost loop (`not-around`).
        3. Index and guard depend on the given loops only (`free-variable`), which start at 0.

    Args:
        program: The program.
        buffer: Name of the constant, replaced by `<buffer>_packed`.
        loops: Names, in the order of the packed dimensions.

    Returns:
        The rewritten program; the constant itself stays as the packed one's source.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import matmul
        >>> pack(matmul(4, 6, 5), "B", ["C.j", "C.k"]).buffer("B_packed").shape
        (6, 5)
    """
    source = next((b for b in program.buffers if b.name == buffer), None)
    if source is None:
        raise refuse("unknown-buffer", program, f"no buffer is called {buffer!r}")
    if source.scope != "constant":
        raise refuse("not-constant", program, f"{buffer} is an {source.scope}")
    require_names(program, loops, f"pack of {buffer}")
    if len(set(loops)) != len(loops):
        raise refuse("repeated-loop", program, f"pack of {buffer} for {', '.join(loops)}")
    access = _only_access(program, buffer)
    load, guard = _parts(access)
    paths = _paths(program, loops)
    extents = _extents(program, buffer, load, guard, paths)
    _check_around(program, buffer, paths)
    ranges = {name: (0, extent - 1) for name, extent in zip(loops, extents, strict=True)}
    packing = Packing(
        buffer, tuple(loops), load.index, guard + _bounds(load, source, ranges, guard)
    )
    name = unused(f"{buffer}_packed", [b.name for b in program.buffers])
    packed = Buffer(name, extents, "constant", source.dtype, packing)
    new = Load(packed.name, tuple(var(name) for name in loops))

    def change(value: Value) -> Value | None:
        return new if value == access else None

    def leaf(stmt: Stmt) -> tuple[Stmt, ...] | None:
        if not isinstance(stmt, Leaf) or not uses_buffer(stmt, buffer):
            return None
        return (map_leaf(stmt, change),)

    body = rewrite(program.body, leaf)
    return program.with_body(body).with_buffer(packed)


def _paths(program: Program, loops: Sequence[str]) -> dict[str, Path]:
    """The path to each loop; of nested ones all are found on the innermost one's."""
    found: dict[str, Path] = {}
    for name in reversed(loops):
        if name not in found:
            path = find_path(program, name)
            places = ((stmt.name, n) for n, stmt in enumerate(path, 1) if isinstance(stmt, For))
            found |= {outer: path[:n] for outer, n in places}
    return {name: found[name] for name in loops}


def _only_access(program: Program, buffer: str) -> Value:
    """The one expression through which the constant is read: a load, or a select of it and 0."""
    found: set[Value] = set()
    for leaf in leaves(program.body):
        if uses_buffer(leaf, buffer):
            values = (leaf.init, leaf.value) if isinstance(leaf, Reduce) else (leaf.value,)
            found = found.union(*(_accesses(value, buffer) for value in values))
    if len(found) != 1:
        ways = "not read" if not found else f"read in {len(found)} ways"
        hint = "pack before the loops are partitioned, or leave it as it is"
        raise refuse("many-accesses", program, f"{buffer} is {ways}", hint=hint)
    return found.pop()


def _accesses(value: Value, buffer: str) -> set[Value]:
    match value:
        case Select(_, Load(name, _), Const(0.0)) if name == buffer:
            return {value}
        case Load(name, _) if name == buffer:
            return {value}
        case Select(_, then, otherwise):
            return _accesses(then, buffer) | _accesses(otherwise, buffer)
        case _:
            inner = getattr(value, "args", ())
            return {access for arg in inner for access in _accesses(arg, buffer)}


def _parts(access: Value) -> tuple[Load, Condition]:
    ((load, guard),) = loads(access)
    return load, guard


def _extents(
    program: Program, buffer: str, load: Load, guard: Condition, paths: Mapping[str, Path]
) -> tuple[int, ...]:
    """The number of values of each loop, checking that the access depends on no other loop."""
    free = {name for index in (*load.index, *guard) for name in variables(index)} - paths.keys()
    if free:
        message = f"{buffer} is read at {', '.join(map(str, load.index))}"
        hint = f"add {', '.join(sorted(free))} to the loops"
        raise refuse("free-variable", program, message, loop=sorted(free)[0], hint=hint)
    extents = []
    for name, path in paths.items():
        extents.append(ranges_of(path)[name][1] + 1)
        loop = path[-1]
        if isinstance(loop, For) and loop.lo != Index():
            raise refuse("free-variable", program, f"{name} starts at {loop.lo}", loop=name)
    return tuple(extents)


def _check_around(program: Program, buffer: str, paths: Mapping[str, Path]) -> None:
    """Check that every load of `buffer`, which is read in one way, is inside each of the loops."""
    everywhere = _readers(program.body, buffer)
    for name, path in paths.items():
        starts = any(
            name in leaf.loops and any(load.buffer == buffer for load, _ in loads(leaf.init))
            for leaf in hoisted(path)
        )
        if starts or _readers(path[-1].body, buffer) != everywhere:
            message = f"{name} is not around every access to {buffer}"
            raise refuse("not-around", program, message, loop=name, hint=f"leave {name} out")


def _readers(body: tuple[Stmt, ...], buffer: str) -> int:
    """How many statements below `body` load from a constant."""
    return sum(uses_buffer(leaf, buffer) for leaf in leaves(body))


def _bounds(
    load: Load, source: Buffer, ranges: dict[str, tuple[int, int]], guard: Condition
) -> Condition:
    """Conditions that keep the packed index in its source where ranges and guard do not."""
    conditions: list[Index] = []
    for index, extent in zip(load.index, source.shape, strict=True):
        low, high = guarded_interval(index, ranges, guard)
        if low < 0:
            conditions.append(index)
        if high >= extent:
            conditions.append(as_index(extent - 1) - index)
    return tuple(conditions)
