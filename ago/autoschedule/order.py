"""Where the loop over tiles along the vectorised axis stands among the output's outer loops.

Read `OrderProblem` first: sizes alone, so that the traffic of any tile in any order is known
without a program that has it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ago.autoschedule.depth import depths, longest_steps
from ago.cost_model.analytic import Tile, stream_cycles
from ago.fuse.groups import interleaving, lane_period, ragged_group
from ago.fuse.shape import Roles, reduction_axis, stage_loads
from ago.ir.index import variables
from ago.ir.program import Program
from ago.schedule.chooser import Decision
from ago.schedule.tree import find_loop
from ago.target import Target

ROW_BLOCKS = (32, 64, 128, 256)
"""Rows of a block that is kept in a cache while all lanes pass by."""


@dataclass(frozen=True, slots=True)
class Order:
    """Where the loop over tiles along the lane axis stands.

    Attributes:
        place: How many of the output's other outer loops are outside of it.
        rows: Rows of a block, whose loop is next outside of it; 0 without blocks. The row tiles of
            a block are inside of it.
        depth: Steps of a block of the reduction, whose loop is next inside of it; 0 where tiles
            are reduced as a whole.
    """

    place: int
    rows: int = 0
    depth: int = 0

    @staticmethod
    def of(value: Decision) -> Order:
        """The order that a decision stands for."""
        if isinstance(value, tuple):
            return Order(*map(int, value))
        return Order(int(value))

    @property
    def value(self) -> Decision:
        """The decision."""
        if self.depth:
            return (self.place, self.rows, self.depth)
        return (self.place, self.rows) if self.rows else self.place

    @property
    def is_blocked(self) -> bool:
        """Whether there are blocks of rows or of the reduction."""
        return self.rows > 0 or self.depth > 0

    def tiles(self, tile: Tile) -> int:
        """Row tiles of a block."""
        return max(round(self.rows / tile.rows), 1)


@dataclass(frozen=True, slots=True)
class OrderProblem:
    """What the traffic of a loop order depends on.

    Attributes:
        outer: Iterations of the outer loops beside those over tiles along the lane axis, outermost
            first, the rows not yet in tiles.
        row: Place of the rows' loop among them; None without rows.
        vectors: Vectors along the lane axis.
        tiles: Tiles along the lane axis, where they do not depend on the tile's width; else 0.
        shared: Bytes of constants, and of inputs that every lane tile reads, in one visit.
        private: Bytes of inputs of which each lane tile reads its own part, in one visit.
        visits: How often the loops are entered: 1 unless the piece is inside of a nest.
        steps: Iterations of the reduction's longest axis.
        depths: Steps of the blocks that it can be cut into.
    """

    outer: tuple[int, ...]
    row: int | None
    vectors: int
    tiles: int
    shared: tuple[float, float]
    private: float
    visits: float = 1.0
    steps: int = 1
    depths: tuple[int, ...] = ()

    @staticmethod
    def of(
        program: Program, part: Roles, axes: tuple[str, str | None], lanes: int, alone: int
    ) -> OrderProblem:
        """The problem of a piece whose output's loops are not split: of one visit in a nest.

        Args:
            program: The program.
            part: Its stages.
            axes: The output's vectorised axis, and the one that is tiled by rows.
            lanes: float32 lanes of a vector.
            alone: How many of the output's outermost loops other statements share.
        """
        lane, row = axes
        outer = [a.name for a in part.output.axes[alone:] if a.name != lane]
        extents = tuple(_iterations(program, part.output.loop(name)) for name in outer)
        extent = _iterations(program, part.output.loop(lane))
        (weights, inputs), private = _operand_bytes(program, part, lane)
        whole = math.prod(a.extent for a in part.output.axes if a.name != lane)
        visit = math.prod(extents) / whole
        lane_visit = extent / part.output.axis(lane).extent
        shared = weights * lane_visit, inputs * visit
        place = None if row is None else outer.index(row)
        vectors, tiles = math.ceil(extent / lanes), _fixed_tiles(program, part, lane, lanes)
        own, visits = private * visit * lane_visit, 1 / (visit * lane_visit)
        assert part.reduction is not None
        steps = longest_steps(part.reduction)
        cut = lanes > 1 and not alone and not tiles and not private and place is not None
        blocks = depths(part.reduction) if cut and _is_plain(part, axes) else ()
        return OrderProblem(extents, place, vectors, tiles, shared, own, visits, steps, blocks)

    def loops(self, tile: Tile) -> tuple[tuple[int, ...], int]:
        """Iterations of the outer loops, and tiles along the lane axis, with a register tile."""
        extents = list(self.outer)
        if self.row is not None:
            extents[self.row] = math.ceil(extents[self.row] / tile.rows)
        return tuple(extents), self.tiles or math.ceil(self.vectors / tile.vectors)

    def orders(self) -> list[Order]:
        """The orders that there are, the innermost first, those with blocks last."""
        positions = range(len(self.outer), -1, -1)
        plain = [Order(place) for place in positions]
        if self.row is None:
            return plain
        inside = [place for place in positions if place <= self.row]
        fitting = [rows for rows in ROW_BLOCKS if 2 * rows <= self.outer[self.row]]
        blocks = [Order(place, rows) for place in inside for rows in fitting]
        return plain + blocks + [Order(0, 0, depth) for depth in self.depths]

    def split(self, tile: Tile, order: Order) -> tuple[int, int]:
        """Iterations of all loops outside of that over lane tiles, and of those inside of it."""
        extents, _ = self.loops(tile)
        before, after = math.prod(extents[: order.place]), math.prod(extents[order.place :])
        if not order.rows or self.row is None:
            return before, after
        blocks = math.ceil(extents[self.row] / order.tiles(tile))
        return before * blocks, math.ceil(after / blocks)

    def traffic(self, tile: Tile, order: Order, target: Target) -> float:
        """Cycles of cache traffic with an order.

        Innermost, every row tile streams all weights and reads its inputs once; outermost, each
        block of weights is read once and the inputs are read again for each block.

        Args:
            tile: The register tile.
            order: Where the loop over lane tiles stands.
            target: Cache sizes.
        """
        _, tiles = self.loops(tile)
        if order.depth:
            return self._depth_traffic(tile, tiles, self.steps / order.depth, target)
        loops = self.split(tile, order)
        return _traffic(loops, tiles, self.shared, self.private, target)

    def _depth_traffic(self, tile: Tile, tiles: int, blocks: float, target: Target) -> float:
        """Cycles of cache traffic with so many blocks of the reduction inside of a lane tile.

        Weights come once; each block of them is read by all rows, which load and store their sums.
        """
        weights, inputs = self.shared
        block, rows = weights / tiles / blocks, math.prod(self.outer)
        sums = 4.0 * rows * self.vectors * target.lanes
        work = block + inputs / blocks + sums / tiles
        cost = stream_cycles(target, weights, weights)
        cost += stream_cycles(target, weights * (rows / tile.rows - 1), 2 * block)
        cost += stream_cycles(target, inputs * (tiles - 1), inputs + sums / tiles)
        return cost + stream_cycles(target, 2 * sums * blocks, work)


@dataclass(frozen=True, slots=True)
class OrderReason:
    """Why the lane-tile loop stands where it does; explains an order.

    Attributes:
        problem: The piece.
        tile: Its register tile.
        target: Cache sizes.
    """

    problem: OrderProblem
    tile: Tile
    target: Target

    def __call__(self, value: Decision) -> str:
        """The model's opinion of an order."""
        cycles = self.problem.traffic(self.tile, Order.of(value), self.target)
        return f"{cycles:.3g} cycles of cache traffic"


