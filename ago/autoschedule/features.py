"""Features of decisions, without the programs they would become.

Read `PlanTable` first. A sketch asks of each piece for a register tile and an order; what they cost
depends on sizes alone. So all of it is worked out once for each fusion plan, as tables over those
decisions, and the features of many candidates are gathered from the tables.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ago.autoschedule.order import Order, OrderProblem, OrderReason
from ago.autoschedule.tiles import TileReason, as_tail, as_tile
from ago.cost_model.analytic import Tile, TileProblem, registers_needed, stream_cycles, tile_terms
from ago.cost_model.features import COLUMN, COLUMNS, PIECE, SLOTS, WHOLE, Features
from ago.fuse.rank import RankedPlan
from ago.schedule.chooser import Decision
from ago.schedule.decisions import Choice, group_of
from ago.target import Target

Decisions = Mapping[str, Decision]

_EXPOSED = 0.25
"""Share of the cycles of traffic that arithmetic and prefetching leave to be seen."""


@dataclass(frozen=True, slots=True)
class Work:
    """How much a piece does, whatever its schedule.

    Attributes:
        steps: Innermost iterations.
        nbytes: Of all it reads and writes, each byte once.
        passed: Bytes of its result, if another piece of the program reads it; else 0.
        reduces: Whether it holds a reduction, whose tiles are decided on.
    """

    steps: int
    nbytes: int
    passed: int
    reduces: bool


@dataclass(frozen=True, slots=True)
class _Part:
    """Some features of a piece, by two of its decisions.

    Attributes:
        keys: The decisions' keys; one that is never asked has one value.
        codes: Place of each value along each axis of the table.
        values: (values of the first, values of the second, len(PIECE)); zero in other columns.
    """

    keys: tuple[str, str]
    codes: tuple[Mapping[Decision, int], Mapping[Decision, int]]
    values: Features

    def gather(self, candidates: Sequence[Decisions]) -> Features:
        """(n, len(PIECE))."""
        first, second = (
            np.fromiter((codes[c.get(key, 0)] for c in candidates), np.intp, len(candidates))
            for key, codes in zip(self.keys, self.codes, strict=True)
        )
        return self.values[first, second]


@dataclass(frozen=True, slots=True)
class _PieceTable:
    """The features of a piece: the sum of its parts.

    Attributes:
        parts: Each by other decisions.
        peak: Cycles of its arithmetic at the peak.
    """

    parts: tuple[_Part, ...]
    peak: float

    def gather(self, candidates: Sequence[Decisions]) -> Features:
        """(n, len(PIECE))."""
        total = self.parts[0].gather(candidates)
        for part in self.parts[1:]:
            total += part.gather(candidates)
        return total


class PlanTable:
    """The features of all candidates of one fusion plan.

    Args:
        choices: What a sketch asked with this plan, with the models behind the questions.
        plan: The plan.
        work: Of each piece of the program, by the stage that writes its result.
        target: The CPU.

    Attributes:
        peak_cycles: Of the whole arithmetic at the peak.
    """

    def __init__(
        self,
        choices: Sequence[Choice],
        plan: RankedPlan,
        work: Mapping[str, Work],
        target: Target,
    ) -> None:
        recompute = {k: float(f) for c in plan.choices for k, f in c.recompute.items()}
        by_key = {choice.key: choice for choice in choices}
        reductions = [name for name in work if work[name].reduces]
        heaviest = sorted(reductions, key=lambda name: -work[name].steps)
        total = max(sum(w.steps for w in work.values()), 1)
        self._pieces = {
            slot: _piece_table(by_key, name, (work[name], total), recompute.get(name, 1.0))
            for slot, name in enumerate(heaviest)
            if f"{name}/tile" in by_key
        }
        self.peak_cycles = total / (target.lanes * target.fma_pipes)
        self._base = _whole(plan, work, target, self.peak_cycles)

    def rows(self, candidates: Sequence[Decisions]) -> Features:
        """The features of candidates that have all decisions of the plan.

        Args:
            candidates: Values by key.

        Returns:
            (n, len(COLUMNS)).
        """
        result = np.zeros((len(candidates), len(COLUMNS)), np.float32)
        result[:, : len(WHOLE)] = self._base
        tiles = np.zeros(len(candidates))
        traffic = np.zeros(len(candidates))
        for slot, piece in self._pieces.items():
            found = piece.gather(candidates)
            tiles += piece.peak * found[:, PIECE.index("tile_cycles")]
            traffic += piece.peak * found[:, PIECE.index("traffic_cycles")]
            if slot < SLOTS:
                start = len(WHOLE) + slot * len(PIECE)
                result[:, start : start + len(PIECE)] = found
        result[:, COLUMN["tile_cycles"]] = tiles / self.peak_cycles
        result[:, COLUMN["traffic_cycles"]] = traffic / self.peak_cycles
        memory = result[:, COLUMN["between"]] + _EXPOSED * result[:, COLUMN["traffic_cycles"]]
        memory -= result[:, COLUMN["gain_traffic"]] + result[:, COLUMN["gain_weights"]]
        result[:, COLUMN["memory_cycles"]] = np.maximum(memory, 0.0)
        total = result[:, COLUMN["tile_cycles"]] + result[:, COLUMN["memory_cycles"]]
        total -= result[:, COLUMN["gain_rows"]]
        result[:, COLUMN["cycles"]] = np.log2(np.maximum(total, 0.05))
        return result


def _whole(
    plan: RankedPlan, work: Mapping[str, Work], target: Target, peak: float
) -> npt.NDArray[np.float32]:
    """The columns of the whole candidate that depend on the plan alone."""
    gains = [choice.gain for choice in plan.choices]
    working = max((g.working_set for g in gains), default=0)
    nbytes = sum(w.nbytes for w in work.values())
    recompute = [float(f) for c in plan.choices for f in c.recompute.values()]
    between = sum(stream_cycles(target, 3.0 * w.passed, w.passed) for w in work.values())
    values = {
        "between": _EXPOSED * between / peak,
        "gain_traffic": sum(g.traffic for g in gains) / peak,
        "gain_weights": sum(g.weights for g in gains) / peak,
        "gain_tiles": sum(g.tiles for g in gains) / peak,
        "gain_rows": sum(g.rows for g in gains) / peak,
        "gain_recompute": sum(g.recompute for g in gains) / peak,
        "saved_bytes": sum(g.saved_bytes for g in gains) / max(nbytes, 1),
        "working_l1": _log(working / target.l1_bytes),
        "working_l2": _log(working / target.l2_bytes),
        "recompute": max(recompute, default=1.0),
        "nests": len(plan.choices),
        "fused": sum(len(c.pieces) for c in plan.choices),
        "log_block": sum(_log(c.nest.block) for c in plan.choices),
        "pieces": len(work),
        "reductions": sum(w.reduces for w in work.values()),
        "log_work": _log(sum(w.steps for w in work.values())),
        "intensity": _log(sum(w.steps for w in work.values()) / max(nbytes, 1)),
        "lanes": target.lanes,
    }
    return np.array([values.get(name, 0.0) for name in WHOLE], np.float32)


def _piece_table(
    choices: Mapping[str, Choice], name: str, work: tuple[Work, int], recompute: float
) -> _PieceTable:
    tile, order = choices[f"{name}/tile"], choices[f"{name}/order"]
    reason, why = tile.domain.explain, order.domain.explain
    assert isinstance(reason, TileReason)
    assert isinstance(why, OrderReason)
    own, total = work
    peak = own.steps / (reason.lanes * reason.target.fma_pipes)
    tiles = tuple(as_tile(value) for value in tile.domain)
    tails = choices.get(f"{name}/tail")
    unroll = choices[f"{name}/unroll"]
    names = tuple(t for t in tails.domain) if tails else (0,)
    registers = _tile_table(reason, tiles, names).copy()
    registers[..., PIECE.index("share")] = own.steps / total
    registers[..., PIECE.index("log_work")] = _log(own.steps)
    registers[..., PIECE.index("intensity")] = _log(own.steps / max(own.nbytes, 1))
    registers[..., PIECE.index("recompute")] = recompute
    registers[..., PIECE.index("tile_cycles")] *= recompute
    orders = tuple(Order.of(value) for value in order.domain)
    caches = _order_table(why.problem, reason.target, tiles, orders).copy()
    caches[..., PIECE.index("traffic_cycles")] /= peak
    straight = _unroll_table(reason.problem, tiles, tuple(unroll.domain))
    codes = _codes(tile.domain)
    others = [_codes(values) for values in (names, order.domain, unroll.domain)]
    keys = [f"{name}/{what}" for what in ("tail", "order", "unroll")]
    return _PieceTable(
        tuple(
            _Part((tile.key, key), (codes, other), values)
            for key, other, values in zip(keys, others, (registers, caches, straight), strict=True)
        ),
        peak,
    )


def _codes(values: Sequence[Decision]) -> dict[Decision, int]:
    return {value: n for n, value in enumerate(values)}


def _table(rows: Sequence[Sequence[Mapping[str, float]]]) -> Features:
    """Named features of a grid of decisions as an array, zeros where there is none."""
    return np.array(
        [[[found.get(name, 0.0) for name in PIECE] for found in row] for row in rows], np.float32
    )


@functools.lru_cache(maxsize=256)
def _tile_table(
    reason: TileReason, tiles: tuple[Tile, ...], tails: tuple[Decision, ...]
) -> Features:
    return _table([[_tile_features(reason, tile, tail) for tail in tails] for tile in tiles])


@functools.lru_cache(maxsize=256)
def _order_table(
    problem: OrderProblem, target: Target, tiles: tuple[Tile, ...], orders: tuple[Order, ...]
) -> Features:
    return _table([[_order_features(problem, t, o, target) for o in orders] for t in tiles])


@functools.lru_cache(maxsize=256)
def _unroll_table(
    problem: TileProblem, tiles: tuple[Tile, ...], budgets: tuple[Decision, ...]
) -> Features:
    return _table([[_unroll_features(problem, t, b) for b in budgets] for t in tiles])


def _tile_features(reason: TileReason, tile: Tile, tail: Decision) -> dict[str, float]:
    """What a register tile does, whatever the loops around it."""
    problem, target = reason.problem, reason.target
    terms = tile_terms(problem, tile, target, None if tail == 0 else as_tail(tail))
    multiplies = tile.rows * tile.vectors
    step = max(terms.multiply, terms.load, terms.latency, terms.issue, terms.stream)
    needed = problem.rows * problem.vectors * problem.steps * problem.repeats
    return {
        "present": 1.0,
        "rows": tile.rows,
        "vectors": tile.vectors,
        "accumulators": multiplies,
        "registers": registers_needed(problem, tile, target) / target.vector_registers,
        "multiply": terms.multiply / multiplies,
        "load": terms.load / multiplies,
        "latency": terms.latency / multiplies,
        "issue": terms.issue / multiplies,
        "stream": terms.stream / multiplies,
        "once": terms.once / (multiplies * terms.steps),
        "bound": terms.multiply / step,
        "waste": terms.tiles * multiplies * problem.steps / max(needed, 1),
        "sizes": float(tail == "balance" and problem.rows % tile.rows != 0),
        "log_tiles": _log(terms.tiles),
        "log_steps": _log(terms.steps),
        "window": problem.window * (1 if problem.shares_vectors else -1),
        "tile_cycles": terms.total * target.fma_pipes / max(needed, 1),
    }


def _order_features(
    problem: OrderProblem, tile: Tile, order: Order, target: Target
) -> dict[str, float]:
    """What the caches see of an order."""
    extents, tiles = problem.loops(tile)
    before, after = problem.split(tile, order)
    weights, inputs = problem.shared
    block = weights / tiles * (order.depth / problem.steps if order.depth else 1.0)
    part = (inputs + problem.private / tiles) / before
    return {
        "order": order.place / max(len(extents), 1),
        "row_block": order.rows,
        "log_before": _log(before),
        "log_after": _log(after),
        "block_l1": _log(block / target.l1_bytes),
        "block_l2": _log(block / target.l2_bytes),
        "inputs_l1": _log(part / target.l1_bytes),
        "weights_l2": _log(weights / target.l2_bytes),
        "traffic_cycles": problem.visits * problem.traffic(tile, order, target),
    }


def _unroll_features(problem: TileProblem, tile: Tile, budget: Decision) -> dict[str, float]:
    """How much code the inner loop is."""
    assert isinstance(budget, int)
    room = max(budget // (tile.rows * tile.vectors), 1)
    return {
        "unrolled": _log(min(room, problem.steps)),
        "straight": _log(min(room, problem.steps) * tile.rows * tile.vectors),
        "whole_window": float(room >= problem.window * problem.inner_steps),
    }


def _log(value: float) -> float:
    """Binary logarithm; that of nothing is far below all others."""
    return math.log2(value) if value > 2.0**-20 else -20.0


def groups_of(keys: Sequence[str]) -> list[str]:
    """The groups of keys, each once, in order."""
    return list(dict.fromkeys(group_of(key) for key in keys))
