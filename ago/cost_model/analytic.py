"""The analytic model: cycles of a register tile and of the traffic of a loop order.

Read `TileProblem` and `tile_cycles` first. It needs no measurement: counts of instructions from the
loop nest, and the target's pipes, latencies, registers and caches. Its figures rank candidates;
they are not predictions of time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ago.target import Target

RowTail = Literal["shift", "balance"]
"""How rows are split into tiles that do not divide them: see `split`."""

MAX_UNROLLED = 192
"""Most multiply-accumulates in the straight-line code of a tile's inner loop."""

_OVERLAP = 0.03
"""Most work that overlapping tiles may repeat, as a share of all, before two sizes are made."""

_TILE_OVERHEAD = 12.0
"""Cycles to enter and leave a tile: pointers, loop control, the pipeline filling."""

_STORE_CYCLES = 2.0
"""Cycles a vector to initialise an accumulator, apply an epilogue and store it."""

_NEON_SCALARS = 5
"""Registers for factors that NEON loads one by one: compilers keep several of them in flight."""

_LOAD_EFFICIENCY = 0.8
"""Share of the load pipes that loads beside multiplies reach: they meet in the same banks."""

_LOAD_CYCLES = 0.1
"""Cycles of a load that other bounds hide: of two equal tiles the one with fewer loads wins."""

_WINDOW_ACCUMULATORS = 0.56
"""Largest share of the registers for accumulators beside a window: compilers load early."""

_LEAST_KEPT = 5
"""Vectors of a sliding window that are alive at once, at least, in straight-line code."""

_L2_BYTES_PER_CYCLE = 24.0
_L3_BYTES_PER_CYCLE = 10.0
_MEMORY_BYTES_PER_CYCLE = 5.0


@dataclass(frozen=True, slots=True)
class Operand:
    """One load of a reduction's expression.

    Attributes:
        along_rows: Whether its address changes with the row of the tile.
        along_lanes: Whether it is a vector along the vectorised axis, not one value for all lanes.
        along_reduction: Whether consecutive steps of the innermost reduce loop are neighbours in
            memory, so that one vector load feeds several steps of a lane-indexed multiply.
        row_step: How far the window moves, in taps, from one row to the next; 0 without a window.
        shared: Vectors of the tile that each of its loads feeds.
        picked: Whether several lanes each read the same element, so that a vector is permuted after
            it is loaded.
    """

    along_rows: bool
    along_lanes: bool
    along_reduction: bool = False
    row_step: int = 0
    shared: int = 1
    picked: bool = False


@dataclass(frozen=True, slots=True)
class TileProblem:
    """A reduction as the register tile sees it.

    Attributes:
        rows: Extent of the axis that is tiled by rows.
        vectors: Extent of the vectorised axis, in vectors.
        steps: Iterations of the whole reduction.
        repeats: How often the whole of rows x vectors is computed: the other spatial loops.
        operands: The loads of each step.
        window: Extent of the reduce loop that slides along the rows; 1 if there is none.
        window_axis: Its axis in the reduction, or an empty string.
        inner_steps: Iterations of the reduce loops inside the window's.
    """

    rows: int
    vectors: int
    steps: int
    repeats: int
    operands: tuple[Operand, ...]
    window: int = 1
    window_axis: str = ""
    inner_steps: int = 1

    @property
    def shares_vectors(self) -> bool:
        """Whether neighbouring rows load the same vectors: a window slides along the rows."""
        return self.window > 1 and any(
            operand.along_rows and operand.along_lanes and operand.row_step
            for operand in self.operands
        )


@dataclass(frozen=True, slots=True)
class Tile:
    """A register tile of `rows` x `vectors` accumulators."""

    rows: int
    vectors: int


def fits_registers(problem: TileProblem, tile: Tile, target: Target) -> bool:
    """Whether accumulators and operands of a tile stay in the register file."""
    accumulators = tile.rows * tile.vectors
    most = _WINDOW_ACCUMULATORS * target.vector_registers
    if problem.shares_vectors and accumulators > most:
        return False
    return registers_needed(problem, tile, target) <= target.vector_registers


def registers_needed(problem: TileProblem, tile: Tile, target: Target) -> int:
    """Vector registers that a tile's accumulators and operands take in a step.

    On NEON one register stays free: vectors of factors live through several steps.
    """
    needed = tile.rows * tile.vectors
    if problem.shares_vectors:
        return needed + _window_registers(problem, tile)
    for operand in problem.operands:
        if operand.along_lanes:
            needed += 1 if operand.along_rows else tile.vectors
        elif operand.along_rows and target.multiplies_by_lane:
            needed += tile.rows if operand.along_reduction else _NEON_SCALARS
        else:
            needed += 1
    return needed + (1 if target.multiplies_by_lane else 0)


