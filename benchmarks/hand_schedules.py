"""Schedules written by hand, beside the default ones: what a person can still gain.

Read `HAND_MADE` first: each entry makes a naive program and schedules it primitive by primitive.
A ratio above 1 says that the schedule made by hand is faster.

    python -m benchmarks.hand_schedules
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import click

from ago.autoschedule import schedule_program
from ago.backends import INTRINSICS
from ago.codegen.emit import emit_function
from ago.ir import define
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.schedule.annotate import unroll, vectorize
from ago.schedule.cache_write import cache_write
from ago.schedule.compute_at import compute_at
from ago.schedule.pack import pack
from ago.schedule.reorder import reorder
from ago.schedule.split import split
from ago.schedule.store_at import store_at
from ago.schedule.trace import Schedule
from ago.target import Target, resolve_target
from ago.tune import Candidate, measure_candidates
from benchmarks.tables import markdown_table, pin

_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Tiling:
    """A register tile.

    Attributes:
        rows: Along one axis of the output.
        vectors: Along the vectorised axis.
        unrolled: Steps of the innermost reduce loop in straight-line code.
    """

    rows: int
    vectors: int
    unrolled: int = 1


def tile(
    schedule: Schedule, output: str, reduction: str, axes: tuple[str, str], how: Tiling, lanes: int
) -> None:
    """Tile an output over two of its axes, and accumulate a reduction in registers at the tile.

    Args:
        schedule: The loops of both stages are whole.
        output: Name of the stage that writes the result.
        reduction: Name of the stage that it reads; its axes have the same names.
        axes: The axis tiled by rows, and the vectorised one.
        how: The tile.
        lanes: Elements of a vector.
    """
    row, lane = (f"{output}.{axis}" for axis in axes)
    outer = [f"{output}.{a.name}" for a in schedule.program.stage(output).axes]
    outer = [loop for loop in outer if loop not in (row, lane)]
    schedule.apply(split, row, how.rows, "shift")
    schedule.apply(split, lane, lanes)
    schedule.apply(split, f"{lane}.0", how.vectors, "shift")
    inner = [f"{row}.1", f"{lane}.0.1", f"{lane}.1"]
    schedule.apply(reorder, [f"{lane}.0.0", *outer, f"{row}.0", *inner])
    home = f"{row}.0"
    schedule.apply(compute_at, reduction, home)
    schedule.apply(store_at, schedule.program.stage(reduction).buffer, home, "register")
    own_row, own_lane = (f"{reduction}.{axis}" for axis in axes)
    steps = [f"{reduction}.{a.name}" for a in schedule.program.stage(reduction).axes]
    others = [f"{reduction}.{a}" for a in (loop.split(".")[-1] for loop in outer)]
    steps = [loop for loop in steps if loop not in (own_row, own_lane, *others)]
    unrolled: list[str] = []
    if how.unrolled > 1:
        schedule.apply(split, steps[-1], how.unrolled)
        unrolled = [f"{steps[-1]}.1"]
        steps[-1] = f"{steps[-1]}.0"
    schedule.apply(split, own_lane, lanes)
    tile_loops = [own_row, f"{own_lane}.0", f"{own_lane}.1"]
    schedule.apply(reorder, [*others, *steps, *unrolled, *tile_loops])
    for loop in (*unrolled, *inner[:-1], *tile_loops[:-1]):
        schedule.apply(unroll, loop)
    for loop in (inner[-1], tile_loops[-1]):
        schedule.apply(vectorize, loop)


def matmul(lanes: int, m: int = 196, n: int = 256, k: int = 128) -> Schedule:
    """`C = A @ B`, B packed in panels."""
    text, shapes = "C[i, j] += A[i, k] * B[k, j]", {"A": (m, k), "B": (k, n)}
    schedule = Schedule(define(text, shapes, constants=["B"], name="matmul"))
    schedule.apply(cache_write, "C")
    tile(schedule, "C_out", "C", ("i", "j"), _wide(lanes), lanes)
    schedule.apply(pack, "B", ("C_out.j.0.0", "C.k.0", "C.k.1", "C.j.0", "C.j.1"))
    return schedule


def pointwise(lanes: int, size: int = 28, channels: int = 192, filters: int = 64) -> Schedule:
    """A pointwise convolution with a clamp, its pixels one axis."""
    schedule = Schedule(
        define(
            "C[p, o] += X[p, c] * W[c, o]; R[p, o] = max(0, C[p, o])",
            {"X": (size * size, channels), "W": (channels, filters)},
            constants=["W"],
            name="pointwise",
        )
    )
    tile(schedule, "R", "C", ("p", "o"), _wide(lanes), lanes)
    schedule.apply(pack, "W", ("R.o.0.0", "C.c.0", "C.c.1", "C.o.0", "C.o.1"))
    return schedule


def convolution(lanes: int, size: int = 28, channels: int = 64, filters: int = 64) -> Schedule:
    """A 3x3 convolution without padding."""
    schedule = Schedule(
        define(
            "C[y, x, o] += X[y + ky, x + kx, c] * W[ky, kx, c, o]; R[y, x, o] = max(0, C[y, x, o])",
            {"X": (size + 2, size + 2, channels), "W": (3, 3, channels, filters)},
            constants=["W"],
            name="conv3x3",
        )
    )
    tile(schedule, "R", "C", ("x", "o"), _wide(lanes), lanes)
    schedule.apply(pack, "W", ("R.o.0.0", "C.ky", "C.kx", "C.c.0", "C.c.1", "C.o.0", "C.o.1"))
    return schedule


def depthwise(lanes: int, size: int = 56, channels: int = 144) -> Schedule:
    """A depthwise 3x3 convolution, its window unrolled, rows of the tile sharing loads."""
    schedule = Schedule(
        define(
            "C[y, x, c] += X[y + ky, x + kx, c] * W[ky, kx, c]; R[y, x, c] = max(0, C[y, x, c])",
            {"X": (size + 2, size + 2, channels), "W": (3, 3, channels)},
            constants=["W"],
            name="depthwise",
        )
    )
    schedule.apply(split, "R.x", 7, "shift")
    schedule.apply(split, "R.c", lanes)
    schedule.apply(reorder, ["R.y", "R.x.0", "R.c.0", "R.x.1", "R.c.1"])
    schedule.apply(compute_at, "C", "R.c.0")
    schedule.apply(store_at, "C", "R.c.0", "register")
    schedule.apply(reorder, ["C.y", "C.ky", "C.x", "C.kx", "C.c"])
    for loop in ("R.x.1", "C.ky", "C.kx", "C.x"):
        schedule.apply(unroll, loop)
    for loop in ("R.c.1", "C.c"):
        schedule.apply(vectorize, loop)
    schedule.apply(pack, "W", ("R.c.0", "C.ky", "C.kx", "C.c"))
    return schedule


def attention(lanes: int, queries: int = 128, keys: int = 128, depth: int = 32) -> Schedule:
    """Scores, softmax and weighted sum: queries in the lanes, a block of them in one nest."""
    schedule = Schedule(
        define(
            "S[t, q] += K[t, d] * Q[d, q]; M[q] max= S[t, q]; E[t, q] = exp(S[t, q] - M[q]);"
            "Z[q] += E[t, q]; O[e, q] += V[t, e] * E[t, q]; R[e, q] = O[e, q] / Z[q]",
            {"K": (keys, depth), "Q": (depth, queries), "V": (keys, depth)},
            name="attention",
        )
    )
    vectors = 2
    schedule.apply(split, "R.q", lanes * vectors)
    schedule.apply(split, "R.q.1", lanes)
    schedule.apply(split, "R.e", 4)
    schedule.apply(reorder, ["R.q.0", "R.e.0", "R.e.1", "R.q.1.0", "R.q.1.1"])
    schedule.apply(compute_at, "O", "R.e.0")
    schedule.apply(store_at, "O", "R.e.0", "register")
    schedule.apply(split, "O.q", lanes)
    schedule.apply(reorder, ["O.t", "O.e", "O.q.0", "O.q.1"])
    for stage in ("Z", "E", "M", "S"):
        schedule.apply(compute_at, stage, "R.q.0")
    for stage in ("Z", "E", "M", "S"):
        schedule.apply(split, f"{stage}.q", lanes)
    schedule.apply(split, "S.t", 4)
    schedule.apply(reorder, ["S.t.0", "S.d", "S.t.1", "S.q.0", "S.q.1"])
    for stage in ("Z", "M"):
        schedule.apply(reorder, [f"{stage}.t", f"{stage}.q.0", f"{stage}.q.1"])
    for stage in ("S", "E"):
        schedule.apply(store_at, stage, "R.q.0", "workspace")
    for stage in ("M", "Z"):
        schedule.apply(store_at, stage, "R.q.0", "stack")
    for loop in ("R.e.1", "R.q.1.0", "O.e", "O.q.0", "S.t.1", "S.q.0", "M.q.0", "Z.q.0", "E.q.0"):
        schedule.apply(unroll, loop)
    for loop in ("R.q.1.1", "O.q.1", "S.q.1", "M.q.1", "Z.q.1", "E.q.1"):
        schedule.apply(vectorize, loop)
    return schedule


def _wide(lanes: int) -> Tiling:
    """The tile for rows read one value at a time: 6 x 2 of 16 registers, 7 x 3 of 32."""
    return Tiling(6, 2, 4) if lanes == 8 else Tiling(7, 2, 4)


HAND_MADE: Mapping[str, Callable[[int], Schedule]] = {
    "matmul": matmul,
    "pointwise": pointwise,
    "conv3x3": convolution,
    "depthwise": depthwise,
    "attention": attention,
}
"""Each makes a schedule for vectors of so many lanes."""


def ratios(programs: Sequence[Program], target: Target) -> list[float]:
    """Speed of the first program over each of the others', the median of several rounds."""
    table = INTRINSICS[target.isa]
    candidates = [Candidate(p, emit_function(p, target, table)) for p in programs]
    found: list[list[float]] = []
    for _ in range(_ROUNDS):
        first, *others = measure_candidates(candidates, target, table)
        found.append([other / first for other in others])
    return [statistics.median(column) for column in zip(*found, strict=True)]


@click.command()
@click.option("--core", default=1, help="The CPU to run on.")
def main(core: int) -> None:
    """Compare every schedule made by hand with the default one."""
    pin(core)
    target = resolve_target("host")
    rows = []
    for name, make in HAND_MADE.items():
        schedule = make(target.lanes)
        verify(schedule.program)
        naive = schedule.naive
        default = schedule_program(naive, target)
        (ratio,) = ratios([schedule.program, default.program], target)
        decisions = ", ".join(f"{key} = {value}" for key, value in default.trace.decisions)
        rows.append([name, f"{ratio:.2f}", decisions])
    click.echo(markdown_table(("kernel", "hand-made over default", "default's decisions"), rows))


if __name__ == "__main__":
    main()
