"""Cuts the nests of a scheduled program into parts that threads compute side by side.

Read `share_work` first. It looks at loops and at how much they do. Which thread computes a part
plays no role in the result: each element is computed in one part, in the order it always is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ago.errors import ScheduleError
from ago.ir.bounds import loop_ranges
from ago.ir.nest import For, If, Stmt
from ago.ir.program import Program
from ago.schedule.parallel import parallel
from ago.schedule.reorder import reorder
from ago.schedule.split import split
from ago.schedule.trace import Schedule

MIN_STEPS = 20_000
"""Innermost iterations below which a nest is not worth waking a thread for."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """A loop that could be shared.

    Attributes:
        path: The loops outside it, and it, outermost first.
        extent: Its iterations.
    """

    path: tuple[str, ...]
    extent: int

    def share(self, threads: int) -> float:
        """How much of the threads' time is used: 1 where each gets as many iterations."""
        return self.extent / (threads * math.ceil(self.extent / threads))


def share_work(schedule: Schedule, threads: int) -> None:
    """Make one loop of each nest with enough work parallel, with one iteration a thread.

    Of the loops outside of a nest's first branch the one is taken that divides best among the
    threads, the outermost of equals; it becomes the outermost one.

    Args:
        schedule: A schedule whose loops have their final order.
        threads: How many threads there will be.
    """
    for stmt in schedule.program.body:
        if not isinstance(stmt, For) or _steps(stmt) < MIN_STEPS:
            continue
        cuts = sorted(_cuts(stmt), key=lambda cut: -cut.share(threads))
        for cut in cuts:
            if _try(schedule, cut, threads):
                break


def _try(schedule: Schedule, cut: _Cut, threads: int) -> bool:
    """Share a loop; where a primitive refuses, the schedule stays as it was."""
    steps = _primitives(cut, threads)
    program = schedule.program
    try:
        for primitive, args in steps:
            program = primitive(program, *args)
    except ScheduleError:
        return False
    for primitive, args in steps:
        schedule.apply(primitive, *args)
    return True


def _primitives(cut: _Cut, threads: int) -> list[tuple[Callable[..., Program], tuple[Any, ...]]]:
    """What shares a loop: to the outside with it, one part a thread, side by side."""
    loop = cut.path[-1]
    chunk = math.ceil(cut.extent / threads)
    steps: list[tuple[Callable[..., Program], tuple[Any, ...]]] = []
    if len(cut.path) > 1:
        steps.append((reorder, ([loop, *cut.path[:-1]],)))
    if chunk > 1:
        tail = "exact" if cut.extent % chunk == 0 else "balance"
        steps.append((split, (loop, chunk, tail)))
        loop = f"{loop}.0"
    return [*steps, (parallel, (loop,))]


def _cuts(nest: For) -> list[_Cut]:
    """The serial loops of a nest with nothing beside them, outermost first."""
    found: list[_Cut] = []
    path: tuple[str, ...] = ()
    stmt: Stmt = nest
    while isinstance(stmt, For) and stmt.kind == "serial" and stmt.extent.is_constant:
        path = (*path, stmt.name)
        if stmt.extent.const > 1:
            found.append(_Cut(path, stmt.extent.const))
        if len(stmt.body) != 1:
            break
        (stmt,) = stmt.body
    return found


def _steps(nest: For) -> int:
    """Iterations of the innermost statements of a nest, at most."""
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

    count(nest, 1, ())
    return total
