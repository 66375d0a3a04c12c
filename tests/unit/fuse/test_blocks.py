"""Blocks inside a nest: rings cut by channels, one block's part at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ago.autoschedule import sketch_program
from ago.fuse import FusionPlan, Nest, Placement, Ranking, fuse, rank_plans
from ago.fuse.pieces import find_pieces
from ago.fuse.plan import Blocks
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.schedule.trace import Schedule
from ago.target import TARGETS, Target
from tests.support.fused import (
    AVX2,
    Choose,
    inverted_residual,
    keeps_outputs,
    program_of,
)

RESIDUAL = program_of(inverted_residual())
"""`pad` (24 channels, padded), `clip1` (depthwise), `add` (project and residual)."""

SMALL = replace(AVX2, l1_bytes=8192)
"""A cache that a ring of all channels does not fit, but some of them do."""


def by_rows(blocks: Blocks, block: int = 1, ring: int | None = None) -> FusionPlan:
    rows = block + 2 if ring is None else ring
    rings = Placement("pad", rows), Placement("clip1", block)
    return FusionPlan((Nest(rings, "add", "y", block, blocks),))


@pytest.mark.parametrize(("block", "size"), [(1, 8), (2, 12), (3, 4), (4, 1)])
def test_each_block_has_its_own_part_of_the_ring(block: int, size: int) -> None:
    fused = fuse(RESIDUAL, by_rows(Blocks(("pad",), "clip1", "c", size), block)).program
    verify(fused)
    assert len(fused.body) == 1
    assert fused.buffer("pad").shape == (24 // size, 1, block + 2, 14, size)
    keeps_outputs(RESIDUAL, fused)


def test_without_a_ring_a_block_keeps_its_own_channels() -> None:
    fused = fuse(RESIDUAL, by_rows(Blocks(("pad",), "clip1", "c", 8), ring=0)).program
    assert fused.buffer("pad").shape == (1, 3, 14, 8)
    keeps_outputs(RESIDUAL, fused)


def test_blocks_of_the_last_stage() -> None:
    nest = Nest((Placement("pad", 3),), "clip1", "y", blocks=Blocks(("pad",), "clip1", "c", 8))
    fused = fuse(RESIDUAL, FusionPlan((nest,))).program
    assert fused.buffer("pad").shape == (3, 1, 3, 14, 8)
    keeps_outputs(RESIDUAL, fused)


@pytest.mark.parametrize("target", [SMALL, replace(TARGETS["cortex-a76"], l1_bytes=8192)])
def test_offered_blocks_are_scheduled(target: Target) -> None:
    program = program_of(inverted_residual(2, size=16, middle=48))
    plans = _ranked(program, target).plans
    found = [plan for plan in plans if any(n.blocks for n in plan.plan.nests)]
    assert {n.blocks.reader for plan in found for n in plan.plan.nests if n.blocks} == {"clip1"}
    for plan in found:
        made = sketch_program(program, target, Choose(lambda plans, plan=plan: str(plan.plan)))
        assert made.fusion.taken.plan == plan.plan
        keeps_outputs(program, made.schedule.program)


def test_register_tiles_divide_a_block() -> None:
    program = program_of(inverted_residual(size=16, middle=48))
    plan = next(
        str(plan.plan)
        for plan in _ranked(program, SMALL).plans
        if any(n.blocks and n.blocks.size == 24 for n in plan.plan.nests)
    )
    choices = sketch_program(program, SMALL, Choose(lambda plans: plan)).schedule.choices
    tiles = {choice.key: choice.domain.candidates for choice in choices}
    for stage in ("pad", "clip1"):
        assert {vectors for _, vectors in tiles[f"{stage}/tile"]} <= {1, 3}


def test_what_is_in_l1_already_is_not_cut() -> None:
    plans = _ranked(RESIDUAL, AVX2).plans
    assert not any(n.blocks for plan in plans for n in plan.plan.nests)


def _ranked(program: Program, target: Target) -> Ranking:
    schedule = Schedule(program)
    pieces = find_pieces(schedule)
    return rank_plans(schedule.program, pieces, target)