def _window_registers(problem: TileProblem, tile: Tile) -> int:
    """Registers for the operands of a tile whose rows share the vectors of a sliding window.

    Either the window's weights stay while its inputs pass by, or the rows' inputs stay while the
    weights do: the fewer of them and the passing one, for each vector, and one for constants.
    Compilers begin some loads early, which small windows must leave room for.
    """
    kept = max(min(tile.rows, problem.window), _LEAST_KEPT)
    shared = max(operand.shared for operand in problem.operands)
    return tile.vectors // shared * (kept + 1) + 1


@dataclass(frozen=True, slots=True)
class TileTerms:
    """Why a register tile costs what it does; all figures are cycles.

    Attributes:
        multiply: Of the multiply-accumulates of one step, on the FMA pipes.
        load: Of its loads, on the load pipes.
        latency: Of one dependent multiply-accumulate, which a step cannot beat.
        issue: Of all its instructions, on all pipes together.
        stream: Of the weights that it fetches from beyond L1.
        hidden: Of its loads where another bound hides them.
        steps: How many steps a tile has.
        once: Entering and leaving a tile, and its epilogue.
        tiles: How many tiles there are.
    """

    multiply: float
    load: float
    latency: float
    issue: float
    stream: float
    hidden: float
    steps: int
    once: float
    tiles: float

    @property
    def total(self) -> float:
        """Cycles of the whole reduction."""
        step = max(self.multiply, self.load, self.latency, self.issue, self.stream)
        return self.tiles * (self.steps * (step + self.hidden) + self.once)

    def __str__(self) -> str:
        names = ("multiply", "load", "latency", "issue", "stream")
        bounds = ", ".join(f"{name} {getattr(self, name):.1f}" for name in names)
        a_tile = f"{self.steps} steps of max({bounds}) + {self.hidden:.1f}, {self.once:.0f} once"
        return f"{self.total:.3g} cycles: {self.tiles:.4g} tiles of {a_tile}"


def tile_cycles(problem: TileProblem, tile: Tile, target: Target) -> float:
    """Cycles of the whole reduction with a given register tile, data in L1.

    Args:
        problem: The reduction.
        tile: Accumulators; along the rows the last tile may overlap and repeat work.
        target: Pipes, latency, lanes.

    Returns:
        Cycles, for ranking.
    """
    return tile_terms(problem, tile, target).total


def tile_terms(
    problem: TileProblem, tile: Tile, target: Target, tail: RowTail | None = None
) -> TileTerms:
    """The terms of `tile_cycles`, which see for the arguments; `tail` is by default `row_tail`."""
    if folds_loads(problem, target):
        return _folded_terms(problem, tile, target, tail)
    multiplies = tile.rows * tile.vectors
    loads = tile_loads(problem, tile, target)
    tiles = row_tiles(problem, tile, tail) * problem.vectors / tile.vectors
    return TileTerms(
        multiply=multiplies / target.fma_pipes,
        load=loads / (target.load_pipes * _LOAD_EFFICIENCY),
        latency=0.0 if problem.shares_vectors else float(target.fma_latency),
        issue=(multiplies + loads) / (target.fma_pipes + target.load_pipes),
        stream=_streamed_bytes(problem, tile, target) / _L2_BYTES_PER_CYCLE,
        hidden=_LOAD_CYCLES * loads,
        steps=problem.steps,
        once=_TILE_OVERHEAD + _STORE_CYCLES * multiplies,
        tiles=problem.repeats * tiles,
    )


def tile_loads(problem: TileProblem, tile: Tile, target: Target) -> float:
    """Load instructions of one step of a tile; those whose lanes are then picked count twice.

    Args:
        problem: The reduction.
        tile: Its rows and vectors share what they load.
        target: Lanes and registers.
    """
    return sum(
        _loads(problem, operand, tile, target) * (2 if operand.picked else 1)
        for operand in problem.operands
    )


def folds_loads(problem: TileProblem, target: Target) -> bool:
    """Whether each load of a sliding window is an operand in memory of its instruction.

    So it is where the window alone is reduced, as in pooling, and instructions read memory.
    """
    return len(problem.operands) == 1 and problem.shares_vectors and not target.multiplies_by_lane


def _folded_terms(
    problem: TileProblem, tile: Tile, target: Target, tail: RowTail | None
) -> TileTerms:
    """The terms of a tile whose loads fold into its arithmetic.

    Rows that share a vector save nothing: it takes a load of its own. Tiles of so little code
    overlap, so that entering one costs nothing. So small tiles are as fast as large ones, and they
    read fewer places of memory at once.
    """
    steps = tile.rows * tile.vectors
    shared = (tile.rows - 1) * tile.vectors
    return TileTerms(
        multiply=steps / target.fma_pipes,
        load=steps / target.load_pipes,
        latency=0.0,
        issue=(steps + shared) / (target.fma_pipes + target.load_pipes),
        stream=0.0,
        hidden=_LOAD_CYCLES * shared,
        steps=problem.steps,
        once=_STORE_CYCLES * steps,
        tiles=problem.repeats * row_tiles(problem, tile, tail) * problem.vectors / tile.vectors,
    )


