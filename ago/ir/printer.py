"""Placeholder docstring, replaced soon."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ago.ir.program import Program


def print_program(program: Program) -> str:
    """Text."""
    return "\n".join(map(str, program.body))
