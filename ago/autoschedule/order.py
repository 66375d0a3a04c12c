"""Where the loop over tiles along the vectorised axis stands among the output's outer loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ago.cost_model.analytic import stream_cycles
from ago.fuse.shape import Roles, reduction_axis, stage_loads
from ago.ir.index import variables
from ago.ir.program import Program
from ago.schedule.tree import find_loop
from ago.target import Target


def order_traffic(
    program: Program, part: Roles, lane: str, outer: Sequence[str], tiles_loop: str, target: Target
) -> dict[int, float]:
    """Cycles of cache traffic for each position of the lane-tile loop among the outer loops.

    Innermost, every row tile streams all weights and reads its inputs once; outermost, each block
    of weights is read once and the inputs are read again for each block.

    Args:
        program: The program, its output's loops split but not yet ordered.
        part: Its stages.
        lane: The output's vectorised axis.
        outer: The other outer loops, outermost first.
        tiles_loop: The loop over tiles along the lane axis.
        target: Cache sizes.

    Returns:
        Cycles by position, all from `len(outer)` down to 0: of equal ones the innermost is first.
    """
    extents = [_iterations(program, loop) for loop in outer]
    tiles = _iterations(program, tiles_loop)
    shared, private = _operand_bytes(program, part, lane)
    positions = range(len(outer), -1, -1)
    return {p: _traffic(extents, p, tiles, shared, private, target) for p in positions}


def _traffic(
    extents: Sequence[int],
    position: int,
    tiles: int,
    shared: tuple[float, float],
    private: float,
    target: Target,
) -> float:
    """Cycles of cache traffic with the tile loop at `position`.

    `shared` is bytes of weights (all lanes) and of inputs that every lane tile reads; `private` is
    bytes of inputs of which each lane tile reads its own part.
    """
    weights, inputs = shared
    before, after = math.prod(extents[:position]), math.prod(extents[position:])
    block, part = weights / tiles, (inputs + private / tiles) / before
    cost = stream_cycles(target, weights * before, weights + part if before > 1 else weights)
    cost += stream_cycles(target, weights * before * (after - 1), block + part / after)
    cost += stream_cycles(target, inputs * (tiles - 1), inputs / before + block)
    if after > 1:
        lines = max(1.0, target.line_bytes * tiles * before * after / max(private, 1.0))
        cost += stream_cycles(target, private * (min(lines, 8.0) - 1), private / before)
    return cost


def _operand_bytes(program: Program, part: Roles, lane: str) -> tuple[tuple[float, float], float]:
    reduction = part.reduction
    assert reduction is not None
    inner = reduction_axis(part.output, reduction, lane)
    lanes = set() if inner is None else {reduction.loop(inner)}
    weights = inputs = private = 0.0
    for load in stage_loads(reduction):
        buffer = program.buffer(load.buffer)
        if buffer.scope == "constant":
            weights += buffer.nbytes
        elif any(lanes & variables(i) for i in load.index):
            private += buffer.nbytes
        else:
            inputs += buffer.nbytes
    return (weights, inputs), private


def _iterations(program: Program, loop: str) -> int:
    extent = find_loop(program, loop).extent
    return extent.const if extent.is_constant else 1
