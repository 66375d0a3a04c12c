"""Whether a fusion plan is legal: four conditions, checked on the program's accesses.

Read `check_nest` first; `rules.RULES` lists the codes of the errors. The conditions are:

a. The set is convex: no path leaves it and comes back (`not-convex`).
b. Every dependence points forward: when an iteration reads an element, this or an earlier one has
   computed it (`not-forward`).
c. Nothing is read after its storage was reused (`reused`).
d. A reduction is complete before its result is read (`incomplete`).

Blocks inside of a nest have a rule of their own, in `blocks`; further results of it in `beside`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ago.errors import FusionError
from ago.fuse.beside import check_beside
from ago.fuse.blocks import check_blocks
from ago.fuse.footprint import Footprint, footprints, outer_axes
from ago.fuse.pieces import Piece, reads_of
from ago.fuse.plan import FusionPlan, Nest
from ago.fuse.rules import broken
from ago.fuse.shape import stage_loads
from ago.ir.program import Program


def check_plan(program: Program, pieces: Sequence[Piece], plan: FusionPlan) -> None:
    """Check that a plan is legal.

    Args:
        program: A naive program after `find_pieces`.
        pieces: All its pieces.
        plan: What is asked.

    Raises:
        FusionError: With a code of `RULES`; names the two stages, the loop and the rule.
    """
    taken: set[str] = set()
    for nest in plan.nests:
        check_nest(program, pieces, nest)
        for stage in nest.stages:
            if stage in taken:
                raise _error("repeated-stage", nest, (stage,), "it is in two nests")
        taken.update(nest.stages)


def check_nest(program: Program, pieces: Sequence[Piece], nest: Nest) -> Mapping[str, Footprint]:
    """Check that a nest is legal.

    Args:
        program: A naive program after `find_pieces`.
        pieces: All its pieces.
        nest: What is asked.

    Returns:
        What an iteration reads of each producer, by stage.

    Raises:
        FusionError: With a code of `RULES`.
    """
    members = _members(pieces, nest)
    _check_axis(program, members[-1], nest)
    check_beside(program, pieces, members, nest)
    _check_order(program, members, nest)
    _check_convex(program, pieces, members, nest)
    _check_readers(program, pieces, members, nest)
    outer = outer_axes(program, members, nest.axis, nest.beside)
    found = footprints(program, members, nest.axis, nest.block, outer, nest.beside)
    for placement in nest.producers:
        if placement.ring:
            _check_ring(program, found[placement.stage], placement.ring, nest)
    check_blocks(program, members, nest, found, outer)
    return found


def _members(pieces: Sequence[Piece], nest: Nest) -> list[Piece]:
    """The nest's pieces in its order."""
    by_name = {piece.output: piece for piece in pieces}
    if not nest.producers:
        raise _error("unknown-stage", nest, (nest.output,), "a nest has two stages or more")
    for stage in nest.stages:
        if stage not in by_name:
            hint = f"stages are {', '.join(by_name)}"
            raise _error(
                "unknown-stage", nest, (stage,), "no piece's result is written by it", hint
            )
        if nest.stages.count(stage) > 1:
            raise _error("repeated-stage", nest, (stage,), "it is named twice")
    return [by_name[stage] for stage in nest.stages]


def _check_axis(program: Program, last: Piece, nest: Nest) -> None:
    output = program.stage(nest.output)
    extents = {a.name: a.extent for a in output.axes}
    hint = f"axes are {', '.join(extents)}"
    if nest.axis not in extents:
        inner = None if last.reduction is None else program.stage(last.reduction)
        if inner is not None and any(
            a.name == nest.axis and a.kind == "reduce" for a in inner.axes
        ):
            rule = f"its reduction over {nest.axis} ends after the loop, not in each iteration"
            raise _error("incomplete", nest, (inner.name, nest.output), rule, hint)
        raise _error("unknown-axis", nest, (nest.output,), f"it has no axis {nest.axis!r}", hint)
    extent = extents[nest.axis]
    if nest.block < 1 or extent % nest.block:
        rule = f"blocks of {nest.block} do not divide its {extent} positions"
        raise _error("bad-block", nest, (nest.output,), rule)


