"""The identity of a workload: a structural hash of a naive program."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from ago.ir.identity import by_identity
from ago.ir.program import Program


@by_identity(64)
def workload_key(program: Program) -> str:
    """A hash of what a program computes: its buffers and stages, without names from the model.

    Two subgraphs with the same operators, shapes and dtypes have the same key, whatever their
    nodes and the program are called.

    Args:
        program: A naive program.

    Returns:
        Sixteen hexadecimal digits.
    """
    stages = tuple(replace(stage, origin="") for stage in program.stages)
    extern = program.extern and replace(program.extern, origin="")
    text = repr((program.buffers, stages) if extern is None else (program.buffers, extern))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
