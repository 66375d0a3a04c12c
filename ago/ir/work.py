"""What a naive program computes and touches, counted: the same whatever its schedule.

Read `Work` first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ago.ir.functions import SLOW
from ago.ir.nest import Stage
from ago.ir.program import Program
from ago.ir.value import Call, functions

_STEPS: Mapping[str, int] = {
    **{"decay": 8, "silu": 12, "exp2": 13, "exp": 14, "sigmoid": 17, "gelu": 17},
    **{"tanh": 22, "erf": 30, "log": 30},
}
"""Multiply-adds that take as long as a function: 1.6 for each cycle of a vector that
`benchmarks.vector_math` finds with AVX2, since a contraction gets four fifths of two a cycle."""

_SLOW_STEPS = 24
"""Multiply-adds that take as long as one of the other slow functions."""

_STORE_STEPS = 4
"""Multiply-adds that take as long as to load and store one element."""


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one step of a model.

    Attributes:
        flop: Operations of its reductions: two a multiply-add, one for other reductions.
        read_bytes: Size of its inputs and constants.
        written_bytes: Size of its outputs.
        shares: Each graph node's estimated share of the time, by name; they add up to 1.
    """

    flop: int
    read_bytes: int
    written_bytes: int
    shares: Mapping[str, float]

    @staticmethod
    def of(program: Program, parts: Mapping[str, int] | None = None) -> Work:
        """The work of a naive program.

        Args:
            program: The program.
            parts: Bytes of its inputs and outputs that are part of a wider buffer, or rounded up,
                by name.
        """
        effort: defaultdict[str, float] = defaultdict(float)
        for stage in program.stages:
            effort[stage.origin] += _effort(stage)
        if program.extern is not None:
            effort[program.extern.origin] += 1.0
        total = sum(effort.values()) or 1.0
        return Work(
            flop=sum(stage_flop(stage) for stage in program.stages),
            read_bytes=_nbytes(program, parts or {}, "input", "constant"),
            written_bytes=_nbytes(program, parts or {}, "output"),
            shares={node: part / total for node, part in effort.items()},
        )


def stage_flop(stage: Stage) -> int:
    """Operations of a reduction: two for each element of a sum of products, else one; 0 of a map.

    Args:
        stage: Any stage.
    """
    if stage.reduce is None:
        return 0
    return (2 if multiplies(stage) else 1) * _points(stage)


def multiplies(stage: Stage) -> bool:
    """Whether a stage sums up products, so that each of its steps is a multiply-add.

    Args:
        stage: Any stage.
    """
    product = isinstance(stage.value, Call) and stage.value.function == "mul"
    return stage.reduce is not None and product


def _points(stage: Stage) -> int:
    return math.prod(axis.extent for axis in stage.axes)


def _effort(stage: Stage) -> float:
    """Roughly what a stage costs, in multiply-adds."""
    calls = list(functions(stage.value))
    slow = [_STEPS.get(name, _SLOW_STEPS) for name in calls if name in SLOW]
    plain = 1 if stage.reduce else _STORE_STEPS + len(calls) - len(slow)
    return float(_points(stage) * (plain + sum(slow)))


def _nbytes(program: Program, parts: Mapping[str, int], *scopes: str) -> int:
    found = (buffer for buffer in program.buffers if buffer.scope in scopes)
    return sum(parts.get(buffer.name, buffer.nbytes) for buffer in found)
