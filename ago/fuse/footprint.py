"""What one iteration of a nest's shared loop reads of each producer, as moving windows.

Read `Footprint` and `footprints` first. Windows follow from the accesses alone: every index is
affine, so along each dimension an iteration `t` reads `[step*t + low, step*t + high]`, clipped to
the domain. Windows may be wider than what is read, never narrower.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ago.fuse.pieces import Piece
from ago.fuse.rules import broken
from ago.fuse.shape import guarded_axes, roles, shares_operand, stage_loads
from ago.ir.bounds import interval
from ago.ir.identity import by_identity
from ago.ir.index import Index, Var, variables
from ago.ir.nest import Stage
from ago.ir.program import Program


@dataclass(frozen=True, slots=True)
class Span:
    """Positions `[step*t + low, step*t + high]` in iteration `t` of the shared loop."""

    step: int
    low: int
    high: int

    @property
    def window(self) -> int:
        """How many positions."""
        return self.high - self.low + 1

    def at(self, iteration: int, extent: int) -> tuple[int, int]:
        """First and one past the last position inside `[0, extent)`; equal where there is none."""
        first = max(0, self.step * iteration + self.low)
        return first, max(first, min(extent, self.step * iteration + self.high + 1))


@dataclass(frozen=True, slots=True)
class Footprint:
    """What the nest reads of a producer.

    Attributes:
        stage: Name of the stage that writes the producer's result.
        buffer: That result.
        shape: Its extents.
        spans: What an iteration reads along each dimension.
        iterations: Of the shared loop.
        repeats: How often the shared loop runs, each time on another part of the result.
        dimension: The only dimension that moves with the loop; None where none or several do.
    """

    stage: str
    buffer: str
    shape: tuple[int, ...]
    spans: tuple[Span, ...]
    iterations: int
    repeats: int
    dimension: int | None

    @property
    def slides(self) -> bool:
        """Whether windows of successive iterations overlap."""
        if self.dimension is None or self.iterations == 1:
            return False
        return 0 < self.moving.step < self.moving.window

    @property
    def moving(self) -> Span:
        """The window along the only dimension that moves."""
        assert self.dimension is not None
        return self.spans[self.dimension]

    @property
    def extent(self) -> int:
        """Positions along the dimension that moves."""
        assert self.dimension is not None
        return self.shape[self.dimension]

    @property
    def is_clipped(self) -> bool:
        """Whether windows reach over an end of the dimension that moves."""
        if self.dimension is None:
            return False
        last = self.moving.step * (self.iterations - 1) + self.moving.high
        return self.moving.low < 0 or last >= self.extent

    @property
    def kept_elements(self) -> int:
        """Elements of the box that one iteration reads."""
        return math.prod(
            min(span.window, extent) for span, extent in zip(self.spans, self.shape, strict=True)
        )


def moving_axis(stage: Stage, found: Footprint) -> str | None:
    """The axis of a producer's stage that moves with the shared loop; None where none does alone.

    Args:
        stage: The stage that writes the producer's result.
        found: What is read of it.
    """
    if found.dimension is None:
        return None
    names = variables(stage.index[found.dimension])
    return next((a.name for a in stage.axes if stage.loop(a.name) in names), None)


def keeps_rows(stage: Stage, found: Footprint) -> bool:
    """Whether the loop over the moving axis has to stay as it is, with all loops outside of it.

    It does where windows overlap or reach over an end, and where a guard depends on the row.
    """
    axis = moving_axis(stage, found)
    return axis is not None and (found.slides or found.is_clipped or axis in guarded_axes(stage))


def outer_axes(
    program: Program, pieces: Sequence[Piece], axis: str, beside: Sequence[str] = ()
) -> tuple[str, ...]:
    """The axes in front of `axis` that may stay outside the shared loop.

    Every producer moves with such an axis position by position: each run of the shared loop works
    on a part of its own. Further results have an axis of its name and extent. No tile is along it,
    which would have single rows or single lanes then.

    Args:
        program: A naive program after `find_pieces`.
        pieces: Of one nest, in order of execution.
        axis: Of the last piece's output.
        beside: The stages of the pieces that write further results.
    """
    return _outer_axes(program, tuple(pieces), axis, tuple(beside))


@by_identity(4)
def _outer_axes(
    program: Program, pieces: tuple[Piece, ...], axis: str, beside: tuple[str, ...]
) -> tuple[str, ...]:
    found: list[str] = []
    for other in program.stage(pieces[-1].output).axes:
        if other.name == axis or not all(other in program.stage(s).axes for s in beside):
            break
        if other.extent > 1:
            known = footprints(program, pieces, other.name, 1, (), beside)
            if not all(_follows(program.stage(name), f) for name, f in known.items()):
                break
            if any(_is_tiled(program, piece, other.name, known) for piece in pieces):
                break
        found.append(other.name)
    return tuple(found)


def _is_tiled(program: Program, piece: Piece, axis: str, known: Mapping[str, Footprint]) -> bool:
    """Whether a piece's tiles are along what is, in the last piece, an axis.

    A register tile that takes its rows there needs them for an operand that they share.
    """
    output = program.stage(piece.output)
    reduction = None if piece.reduction is None else program.stage(piece.reduction)
    part, found = roles(program, piece.output, piece.reduction, 1), known.get(piece.output)
    own = axis if found is None else moving_axis(output, found)
    if part is None or own is None:
        return False
    return own == part.tile_axis or (
        own == part.row_axis and shares_operand(output, reduction, own)
    )


def _follows(stage: Stage, found: Footprint) -> bool:
    """Whether a producer moves position by position, all of them alike, as the loop does."""
    if found.dimension is None or found.moving != Span(1, 0, 0):
        return False
    return found.extent == found.iterations and moving_axis(stage, found) not in guarded_axes(stage)


def footprints(
    program: Program,
    pieces: Sequence[Piece],
    axis: str,
    block: int,
    outer: Sequence[str],
    beside: Sequence[str] = (),
) -> Mapping[str, Footprint]:
    """What iterations of the last piece's loop over `axis` read of the other pieces' results.

    Args:
        program: A naive program after `find_pieces`.
        pieces: Of one nest, in order of execution.
        axis: Of the last piece's output.
        block: Positions of it an iteration.
        outer: The axes outside the loop, from `outer_axes`.
        beside: The stages of the pieces that write further results; they have such axes, too.

    Returns:
        By name of the stage that writes a result. Producers that no piece reads are left out.

    Raises:
        FusionError: `no-region` where a region is no box in the producer's axes.
    """
    return _footprints(program, tuple(pieces), axis, block, tuple(outer), tuple(beside))


@by_identity(4)
def _footprints(
    program: Program,
    pieces: tuple[Piece, ...],
    axis: str,
    block: int,
    outer: tuple[str, ...],
    beside: tuple[str, ...],
) -> dict[str, Footprint]:
    output = program.stage(pieces[-1].output)
    loop = output.loop(axis)
    loops = -(-output.axis(axis).extent // block), math.prod(output.axis(a).extent for a in outer)
    known = {output.name: _result_spans(output, axis, block, outer)}
    for stage in map(program.stage, beside):
        own = stage.axis(axis).extent // loops[0]
        known[stage.name] = _result_spans(stage, axis, own, outer)
    found: dict[str, Footprint] = {}
    for piece in reversed(pieces):
        writer = program.stage(piece.output)
        if writer.name not in known:
            region = _region(program, known, writer, loop, loops[0])
            if region is None:
                continue
            found[writer.name] = _footprint(program, writer, region, loops)
            known[writer.name] = _axis_spans(writer, region, loop, loops[0])
        if piece.reduction is not None:
            inner = program.stage(piece.reduction)
            read = _region(program, known, inner, loop, loops[0])
            known[inner.name] = {} if read is None else _axis_spans(inner, read, loop, loops[0])
    return found


def _result_spans(stage: Stage, axis: str, block: int, outer: Sequence[str]) -> dict[str, Span]:
    """What an iteration computes of a result, along each of its loops."""
    spans = {stage.loop(a.name): Span(0, 0, a.extent - 1) for a in stage.axes}
    spans.update({stage.loop(a): Span(0, 0, 0) for a in outer})
    spans[stage.loop(axis)] = Span(block, 0, block - 1)
    return spans


def _footprint(
    program: Program, writer: Stage, region: tuple[Span, ...], loops: tuple[int, int]
) -> Footprint:
    shape = program.buffer(writer.buffer).shape
    moving = [d for d, span in enumerate(region) if span.step]
    dimension = moving[0] if len(moving) == 1 else None
    return Footprint(writer.name, writer.buffer, shape, region, *loops, dimension)


def _region(
    program: Program,
    known: Mapping[str, Mapping[str, Span]],
    writer: Stage,
    loop: str,
    iterations: int,
) -> tuple[Span, ...] | None:
    """What the stages with known ranges read of a stage's result; None where they read nothing."""
    shape = program.buffer(writer.buffer).shape
    region: list[Span] | None = None
    for name, ranges in known.items():
        for load in stage_loads(program.stage(name)) if ranges else ():
            if load.buffer != writer.buffer:
                continue
            spans = [_span_of(i, ranges, (writer.name, name), loop) for i in load.index]
            if region is not None:
                spans = [_union(*both) for both in zip(region, spans, shape, strict=True)]
            region = spans
    if region is None:
        return None
    return tuple(_clipped(s, n, iterations) for s, n in zip(region, shape, strict=True))


