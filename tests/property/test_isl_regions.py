"""Footprints against islpy, where that is installed: the box of `touched` holds what isl finds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ago.ir.bounds import loop_ranges
from ago.ir.index import FloorDiv, Index, Lookup, Max, Min, Mod, Var
from ago.ir.nest import For, If, Prefetch, Stmt, leaf_loads, path_to
from ago.ir.program import Program
from ago.ir.value import Condition
from ago.schedule.region import Box, touched
from ago.schedule.tree import loop_names
from tests.property.test_schedule_regions import moved, tiled
from tests.support.subgraphs import subgraphs

isl = pytest.importorskip("islpy")

Access = tuple[tuple[Index, ...], tuple[For, ...], Condition]


def to_isl(index: Index, names: dict[str, str]) -> str:
    """An index in isl's notation."""
    parts = [f"{factor} * {_atom(atom, names)}" for atom, factor in index.terms]
    return " + ".join([*parts, str(index.const)])


def _atom(atom: object, names: dict[str, str]) -> str:
    match atom:
        case Var(name):
            return names[name]
        case Min(a, b):
            return f"min({to_isl(a, names)}, {to_isl(b, names)})"
        case Max(a, b):
            return f"max({to_isl(a, names)}, {to_isl(b, names)})"
        case FloorDiv(value, divisor):
            return f"floor(({to_isl(value, names)})/{divisor})"
        case Mod(value, divisor):
            return f"(({to_isl(value, names)}) mod {divisor})"
        case Lookup():
            raise NotImplementedError("isl knows no tables")
    raise AssertionError(atom)


def accesses(
    body: tuple[Stmt, ...], buffer: str, loops: tuple[For, ...] = (), known: Condition = ()
) -> Iterator[Access]:
    """Each read of a buffer, with the loops and the guards around it."""
    for stmt in body:
        match stmt:
            case For():
                yield from accesses(stmt.body, buffer, (*loops, stmt), known)
            case If(condition, inner):
                yield from accesses(inner, buffer, loops, known + condition)
            case Prefetch():
                continue
            case _:
                for load, guard in leaf_loads(stmt):
                    if load.buffer == buffer:
                        yield load.index, loops, known + guard


def relation(
    index: tuple[Index, ...], outer: tuple[For, ...], loops: tuple[For, ...], known: Condition
) -> object:
    """The map from iterations of `outer` to the elements that one access touches."""
    names = {loop.name: f"i{place}" for place, loop in enumerate((*outer, *loops))}
    elements = [f"e{place}" for place in range(len(index))]
    facts = [
        f"{to_isl(x.lo, names)} <= {names[x.name]} < {to_isl(x.hi, names)}"
        for x in (*outer, *loops)
    ]
    facts += [f"{to_isl(part, names)} >= 0" for part in known]
    facts += [f"{e} = {to_isl(i, names)}" for e, i in zip(elements, index, strict=True)]
    inner = ", ".join(names[x.name] for x in loops)
    held = " and ".join(facts)
    body = f"exists {inner} : {held}" if inner else held
    start = ", ".join(names[x.name] for x in outer)
    return isl.Map(f"{{ [{start}] -> [{', '.join(elements)}] : {body} }}")


def box_map(box: Box, outer: tuple[For, ...]) -> object:
    """The map from iterations of `outer` to the elements of a box."""
    names = {loop.name: f"i{place}" for place, loop in enumerate(outer)}
    elements = [f"e{place}" for place in range(len(box.low))]
    facts = [f"{to_isl(x.lo, names)} <= {names[x.name]} < {to_isl(x.hi, names)}" for x in outer]
    facts += [
        f"{to_isl(low, names)} <= {e} <= {to_isl(high, names)}"
        for e, low, high in zip(elements, box.low, box.high, strict=True)
    ]
    start = ", ".join(names[x.name] for x in outer)
    return isl.Map(f"{{ [{start}] -> [{', '.join(elements)}] : {' and '.join(facts)} }}")


def check(program: Program, buffer: str, loop: str) -> bool:
    """Check the footprint of one iteration of a loop; False where it does not read the buffer."""
    path = path_to(program.body, loop)
    outer = tuple(stmt for stmt in path if isinstance(stmt, For))
    known = tuple(part for stmt in path if isinstance(stmt, If) for part in stmt.condition)
    box = touched(outer[-1].body, buffer, loop_ranges(outer), stores=False)
    if box is None:
        return False
    inside = box_map(box, outer)
    for index, loops, guard in accesses(outer[-1].body, buffer):
        assert relation(index, outer, loops, known + guard).is_subset(inside)
    return True


@given(program=subgraphs, data=st.data())
def test_footprints_hold_what_isl_finds(program: Program, data: st.DataObject) -> None:
    program = tiled(program, data)
    if len(program.stages) > 1 and data.draw(st.booleans()):
        program, _, _ = moved(program, data)
    buffer = data.draw(st.sampled_from(program.buffers)).name
    loop = data.draw(st.sampled_from(loop_names(program)))
    assume(check(program, buffer, loop))
