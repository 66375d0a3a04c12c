"""What blocks inside a nest are worth: rings that are read from L1, by the analytic model.

Read `with_blocks` first. It turns the terms of a nest into those of the same nest in blocks: what a
block writes is read back before anything pushes it out, and the part of a ring that it finds again
is contiguous, so that it is read ahead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ago.cost_model.analytic import stream_cycles
from ago.fuse.blocks import parts_of
from ago.fuse.footprint import Footprint
from ago.fuse.gain import EXPOSED, Gain, cache_level, constant_bytes, tile_gain
from ago.fuse.pieces import Piece
from ago.fuse.plan import Blocks
from ago.ir.program import Program
from ago.target import Target

_BLOCK_CYCLES = 20.0
"""Cycles to begin and end a block of a row."""


def with_blocks(
    program: Program,
    pieces: Sequence[Piece],
    found: Mapping[str, Footprint],
    gain: Gain,
    blocks: Blocks,
    target: Target,
) -> Gain | None:
    """The terms of a nest in blocks.

    Args:
        program: A naive program after `find_pieces`.
        pieces: The nest's, in order of execution.
        found: What an iteration reads of each producer.
        gain: The terms of the nest without blocks.
        blocks: Legal ones.
        target: Caches.

    Returns:
        None where a block is no nearer than the whole: beyond L1, or where all of it is there.
    """
    parts = parts_of(program, pieces, blocks)
    inside = [piece for piece in pieces if piece.output in parts]
    count = next(iter(parts.values())).iterations
    near = sum(4.0 * found[stage].kept_elements for stage in parts)
    near += sum(sum(constant_bytes(program, piece, None)) for piece in inside)
    near /= count
    if cache_level(target, near) != "L1" or gain.level == "L1":
        return None
    moved = sum(8.0 * math.prod(found[stage].shape) for stage in parts)
    rows = sum(f.extent * f.repeats for f in (found[s] for s in parts) if f.slides)
    return replace(
        gain,
        traffic=gain.traffic + EXPOSED * stream_cycles(target, moved, gain.working_set),
        tiles=gain.tiles + sum(tile_gain(program, p, parts, target) for p in inside),
        rows=gain.rows - _BLOCK_CYCLES * count * rows,
        block_set=int(near),
    )