def _check_order(program: Program, members: Sequence[Piece], nest: Nest) -> None:
    for position, piece in enumerate(members):
        read = reads_of(program, piece)
        for later in members[position + 1 :]:
            if program.stage(later.output).buffer in read:
                rule = f"{piece.output} is computed first, but reads the result of {later.output}"
                names = (later.output, piece.output)
                raise _error("not-forward", nest, names, rule, "name the stages in their order")


def _check_convex(
    program: Program, pieces: Sequence[Piece], members: Sequence[Piece], nest: Nest
) -> None:
    """Follow what depends on the nest through pieces outside it, in order of execution."""
    inside = set(members)
    source: dict[str, tuple[str, str]] = {}
    for piece in pieces:
        read = reads_of(program, piece)
        buffer = program.stage(piece.output).buffer
        through = next((source[b] for b in sorted(read) if b in source), None)
        if piece in inside:
            if through is not None:
                start, outside = through
                rule = f"it reads what {outside}, outside the nest, makes of {start}"
                hint = f"take {outside} into the nest, or leave {piece.output} out"
                raise _error("not-convex", nest, (start, piece.output), rule, hint)
            continue
        if through is None:
            for member in members:
                if program.stage(member.output).buffer in read:
                    through = member.output, piece.output
        if through is not None:
            source[buffer] = through


def _check_readers(
    program: Program, pieces: Sequence[Piece], members: Sequence[Piece], nest: Nest
) -> None:
    """Check that only the nest reads what it keeps, of which nothing is left after an iteration."""
    for producer in members[: len(nest.producers)]:
        buffer = program.stage(producer.output).buffer
        if not any(buffer in reads_of(program, piece) for piece in members):
            rule = "nothing in the nest reads it"
            raise _error("unrelated", nest, (producer.output,), rule, "leave it apart")
        if program.buffer(buffer).scope != "workspace":
            rule = f"{buffer} is an {program.buffer(buffer).scope}, which is read later"
            raise _error("reused", nest, (producer.output,), rule, "end the nest there")
        writers = [s.name for s in program.stages if s.buffer == buffer]
        if len(writers) > 1:
            rule = f"{buffer} is written by {', '.join(writers)}"
            raise _error("reused", nest, (producer.output,), rule, "end the nest there")
        for piece in pieces:
            if piece not in members and buffer in reads_of(program, piece):
                rule = f"{piece.output}, outside the nest, reads {buffer} after the loop"
                hint = f"take {piece.output} into the nest, or end the nest at {producer.output}"
                raise _error("reused", nest, (producer.output, piece.output), rule, hint)


def _check_ring(program: Program, found: Footprint, ring: int, nest: Nest) -> None:
    """Check that the window moves forward, and that the ring holds just the window."""
    names = (found.stage, _reader(program, found.buffer))
    apart = "ring 0 computes what an iteration reads anew"
    if found.dimension is None:
        rule = (
            f"each iteration reads [{_spans(found)}] of {found.buffer}: no single dimension moves"
        )
        raise _error("not-forward", nest, names, rule, apart)
    moving = found.moving
    if moving.step < 0:
        rule = f"its window moves by {moving.step}: later iterations read earlier rows"
        raise _error("not-forward", nest, names, rule, apart)
    if ring < moving.window:
        rule = f"a ring of {ring} rows is overwritten while {moving.window} are read"
        raise _error("reused", nest, names, rule, f"a ring of {moving.window}, or {apart}")
    if ring > moving.window:
        rule = f"a ring of {ring} rows holds more than the {moving.window} that are read"
        raise _error("reused", nest, names, rule, f"a ring of {moving.window}")


def _reader(program: Program, buffer: str) -> str:
    for stage in program.stages:
        if any(load.buffer == buffer for load in stage_loads(stage)):
            return stage.name
    return ""


def _spans(found: Footprint) -> str:
    return ", ".join(f"{s.step}*t + {s.low}..{s.high}" for s in found.spans)


def _error(
    code: str, nest: Nest, operators: Sequence[str], reason: str, hint: str = ""
) -> FusionError:
    return broken(code, operators, nest.loop, reason, hint)