def _span_of(
    index: Index, ranges: Mapping[str, Span], operators: tuple[str, str], loop: str
) -> Span:
    step, low, high = 0, index.const, index.const
    for atom, factor in index.terms:
        if isinstance(atom, Var):
            span = ranges[atom.name]
        else:
            used = variables(Index(((atom, 1),)))
            if any(ranges[n].step for n in used):
                raise broken(
                    "no-region", operators, loop, f"{index} is not affine in the shared loop"
                )
            limits = {n: (ranges[n].low, ranges[n].high) for n in used}
            span = Span(0, *interval(Index(((atom, 1),)), limits))
        first, last = (span.low, span.high) if factor > 0 else (span.high, span.low)
        step, low, high = step + factor * span.step, low + factor * first, high + factor * last
    return Span(step, low, high)


def _union(a: Span, b: Span, extent: int) -> Span:
    """Both windows; all of the dimension where they do not move alike."""
    if a.step != b.step:
        return Span(0, 0, extent - 1)
    return Span(a.step, min(a.low, b.low), max(a.high, b.high))


def _axis_spans(
    stage: Stage, region: tuple[Span, ...], loop: str, iterations: int
) -> dict[str, Span]:
    """The range of each of a stage's loops that covers a region of its result."""
    spans = {stage.loop(a.name): Span(0, 0, a.extent - 1) for a in stage.axes}
    for index, span in zip(stage.index, region, strict=True):
        match (index - index.const).terms:
            case ():
                continue
            case ((Var(name), 1),):
                moved = Span(span.step, span.low - index.const, span.high - index.const)
                spans[name] = _clipped(moved, spans[name].high + 1, iterations)
            case _:
                reason = f"{stage.buffer} is written at {index}"
                raise broken("no-region", (stage.name,), loop, reason)
    return spans


def _clipped(span: Span, extent: int, iterations: int) -> Span:
    """A window that stands still, cut to the domain; one that always covers the domain does."""
    reach = span.step * (iterations - 1)
    first, last = max(span.low, span.low + reach), min(span.high, span.high + reach)
    if first <= 0 and last >= extent - 1:
        return Span(0, 0, extent - 1)
    if span.step:
        return span
    return Span(0, max(span.low, 0), min(span.high, extent - 1))
