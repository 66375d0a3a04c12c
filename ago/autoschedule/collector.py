"""Keeps Python's cycle collector from looking again and again at values that have no cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """No cycle is looked for meanwhile.

    A schedule makes tens of thousands of small tuples, most of which are gone by its end. None is
    part of a cycle, so that reference counts free them at once; the collector would look at those
    that are in use some dozen times, which is a tenth of the whole time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
