"""The least time of a kernel on a measured machine, and what it is bound by.

Read `Bound` first. Nothing depends on the schedule: the arithmetic of its reductions, the vectors
that the best register tile must load for it from L1, its bytes from the level that holds them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ago.autoschedule import sketch_program
from ago.autoschedule.tiles import TileReason, as_tile
from ago.cost_model.analytic import tile_loads
from ago.ir.program import Program
from ago.ir.work import Work, multiplies, stage_flop
from ago.schedule.chooser import Decision, DefaultChooser, Domain
from ago.target import Target
from ago.tune.machine import Machine

_FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Bound:
    """A resource of the machine, and how long a kernel needs it.

    Attributes:
        by: `arithmetic`, `loads` (from L1) or the level of memory that its data come from.
        seconds: The least time.
    """

    by: str
    seconds: float


def bound_of(program: Program, machine: Machine) -> Bound:
    """What a kernel is bound by: of all resources the one that it needs longest.

    Args:
        program: The kernel, naive.
        machine: This machine, measured.
    """
    work = Work.of(program)
    level = machine.level_of(work.read_bytes + work.written_bytes)
    loaded = _FLOAT_BYTES * machine.host.lanes * least_loads(program, machine.host)
    bounds = (
        Bound("arithmetic", _arithmetic_seconds(program, machine)),
        Bound("loads", loaded / machine.levels[0].read),
        Bound(level.name, level.seconds(work.read_bytes, work.written_bytes)),
    )
    return max(bounds, key=lambda bound: bound.seconds)


def _arithmetic_seconds(program: Program, machine: Machine) -> float:
    """A multiply-add counts for two operations; any other instruction does one of them."""
    return sum(
        stage_flop(stage) / (machine.peak if multiplies(stage) else machine.peak / 2)
        for stage in program.stages
    )


def least_loads(program: Program, target: Target) -> float:
    """Vectors that the reductions of a program load, by the tile of each that loads the fewest.

    Args:
        program: A naive program.
        target: Whose registers hold the tiles.
    """
    asked = _Asked()
    sketch_program(program, target, asked, intensive_fusion=False)
    return sum(map(_least_loads, asked.tiles))


def _least_loads(domain: Domain) -> float:
    reason = domain.explain
    assert isinstance(reason, TileReason)
    problem = reason.problem
    points = problem.rows * problem.vectors * problem.repeats * problem.steps
    return points * min(
        tile_loads(problem, tile, reason.target) / (tile.rows * tile.vectors)
        for tile in map(as_tile, domain.candidates)
    )


@dataclass(slots=True)
class _Asked(DefaultChooser):
    """Takes the favourites, and keeps the choices between register tiles."""

    tiles: list[Domain] = field(default_factory=list)

    def choose(self, key: str, candidates: Sequence[Decision]) -> Decision:
        """The favourite."""
        if isinstance(candidates, Domain) and isinstance(candidates.explain, TileReason):
            self.tiles.append(candidates)
        return super(_Asked, self).choose(key, candidates)
