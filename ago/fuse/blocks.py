"""Blocks inside a nest: what one block reads of the producers computed in it, and when it may.

Read `check_blocks` first. A block is a part of the reader's channels, say, and the producers in it
compute just these channels of the rows that are new: their ring, cut by blocks, is used by one
block at a time, so that it stays in L1 where the whole ring would not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ago.errors import FusionError
from ago.fuse.footprint import Footprint, Span, footprints, moving_axis
from ago.fuse.pieces import Piece
from ago.fuse.plan import Blocks, Nest
from ago.fuse.rules import broken
from ago.fuse.shape import stage_loads
from ago.ir.program import Program


def parts_of(
    program: Program, pieces: Sequence[Piece], blocks: Blocks | None
) -> Mapping[str, Footprint]:
    """What one block reads of each producer computed in it, all rows at once.

    Args:
        program: A naive program after `find_pieces`.
        pieces: Of the nest, in order of execution.
        blocks: Of the nest, if it has any.

    Returns:
        By name of the stage that writes a result.

    Raises:
        FusionError: `no-region` where a region is no box in the producer's axes.
    """
    if blocks is None:
        return {}
    found = footprints(program, _up_to(pieces, blocks.reader), blocks.axis, blocks.size, ())
    return {stage: found[stage] for stage in blocks.stages}


def check_blocks(
    program: Program,
    pieces: Sequence[Piece],
    nest: Nest,
    found: Mapping[str, Footprint],
    outer: Sequence[str],
) -> None:
    """Check the blocks of a nest that is legal without them.

    Args:
        program: A naive program after `find_pieces`.
        pieces: The nest's, in order of execution.
        nest: What is asked.
        found: What an iteration of the shared loop reads of each producer.
        outer: Axes of the last piece's output outside the shared loop.

    Raises:
        FusionError: `unknown-stage`, `unknown-axis`, `bad-block`, `no-region`, `shared-block`.
    """
    blocks = nest.blocks
    if blocks is None:
        return
    _check_names(nest, blocks)
    _check_axis(program, nest, blocks, found, outer)
    for stage in blocks.stages:
        _check_readers(program, pieces, nest, blocks, stage)
    for stage, part in parts_of(program, pieces, blocks).items():
        if not is_apart(part, blocks.size) or part.dimension == found[stage].dimension:
            spans = ", ".join(f"{s.step}*t + {s.low}..{s.high}" for s in part.spans)
            reason = f"block t of {blocks.size} reads [{spans}] of {part.buffer}"
            raise broken("shared-block", (stage, blocks.reader), nest.loop, reason)


def is_apart(part: Footprint, size: int) -> bool:
    """Whether each block reads a part of its own: all of them, along one dimension, are the whole.

    Args:
        part: What a block reads.
        size: Positions of a block.
    """
    if part.dimension is None or part.moving != Span(size, 0, size - 1):
        return False
    return part.extent == size * part.iterations


def members_of(program: Program, pieces: Sequence[Piece], reader: Piece) -> tuple[str, ...]:
    """The producers that only a reader, or others of them, read: what its blocks may compute.

    Args:
        program: A naive program after `find_pieces`.
        pieces: Of one nest, in order of execution.
        reader: One of them.
    """
    inside = {reader.output}
    for piece in reversed(_up_to(pieces, reader.output)[:-1]):
        readers = _readers(program, pieces, piece.output)
        if readers and readers <= inside:
            inside.add(piece.output)
    return tuple(p.output for p in pieces if p.output in inside and p is not reader)


def blocks_of(
    program: Program,
    pieces: Sequence[Piece],
    found: Mapping[str, Footprint],
    reader: Piece,
    axis: tuple[str, int],
) -> Blocks | None:
    """The blocks of an axis of a reader, with all producers that can be computed in them.

    Args:
        program: A naive program after `find_pieces`.
        pieces: Of one nest, in order of execution.
        found: What an iteration of the shared loop reads of each producer.
        reader: One of the pieces.
        axis: Of its output, and the positions of a block.

    Returns:
        None where there are none, or none of them slides: what is not kept needs no part of a ring.
    """
    names = members_of(program, pieces, reader)
    try:
        parts = parts_of(program, pieces, Blocks(names, reader.output, *axis))
    except (FusionError, KeyError):
        return None
    taken: set[str] = set()
    for name in reversed(names):
        part = parts[name]
        apart = is_apart(part, axis[1]) and part.dimension != found[name].dimension
        if apart and _readers(program, pieces, name) <= {*taken, reader.output}:
            taken.add(name)
    if not any(found[name].slides for name in taken):
        return None
    return Blocks(tuple(n for n in names if n in taken), reader.output, *axis)


def ring_layout(part: Footprint) -> str:
    """The layout that makes each block's part of a buffer contiguous, for `transform_layout`.

    Args:
        part: What a block reads of it.
    """
    names = [f"d{n}" for n in range(len(part.shape))]
    assert part.dimension is not None
    cut, size = names[part.dimension], part.moving.window
    inside = [f"{name}%{size}" if name == cut else name for name in names]
    return f"{' '.join(names)} -> {' '.join([f'{cut}//{size}', *inside])}"


def _up_to(pieces: Sequence[Piece], stage: str) -> list[Piece]:
    return list(pieces[: [p.output for p in pieces].index(stage) + 1])


def _readers(program: Program, pieces: Sequence[Piece], stage: str) -> set[str]:
    """The pieces that read a piece's result, by their outputs."""
    buffer = program.stage(stage).buffer
    return {
        piece.output
        for piece in pieces
        for name in (piece.output, piece.reduction)
        if name is not None and any(v.buffer == buffer for v in stage_loads(program.stage(name)))
    }


def _check_names(nest: Nest, blocks: Blocks) -> None:
    names = nest.stages
    before = names[: names.index(blocks.reader)] if blocks.reader in names else ()
    strange = [stage for stage in blocks.stages if stage not in before]
    if strange or not blocks.stages:
        reason = f"blocks of {blocks.reader} compute stages of the nest in front of it"
        operators = (*strange, blocks.reader)
        raise broken("unknown-stage", operators, nest.loop, reason, f"these are {before}")


def _check_axis(
    program: Program,
    nest: Nest,
    blocks: Blocks,
    found: Mapping[str, Footprint],
    outer: Sequence[str],
) -> None:
    reader = program.stage(blocks.reader)
    extents = {a.name: a.extent for a in reader.axes}
    where = (blocks.reader,), nest.loop
    if blocks.axis not in extents:
        hint = f"axes are {', '.join(extents)}"
        raise broken("unknown-axis", *where, f"it has no axis {blocks.axis!r}", hint)
    if blocks.reader == nest.output:
        shared = {nest.axis, *outer}
    else:
        shared = {moving_axis(reader, found[blocks.reader]) or ""}
    if blocks.axis in shared:
        raise broken("bad-block", *where, f"{blocks.axis} is no loop inside of the shared one")
    extent = extents[blocks.axis]
    if not 1 <= blocks.size < extent or extent % blocks.size:
        reason = f"the {extent} positions of {blocks.axis} are no several blocks of {blocks.size}"
        raise broken("bad-block", *where, reason)


def _check_readers(
    program: Program, pieces: Sequence[Piece], nest: Nest, blocks: Blocks, stage: str
) -> None:
    others = _readers(program, pieces, stage) - {*blocks.stages, blocks.reader}
    if others:
        other = min(others)
        reason = f"{other}, outside of the blocks, reads it too"
        raise broken("shared-block", (stage, other), nest.loop, reason)