def _is_plain(part: Roles, axes: tuple[str, str | None]) -> bool:
    """Whether the reduction runs over both tiled axes, from their first element to their last."""
    reduction = part.reduction
    assert reduction is not None
    own = [axis and reduction_axis(part.output, reduction, axis) for axis in axes]
    return all(own) and not reduction.guard and part.lane_axis == axes[0]


def _fixed_tiles(program: Program, part: Roles, lane: str, lanes: int) -> int:
    """Iterations of the innermost loop over lane tiles where the axis prescribes them; else 0."""
    group = ragged_group(part, lane, lanes)
    if group:
        return math.ceil(group / lanes)
    shared = interleaving(program, part, lane, lanes)
    if shared > 1:
        return math.ceil(math.ceil(_iterations(program, part.output.loop(lane)) / shared) / lanes)
    period = lane_period(part, lane, lanes)
    return period if period > 1 else 0


def _traffic(
    loops: tuple[int, int],
    tiles: int,
    shared: tuple[float, float],
    private: float,
    target: Target,
) -> float:
    """Cycles of cache traffic with so many iterations outside and inside of the lane-tile loop.

    `shared` is bytes of weights (all lanes) and of inputs that every lane tile reads; `private` is
    bytes of inputs of which each lane tile reads its own part.
    """
    weights, inputs = shared
    before, after = loops
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
