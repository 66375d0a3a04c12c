"""Further results of a nest: computed beside its last piece, from producers that both read.

Read `check_beside` first. The shared loop divides an axis of each result, of the same name, into as
many blocks: no result reads another one, and each is stored whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from ago.errors import FusionError
from ago.fuse.pieces import Piece, reads_of
from ago.fuse.plan import Nest
from ago.fuse.rules import broken
from ago.ir.program import Program


def check_beside(
    program: Program, pieces: Sequence[Piece], members: Sequence[Piece], nest: Nest
) -> None:
    """Check that what is computed beside the last piece is a result of its own, divided alike.

    Args:
        program: A naive program after `find_pieces`.
        pieces: All its pieces.
        members: The nest's, in its order.
        nest: With a legal axis and block of its output.

    Raises:
        FusionError: `unknown-axis`, `bad-block`, `results-apart` or `not-forward`.
    """
    iterations = program.stage(nest.output).axis(nest.axis).extent // nest.block
    for name in nest.beside:
        extents = {a.name: a.extent for a in program.stage(name).axes}
        if nest.axis not in extents:
            reason = f"{name} has no axis {nest.axis!r}"
            raise _error("unknown-axis", nest, (name,), reason, f"axes are {', '.join(extents)}")
        if extents[nest.axis] % iterations:
            reason = f"{iterations} blocks do not divide its {extents[nest.axis]} positions"
            raise _error("bad-block", nest, (name,), reason)
        _check_apart(program, members, nest, name)
        _check_later(program, pieces, nest, name)


def _check_apart(program: Program, members: Sequence[Piece], nest: Nest, name: str) -> None:
    """Check that a further result is written by one stage, and that the nest does not read it."""
    buffer = program.stage(name).buffer
    reader = next((m.output for m in members if buffer in reads_of(program, m)), None)
    if reader is not None:
        hint = f"make {name} a producer, or end the nest there"
        raise _error("results-apart", nest, (name, reader), f"{reader} reads {buffer}", hint)
    writers = [s.name for s in program.stages if s.buffer == buffer]
    if len(writers) > 1:
        reason = f"{buffer} is written by {', '.join(writers)}"
        raise _error("results-apart", nest, (name,), reason, "end the nest there")


def _check_later(program: Program, pieces: Sequence[Piece], nest: Nest, name: str) -> None:
    """Check that the last piece, and pieces outside of the nest that read a result, come later."""
    buffer = program.stage(name).buffer
    names = [piece.output for piece in pieces]
    last = names.index(nest.output)
    if names.index(name) > last:
        reason, hint = f"{name} is computed after {nest.output}", f"share {name}'s axis instead"
        raise _error("not-forward", nest, (name, nest.output), reason, hint)
    for piece in pieces[:last]:
        if piece.output not in nest.stages and buffer in reads_of(program, piece):
            reason = f"{piece.output}, outside the nest, reads {buffer} before the nest ends"
            hint = f"leave {name} out of the nest"
            raise _error("not-forward", nest, (name, piece.output), reason, hint)


def _error(
    code: str, nest: Nest, operators: Sequence[str], reason: str, hint: str = ""
) -> FusionError:
    return broken(code, operators, nest.loop, reason, hint)
