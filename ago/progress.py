"""How long work tells its caller how far it is.

Read `Progress` first. Functions take one as their last argument and call it from the caller's own
thread; raising an exception in it stops the work.
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is being done ("scheduling"), how many parts are done, and how many there are.

The count starts at 0, ends at the total, and never falls while the same thing is being done.
"""


def silent(phase: str, done: int, total: int) -> None:
    """Tell nobody: the default."""