def keeps_window(problem: TileProblem, tile: Tile, taken: int, target: Target) -> bool:
    """Whether the factors of a whole window stay in registers when its loop is unrolled.

    They do where a vector load fetches several of them and FMA takes one lane: neighbouring rows
    then share vectors of factors.

    Args:
        problem: The reduction.
        tile: Accumulators.
        taken: Steps inside the window's loop that are unrolled already, neighbours in memory.
        target: Registers and lanes.
    """
    if not target.multiplies_by_lane:
        return False
    needed = tile.rows * tile.vectors + tile.vectors + _window_vectors(problem, tile, taken, target)
    return needed < target.vector_registers


def _window_vectors(problem: TileProblem, tile: Tile, taken: int, target: Target) -> int:
    """Vectors that hold all factors of a tile's window."""
    step = max(operand.row_step for operand in problem.operands)
    return math.ceil(((tile.rows - 1) * step + problem.window) * taken / target.lanes)


def row_tail(problem: TileProblem, tile: Tile) -> RowTail:
    """How to split the rows into tiles: overlapping costs work, two tile sizes cost code.

    Args:
        problem: The reduction.
        tile: Its rows are the larger size.
    """
    extra = math.ceil(problem.rows / tile.rows) * tile.rows - problem.rows
    return "balance" if extra > _OVERLAP * problem.rows else "shift"


def row_tiles(problem: TileProblem, tile: Tile, tail: RowTail | None = None) -> float:
    """Tiles along the rows; balanced ones, of which some are smaller, count by their work."""
    count = math.ceil(problem.rows / tile.rows)
    if (tail or row_tail(problem, tile)) == "shift":
        return float(count)
    return problem.rows / tile.rows


def _loads(problem: TileProblem, operand: Operand, tile: Tile, target: Target) -> float:
    """Load instructions of one operand in one step of a tile."""
    lanes = math.ceil(tile.vectors / operand.shared) if operand.along_lanes else 1
    if not operand.along_rows:
        return float(lanes)
    if operand.row_step and operand.along_lanes and problem.window > 1:
        distinct = (tile.rows - 1) * operand.row_step + problem.window
        return lanes * min(1.0, distinct / (tile.rows * problem.window)) * tile.rows
    if operand.along_reduction and target.multiplies_by_lane:
        return lanes * tile.rows / target.lanes
    unrolled = problem.window * problem.inner_steps
    short = unrolled * tile.rows * tile.vectors <= MAX_UNROLLED
    if short and operand.row_step and keeps_window(problem, tile, problem.inner_steps, target):
        return _window_vectors(problem, tile, problem.inner_steps, target) / unrolled
    return float(lanes * tile.rows)


def _streamed_bytes(problem: TileProblem, tile: Tile, target: Target) -> float:
    """Bytes of weights that each step fetches from beyond L1: all of them where a block is large.

    A block is what one tile reads: it is read again by each tile of rows.
    """
    width = 4 * target.lanes * tile.vectors
    shared = sum(operand.along_lanes and not operand.along_rows for operand in problem.operands)
    block = problem.steps * width * shared
    return float(width * shared) if block > target.l1_bytes / 2 else 0.0


@lru_cache(maxsize=256)
def candidate_tiles(
    problem: TileProblem, target: Target, vector_choices: tuple[int, ...]
) -> tuple[Tile, ...]:
    """Register tiles that fit, cheapest first.

    Args:
        problem: The reduction.
        target: The CPU.
        vector_choices: Allowed tile widths, in vectors.

    Returns:
        At least one tile; ties go to the larger, then wider one.
    """
    rows = {math.ceil(problem.rows / count) for count in range(1, problem.rows + 1)}
    tiles = [
        Tile(r, v)
        for r in sorted(rows)
        for v in vector_choices
        if fits_registers(problem, Tile(r, v), target) and r * v <= MAX_UNROLLED
    ] or [Tile(1, min(vector_choices))]
    tiles.sort(key=lambda t: (tile_cycles(problem, t, target), -t.rows * t.vectors, -t.vectors))
    return tuple(tiles)


def stream_cycles(target: Target, streamed: float, working_set: float) -> float:
    """Cycles to stream bytes again and again from a working set, by the cache that holds it.

    Args:
        target: Cache sizes.
        streamed: Bytes that are read in all.
        working_set: Bytes that are touched between two reads of the same byte.

    Returns:
        Cycles beyond what L1 costs.
    """
    if working_set <= 0.75 * target.l1_bytes:
        return 0.0
    if working_set <= 0.75 * target.l2_bytes:
        return streamed / _L2_BYTES_PER_CYCLE
    if working_set <= 0.75 * target.l3_bytes:
        return streamed / _L3_BYTES_PER_CYCLE
    return streamed / _MEMORY_BYTES_PER_CYCLE
