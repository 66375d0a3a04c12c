"""Fusion by rows: consecutive pieces share the loop over the rows of the last one's output.

Read `RowPlan` and `find_row_plans` first. In each iteration every producer computes just the rows
that its consumer reads next; where windows overlap it keeps the others in a ring, so that each row
is computed once. An inverted residual (expand, depthwise, project) becomes one nest this way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ago.cost_model.analytic import stream_cycles
from ago.fuse.pieces import Piece, readers
from ago.fuse.shape import reduction_axis, stage_loads
from ago.ir.index import variables
from ago.ir.nest import Stage
from ago.ir.program import Program
from ago.ir.value_types import buffer_types, is_real_stage
from ago.target import Target

ROW = 1
"""Dimension of the rows in a tensor `[batch, rows, columns, channels]`."""


@dataclass(frozen=True, slots=True)
class RowPlan:
    """Consecutive pieces that are computed row by row in one nest.

    Attributes:
        pieces: In order of execution; at least two.
        gain: Cycles that the model expects to save; negative where fusion would cost.
    """

    pieces: tuple[Piece, ...]
    gain: float


def find_row_plans(program: Program, pieces: Sequence[Piece], target: Target) -> list[RowPlan]:
    """The longest chains of pieces that can share a loop over rows.

    A piece joins its successor if that is the only reader of its result, and reads a window of rows
    that moves with its own rows.

    Args:
        program: A naive program after `find_pieces`.
        pieces: Its pieces.
        target: Caches, for the gain.

    Returns:
        Disjoint plans in order of execution.
    """
    plans: list[RowPlan] = []
    chain: list[Piece] = []
    for piece in pieces:
        if chain and not _follows(program, chain[-1], piece, target.lanes):
            plans += _plan(program, chain, target)
            chain = []
        if _has_rows(program, piece):
            chain.append(piece)
        else:
            plans += _plan(program, chain, target)
            chain = []
    return plans + _plan(program, chain, target)


def _plan(program: Program, chain: Sequence[Piece], target: Target) -> list[RowPlan]:
    if len(chain) < 2:
        return []
    return [RowPlan(tuple(chain), _gain(program, chain, target))]


def _has_rows(program: Program, piece: Piece) -> bool:
    """Whether a piece makes a float32 tensor of rows, one index a dimension."""
    output = program.stage(piece.output)
    axes = [a for a in output.axes if a.kind == "spatial"]
    plain = all(
        len(variables(i)) == 1 and i.coefficient(output.loop(a.name)) == 1
        for i, a in zip(output.index, axes, strict=False)
    )
    if piece.reduction is None or not is_real_stage(output, buffer_types(program.buffers)):
        return False
    return len(output.index) == len(axes) == 4 and plain


def _follows(program: Program, producer: Piece, consumer: Piece, lanes: int) -> bool:
    """Whether `consumer` alone reads the producer's result, by windows that move with its rows.

    The channels are whole vectors: only those that are read are computed, without rounding.
    """
    output = program.stage(producer.output)
    if output.axes[-1].extent % lanes:
        return False
    buffer = output.buffer
    if program.buffer(buffer).scope != "workspace" or not _has_rows(program, consumer):
        return False
    own = {consumer.output, consumer.reduction}
    found = readers(program, buffer)
    return all(s.name in own for s in found) and all(
        _row_step(program, consumer, stage, buffer) > 0 for stage in found
    )


def _row_step(program: Program, piece: Piece, stage: Stage, buffer: str) -> int:
    """By how many rows of `buffer` a stage's window moves from row to row; 0 if none does.

    `stage` is the piece's output or its reduction.
    """
    output = program.stage(piece.output)
    axis = output.axes[ROW].name
    own = axis if stage.name == output.name else reduction_axis(output, stage, axis)
    if own is None:
        return 0
    loop = stage.loop(own)
    steps: set[int] = set()
    for load in stage_loads(stage):
        if load.buffer != buffer:
            continue
        if any(loop in variables(i) for d, i in enumerate(load.index) if d != ROW):
            return 0
        steps.add(load.index[ROW].coefficient(loop))
    return steps.pop() if len(steps) == 1 else 0


def _window(program: Program, consumer: Piece, buffer: str) -> int:
    """Rows of `buffer` that one row of the consumer reads."""
    widest = 1
    for stage in readers(program, buffer):
        for load in stage_loads(stage):
            if load.buffer != buffer:
                continue
            reach = 1
            for axis in stage.axes:
                if axis.kind == "reduce":
                    step = abs(load.index[ROW].coefficient(stage.loop(axis.name)))
                    reach += step * (axis.extent - 1)
            widest = max(widest, reach)
    return widest


def _gain(program: Program, chain: Sequence[Piece], target: Target) -> float:
    """Cycles saved on intermediates, less those spent on streaming weights for every row."""
    tensors: list[tuple[float, float]] = []
    for producer, consumer in pairwise(chain):
        buffer = program.buffer(program.stage(producer.output).buffer)
        nbytes = 4.0 * math.prod(buffer.shape)
        window = _window(program, consumer, buffer.name)
        tensors.append((nbytes, nbytes * window / buffer.shape[ROW]))
    weights = sum(_weights(program, piece) for piece in chain)
    near = sum(ring for _, ring in tensors) + weights
    rows = program.stage(chain[-1].output).axes[ROW].extent
    apart = sum(stream_cycles(target, 3 * nbytes, nbytes) for nbytes, _ in tensors)
    together = sum(stream_cycles(target, 2 * nbytes, near) for nbytes, _ in tensors)
    return apart - together - stream_cycles(target, rows * weights, near)


def _weights(program: Program, piece: Piece) -> float:
    """Bytes of constants that a piece reads."""
    names = {piece.output, piece.reduction} - {None}
    loaded = {load.buffer for n in names if n for load in stage_loads(program.stage(n))}
    constants = (b for b in program.buffers if b.name in loaded and b.scope == "constant")
    return sum(4.0 * math.prod(b.shape) for b in constants)
