"""Tiling of one piece: register tiles of its output, the reduction computed at the tile.

Read `tile_piece` first. Loop names say it all: the output's lane axis `c` becomes `c.0.0` (tiles),
`c.0.1` (vectors of a tile, unrolled) and `c.1` (lanes); its row axis `x` becomes `x.0` and `x.1`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ago.autoschedule.depth import tile_by_depth
from ago.autoschedule.elementwise import tile_elementwise
from ago.autoschedule.order import Order, OrderProblem, OrderReason
from ago.autoschedule.steps import unroll_factor
from ago.cost_model.analytic import (
    MAX_UNROLLED,
    RowTail,
    Tile,
    TileProblem,
    candidate_tiles,
    keeps_window,
    row_tail,
    tile_terms,
)
from ago.errors import ScheduleError
from ago.fuse.groups import interleaving, lane_period, ragged_group
from ago.fuse.problem import tile_problem, vector_choices
from ago.fuse.shape import Roles, reduction_axis
from ago.ir.nest import Stage
from ago.schedule.annotate import unroll, vectorize
from ago.schedule.chooser import Decision
from ago.schedule.compute_at import compute_at
from ago.schedule.reorder import reorder
from ago.schedule.split import Tail, split
from ago.schedule.store_at import store_at
from ago.schedule.trace import Schedule
from ago.schedule.transform_layout import transform_layout
from ago.schedule.tree import find_loop
from ago.target import Target

_TAILS: tuple[RowTail, ...] = ("shift", "balance")

_UNROLLED = (MAX_UNROLLED, MAX_UNROLLED // 2, MAX_UNROLLED // 4, 2 * MAX_UNROLLED)
"""Multiply-accumulates in the straight-line code of a tile's inner loop, at most."""


def tile_piece(
    schedule: Schedule,
    part: Roles,
    lanes: int,
    target: Target,
    *,
    inner: int = 0,
    whole: bool = False,
) -> None:
    """Schedule one piece whose output's loops are still whole.

    Args:
        schedule: The schedule.
        part: The piece.
        lanes: Lanes of a vector along the lane axis; 1 for scalar code.
        target: The CPU.
        inner: How many of the output's outermost loops are left alone, because other statements
            share them.
        whole: Whether tiles must divide the vectors along the lane axis.
    """
    if part.reduction is not None:
        _tile_reduction(schedule, part, part.reduction, lanes, target, (inner, whole))
    if part.reduction is None or lanes > 1:
        alone = [part.output.loop(a.name) for a in part.output.axes[:inner]]
        tile_elementwise(schedule, part.output.name, target.lanes, alone)


