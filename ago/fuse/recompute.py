"""How often each producer of a nest is computed: counted over all iterations of the shared loop.

Read `recompute_factors` first. The ranges of all loops are run through for every iteration at once,
clipped where `compute_at` clips them, so that the factors are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ago.fuse.footprint import outer_axes
from ago.fuse.pieces import Piece
from ago.fuse.plan import Nest
from ago.fuse.shape import stage_loads
from ago.ir.bounds import interval
from ago.ir.index import Index, Var, variables
from ago.ir.nest import Stage
from ago.ir.program import Program

Counts = npt.NDArray[np.int64]
Spans = tuple[Counts | int, Counts | int]
"""First and last position in each iteration; a number where it is the same in all of them."""


def recompute_factors(program: Program, pieces: Sequence[Piece], nest: Nest) -> dict[str, Fraction]:
    """Elements computed of each producer over the elements it has.

    Below 1 where a stride skips some, above 1 where some are computed again.

    Args:
        program: A naive program after `find_pieces`.
        pieces: All its pieces.
        nest: A legal nest.

    Returns:
        By name of the stage that writes the producer's result.
    """
    by_name = {piece.output: piece for piece in pieces}
    members = [by_name[stage] for stage in nest.stages]
    rings = {p.stage: p.ring for p in nest.producers}
    outer = outer_axes(program, members, nest.axis, nest.beside)
    output = program.stage(nest.output)
    steps = np.arange(output.axis(nest.axis).extent // nest.block, dtype=np.int64)
    results = (output, *map(program.stage, nest.beside))
    known = {stage.name: _result_ranges(stage, nest.axis, outer, steps) for stage in results}
    repeats = math.prod(output.axis(a).extent for a in outer)
    factors: dict[str, Fraction] = {}
    for piece in reversed(members):
        for name in (piece.output, piece.reduction):
            if name is None or name in known:
                continue
            stage = program.stage(name)
            known[name] = _stage_ranges(program, stage, known)
            if name in rings:
                count = repeats * _computed(stage, known[name], len(steps), once=rings[name] > 0)
                factors[name] = Fraction(count, math.prod(program.buffer(stage.buffer).shape))
    return factors


def _result_ranges(
    stage: Stage, axis: str, outer: Sequence[str], steps: npt.NDArray[np.int64]
) -> dict[str, Spans]:
    """The ranges of a result's loops in each iteration, which computes a block of its axis."""
    block = stage.axis(axis).extent // len(steps)
    ranges: dict[str, Spans] = {stage.loop(a.name): (0, a.extent - 1) for a in stage.axes}
    ranges.update({stage.loop(a): (0, 0) for a in outer})
    ranges[stage.loop(axis)] = (steps * block, steps * block + block - 1)
    return ranges


def _computed(stage: Stage, ranges: Mapping[str, Spans], iterations: int, *, once: bool) -> int:
    """Elements computed in all iterations; rows of former ones count once where they are kept."""
    extents = np.ones(iterations, np.int64)
    for axis in stage.axes:
        if axis.kind == "spatial":
            low, high = ranges[stage.loop(axis.name)]
            done = _done_before(low, high) if once else 0
            extents = extents * np.maximum(0, high - low + 1 - done)
    return int(extents.sum())


def _done_before(low: Counts | int, high: Counts | int) -> Counts | int:
    """Positions of each iteration that the one before it has reached; none where none moves."""
    if isinstance(low, int) and isinstance(high, int):
        return 0
    low, high = np.broadcast_arrays(low, high)
    if low[0] == low[-1] and high[0] == high[-1]:
        return 0
    return np.maximum(0, np.concatenate(([low[0]], high[:-1] + 1)) - low)


def _stage_ranges(
    program: Program, stage: Stage, known: Mapping[str, Mapping[str, Spans]]
) -> dict[str, Spans]:
    """The ranges of a stage's loops that cover what the known stages read of its result."""
    region: list[Spans] = []
    for name, ranges in known.items():
        for load in stage_loads(program.stage(name)):
            if load.buffer == stage.buffer:
                spans = [_range_of(i, ranges) for i in load.index]
                region = [_union(*b) for b in zip(region, spans, strict=True)] if region else spans
    found: dict[str, Spans] = {stage.loop(a.name): (0, a.extent - 1) for a in stage.axes}
    for index, (low, high) in zip(stage.index, region, strict=True):
        for atom, _ in index.terms:
            if isinstance(atom, Var):
                last = found[atom.name][1]
                found[atom.name] = _larger(low - index.const, 0), _smaller(high - index.const, last)
    return found


def _union(a: Spans, b: Spans) -> Spans:
    return _smaller(a[0], b[0]), _larger(a[1], b[1])


def _smaller(a: Counts | int, b: Counts | int) -> Counts | int:
    """The minimum in each iteration."""
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else np.minimum(a, b)


def _larger(a: Counts | int, b: Counts | int) -> Counts | int:
    """The maximum in each iteration."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else np.maximum(a, b)


def _first(bound: Counts | int) -> int:
    """A bound in the first iteration."""
    return bound if isinstance(bound, int) else int(bound[0])


def _range_of(index: Index, ranges: Mapping[str, Spans]) -> Spans:
    low: Counts | int = index.const
    high: Counts | int = index.const
    for atom, factor in index.terms:
        first: Counts | int
        last: Counts | int
        if isinstance(atom, Var):
            first, last = ranges[atom.name]
        else:
            inner = Index(((atom, 1),))
            limits = {n: (_first(ranges[n][0]), _first(ranges[n][1])) for n in variables(inner)}
            first, last = interval(inner, limits)
        if factor < 0:
            first, last = last, first
        low, high = low + factor * first, high + factor * last
    return low, high
