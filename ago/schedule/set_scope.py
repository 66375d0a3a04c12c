"""`set_scope`: an intermediate buffer lives somewhere else."""

from __future__ import annotations

from dataclasses import replace

from ago.ir.nest import Scope
from ago.ir.program import Program
from ago.schedule.parallel import keep_parallel
from ago.schedule.refusals import refuse
from ago.schedule.tree import intermediate_buffer

SCOPES = ("register", "stack", "workspace")
"""Where an intermediate buffer can live."""


def set_scope(program: Program, buffer: str, scope: Scope) -> Program:
    """Move a buffer between registers, the stack and the workspace; its shape stays.

    Rewrite::

        C: [4, 16] in the workspace   →   C: [4, 16] on the stack

    `store_at` moves a buffer and shrinks it as well.

    Requires:
        1. The buffer exists (`unknown-buffer`) and is an intermediate one (`not-intermediate`).
        2. The scope is one of the three (`bad-scope`).
        3. Parallel loops stay free of races: they share the workspace, and have registers and
           stack of their own (`race`, `private-flow`).

    Args:
        program: The program.
        buffer: Name of the buffer.
        scope: `register`, `stack` or `workspace`.

    Returns:
        The rewritten program.

    Raises:
        ScheduleError: With one of the codes above.

    Example:
        >>> from ago.ir.examples import chain
        >>> set_scope(chain(4, 6), "S", "stack").buffer("S").scope
        'stack'
    """
    old = intermediate_buffer(program, buffer)
    if scope not in SCOPES:
        raise refuse("bad-scope", program, f"{buffer} in scope {scope!r}")
    return keep_parallel(program, program.with_buffer(replace(old, scope=scope)))
