"""Cuts the nests of a scheduled program into parts that threads compute side by side.

Read `share_work` first. It looks at loops and at how much they do. Which thread computes a part
plays no role in the result: each element is computed in one part, in the order it always is.
"""

from __future__ import annotations

from dataclasses import replace

from ago.errors import ScheduleError
from ago.fuse.strips import MIN_STEPS, Cut, cut_steps
from ago.ir.bounds import loop_ranges
from ago.ir.index import as_index
from ago.ir.nest import For, If, Stmt
from ago.schedule.parallel import parallel
from ago.schedule.trace import Schedule


def share_work(schedule: Schedule, threads: int) -> None:
    """Make one loop of each nest with enough work parallel, with one iteration a thread.

    Nests whose pieces share a loop have been cut when they were built. In others, of the loops
    outside of the first branch, the one is taken that divides best among the threads, the outermost
    of equals; its parts become the outermost loop.

    Args:
        schedule: A schedule whose loops have their final order.
        threads: How many threads there will be.
    """
    for stmt in schedule.program.body:
        if not isinstance(stmt, For) or stmt.kind == "parallel" or _steps(stmt) < MIN_STEPS:
            continue
        for cut in sorted(_cuts(stmt), key=lambda cut: cut.waste(threads)):
            if _try(schedule, cut, threads):
                break


def _try(schedule: Schedule, cut: Cut, threads: int) -> bool:
    """Share a loop; where a primitive refuses, the schedule stays as it was."""
    steps, strips = cut_steps(cut, threads)
    steps.append((parallel, (strips.home,)))
    program = schedule.program
    try:
        for primitive, args in steps:
            program = primitive(program, *args)
    except ScheduleError:
        return False
    for primitive, args in steps:
        schedule.apply(primitive, *args)
    return True


def _cuts(nest: For) -> list[Cut]:
    """The serial loops of a nest with nothing beside them, outermost first."""
    found: list[Cut] = []
    loops: tuple[For, ...] = ()
    stmt: Stmt = nest
    while isinstance(stmt, For) and stmt.kind == "serial" and stmt.extent.is_constant:
        loops = (*loops, stmt)
        if stmt.extent.const > 1:
            found.append(Cut(tuple(loop.name for loop in loops), _weights(stmt, loops[:-1])))
        if len(stmt.body) != 1:
            break
        (stmt,) = stmt.body
    return found


def _weights(loop: For, outer: tuple[For, ...]) -> tuple[int, ...]:
    """Innermost iterations in each iteration of a loop: tiles differ by a row or a vector."""
    low, high = loop_ranges((*outer, loop))[loop.name]
    single = (replace(loop, lo=as_index(n), hi=as_index(n + 1)) for n in range(low, high + 1))
    return tuple(_steps(one, outer) for one in single)


def _steps(nest: For, outer: tuple[For, ...] = ()) -> int:
    """Iterations of the innermost statements of a nest, at most, in one of the loops around it."""
    total = 0

    def count(stmt: Stmt, times: int, loops: tuple[For, ...]) -> None:
        nonlocal total
        match stmt:
            case For():
                inner = (*loops, stmt)
                low, high = loop_ranges(inner)[stmt.name]
                for below in stmt.body:
                    count(below, times * max(high - low + 1, 0), inner)
            case If(_, body):
                for below in body:
                    count(below, times, loops)
            case _:
                total += times

    count(nest, 1, outer)
    return total
