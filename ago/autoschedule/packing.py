"""Packs every constant in the order in which the scheduled loops read it."""

from __future__ import annotations

from ago.errors import ScheduleError
from ago.ir.index import variables
from ago.ir.nest import For, leaf_loads, leaves, walk
from ago.schedule.pack import pack
from ago.schedule.trace import Schedule


def pack_constants(schedule: Schedule) -> None:
    """Apply `pack` to each constant that is read in one way, dimensions in loop order.

    One that is read in several ways, or in a loop that does not start at 0, stays as it is.
    """
    order = [s.name for s in walk(schedule.program.body) if isinstance(s, For)]
    free: dict[str, set[str]] = {}
    for leaf in leaves(schedule.program.body):
        for load, guard in leaf_loads(leaf):
            names = {n for i in (*load.index, *guard) for n in variables(i)}
            free.setdefault(load.buffer, set()).update(names)
    for buffer in schedule.program.buffers:
        used = free.get(buffer.name)
        if buffer.scope != "constant" or not used:
            continue
        try:
            schedule.apply(pack, buffer.name, tuple(n for n in order if n in used))
        except ScheduleError as refusal:
            if refusal.code not in ("many-accesses", "free-variable"):
                raise