def _tile_reduction(
    schedule: Schedule,
    part: Roles,
    reduction: Stage,
    lanes: int,
    target: Target,
    seat: tuple[int, bool],
) -> None:
    """Tile the output in registers, compute the reduction at the tile, unroll and vectorise."""
    output, program = part.output, schedule.program
    lane, row = part.tile_axis, part.row_axis
    assert lane is not None
    problem = tile_problem(program, part, lane, row, lanes)
    inner, whole = seat
    choices = vector_choices(program, part, lane, lanes, problem.vectors)
    if whole:
        choices = tuple(v for v in choices if problem.vectors % v == 0) or choices
    tiles = candidate_tiles(problem, target, choices)
    picked = schedule.decide(
        f"{output.name}/tile",
        [(t.rows, t.vectors) for t in tiles],
        TileReason(problem, lanes, target),
    )
    tile = as_tile(picked)
    tail = _decide_tail(schedule, output, row, problem, tile)
    order = _decide_order(schedule, part, (lane, row), tile, lanes, inner, target)
    if order.depth:
        room = max(_decide_unroll(schedule, output.name) // (tile.rows * tile.vectors), 1)
        tile_by_depth(schedule, part, reduction, tile, order.depth, room, lanes)
        return
    at = _tile_output(schedule, part, (lane, row), tile, tail, order, lanes, inner)
    schedule.apply(compute_at, reduction.name, at)
    schedule.apply(store_at, reduction.buffer, at, "register")
    shared = interleaving(program, part, lane, lanes)
    if shared > 1:
        _store_apart(schedule, reduction.buffer, shared)
    inside = _reduction_loops(schedule, part, reduction, (lane, row), lanes)
    _order_reduction(schedule, (output.name, reduction), inside, problem, tile, target)
    if lanes > 1:
        schedule.apply(vectorize, inside[-1])


@dataclass(frozen=True, slots=True)
class TileReason:
    """Why a register tile was chosen; explains a tile.

    Attributes:
        problem: The reduction.
        lanes: float32 lanes of a vector; 1 in scalar code.
        target: The CPU.
    """

    problem: TileProblem
    lanes: int
    target: Target

    def __call__(self, tile: Decision) -> str:
        """The model's opinion of a tile."""
        return str(tile_terms(self.problem, as_tile(tile), self.target))


def as_tail(value: Decision) -> RowTail:
    """The tail that a decision stands for."""
    return next(tail for tail in _TAILS if tail == value)


def as_tile(value: Decision) -> Tile:
    """The tile that a decision stands for: rows and vectors."""
    assert isinstance(value, tuple)
    return Tile(int(value[0]), int(value[1]))


def _tile_output(
    schedule: Schedule,
    part: Roles,
    axes: tuple[str, str | None],
    tile: Tile,
    tail: Tail,
    order: Order,
    lanes: int,
    alone: int,
) -> str:
    """Split and order the output's loops; returns the loop of whose iterations each is a tile."""
    output, (lane, row) = part.output, axes
    tiles, inner = _split_lanes(schedule, part, lane, tile.vectors, lanes)
    outer = [output.loop(a.name) for a in output.axes[alone:] if a.name != lane]
    if row is not None:
        row_loop = output.loop(row)
        schedule.apply(split, row_loop, tile.rows, tail)
        outer[outer.index(row_loop)] = f"{row_loop}.0"
        inner.insert(0, f"{row_loop}.1")
    if order.rows and row is not None:
        tile_loop = f"{output.loop(row)}.0"
        schedule.apply(split, tile_loop, order.tiles(tile), "balance")
        outer[outer.index(tile_loop)] = f"{tile_loop}.1"
        tiles.insert(0, f"{tile_loop}.0")
    outer[order.place : order.place] = tiles
    schedule.apply(reorder, [*outer, *inner])
    for loop in inner[:-1]:
        schedule.apply(unroll, loop)
    schedule.apply(vectorize if lanes > 1 else unroll, inner[-1])
    return outer[-1]


def _decide_tail(
    schedule: Schedule, output: Stage, row: str | None, problem: TileProblem, tile: Tile
) -> Tail:
    """How rows that no whole number of tiles covers are split; the other way where it is legal."""
    favourite = row_tail(problem, tile)
    if row is None:
        return favourite
    others = [tail for tail in _TAILS if tail != favourite]
    try:
        split(schedule.program, output.loop(row), tile.rows, "shift")
    except ScheduleError:
        others = [tail for tail in others if tail != "shift"]
    picked = schedule.decide(f"{output.name}/tail", [favourite, *others])
    return as_tail(picked)


def _decide_order(
    schedule: Schedule,
    part: Roles,
    axes: tuple[str, str | None],
    tile: Tile,
    lanes: int,
    alone: int,
    target: Target,
) -> Order:
    """Where the loop over lane tiles goes; orders without blocks come first."""
    problem = OrderProblem.of(schedule.program, part, axes, lanes, alone)
    traffic = {order: problem.traffic(tile, order, target) for order in problem.orders()}
    orders = sorted(traffic, key=lambda order: (order.is_blocked, traffic[order]))
    reason = OrderReason(problem, tile, target)
    key = f"{part.output.name}/order"
    return Order.of(schedule.decide(key, [o.value for o in orders], reason))


def _decide_unroll(schedule: Schedule, name: str) -> int:
    """Most multiply-accumulates in straight-line code."""
    straight = schedule.decide(f"{name}/unroll", _UNROLLED)
    assert isinstance(straight, int)
    return straight


def _split_lanes(
    schedule: Schedule, part: Roles, lane: str, vectors: int, lanes: int
) -> tuple[list[str], list[str]]:
    """Split the output's lane axis; returns its loops over tiles, and those inside a tile.

    Where tiles do not divide the vectors, some are a vector narrower: none is computed twice.
    """
    loop = part.output.loop(lane)
    group = ragged_group(part, lane, lanes)
    if group:
        schedule.apply(split, loop, group)
        schedule.apply(split, f"{loop}.1", lanes, "shift")
        return [f"{loop}.0", f"{loop}.1.0"], [f"{loop}.1.1"]
    shared = interleaving(schedule.program, part, lane, lanes)
    if shared > 1:
        schedule.apply(split, loop, shared)
        schedule.apply(split, f"{loop}.0", lanes)
        return [f"{loop}.0.0"], [f"{loop}.1", f"{loop}.0.1"]
    schedule.apply(split, loop, lanes)
    period = lane_period(part, lane, lanes)
    if period > 1:
        schedule.apply(split, f"{loop}.0", period, "guard")
        schedule.apply(unroll, f"{loop}.0.1")
        return [f"{loop}.0.0", f"{loop}.0.1"], [f"{loop}.1"]
    schedule.apply(split, f"{loop}.0", vectors, "balance")
    return [f"{loop}.0.0"], [f"{loop}.0.1", f"{loop}.1"]


def _reduction_loops(
    schedule: Schedule,
    part: Roles,
    reduction: Stage,
    axes: tuple[str, str | None],
    lanes: int,
) -> list[str]:
    """Split the reduction's lane loop; returns its loops over the tile, innermost last."""
    lane, row = axes
    inner = reduction_axis(part.output, reduction, lane)
    assert inner is not None
    lane_loop = reduction.loop(inner)
    outer = None if row is None else reduction_axis(part.output, reduction, row)
    rows = [] if outer is None else [reduction.loop(outer)]
    shared = interleaving(schedule.program, part, lane, lanes)
    if shared > 1:
        schedule.apply(split, lane_loop, shared)
        return [*rows, f"{lane_loop}.1", f"{lane_loop}.0"]
    width = find_loop(schedule.program, lane_loop).extent
    schedule.apply(split, lane_loop, width.const if ragged_group(part, lane, lanes) else lanes)
    return [*rows, f"{lane_loop}.0", f"{lane_loop}.1"]


def _store_apart(schedule: Schedule, buffer: str, shared: int) -> None:
    """Keep `shared` neighbours of a buffer's last dimension apart, each among its own kind."""
    *others, last = (f"d{n}" for n in range(len(schedule.program.buffer(buffer).shape)))
    old, new = [*others, last], [*others, f"{last}%{shared}", f"{last}//{shared}"]
    schedule.apply(transform_layout, buffer, f"{' '.join(old)} -> {' '.join(new)}")


def _order_reduction(
    schedule: Schedule,
    stages: tuple[str, Stage],
    inside: list[str],
    problem: TileProblem,
    tile: Tile,
    target: Target,
) -> None:
    """Put the tile's loops innermost; unroll them and as many reduction steps as is sensible.

    Where neighbouring rows of the tile share vectors of a window, the window's loop goes inside the
    rows: each vector is used up by the rows that need it before the next is loaded. Where they
    share values that are the same for all lanes, the window's loop stays unless they fit: unrolled,
    they would be kept for later rows and push accumulators out of the registers.
    """
    output, reduction = stages
    steps = [a for a in reduction.axes if a.kind == "reduce"]
    serial = [reduction.loop(a.name) for a in steps]
    unrolled: list[str] = []
    straight = _decide_unroll(schedule, output)
    room = most = max(straight // (tile.rows * tile.vectors), 1)
    for axis in reversed(steps):
        loop = reduction.loop(axis.name)
        stays = axis.name == problem.window_axis and not problem.shares_vectors
        if stays and not keeps_window(problem, tile, most // room, target):
            break
        if axis.extent <= room:
            serial.remove(loop)
            unrolled.insert(0, loop)
            room //= axis.extent
            continue
        factor = unroll_factor(axis.extent, room)
        if not unrolled and factor > 1:
            schedule.apply(split, loop, factor, "guard")
            serial[serial.index(loop)] = f"{loop}.0"
            unrolled.insert(0, f"{loop}.1")
        break
    spatial = {reduction.loop(a.name) for a in reduction.axes if a.kind == "spatial"}
    others = [n for n in sorted(spatial) if n not in inside and f"{n}.0" not in inside]
    sliding = [reduction.loop(a.name) for a in steps if a.name == problem.window_axis]
    window = [n for n in unrolled if problem.shares_vectors and n in sliding]
    rows, lanes = inside[:-2], inside[-2:]
    taps = [n for n in unrolled if n not in window]
    schedule.apply(reorder, [*others, *serial, *taps, *rows, *window, *lanes])
    for loop in [*unrolled, *inside[:-1]]:
        schedule.apply(unroll, loop)
