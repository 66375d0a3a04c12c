"""Copies, regrouped reductions, epilogues and threads: mixed at random, results stay exact."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st

from ago.errors import ScheduleError
from ago.ir.program import Program
from ago.schedule.refusals import REFUSALS
from ago.schedule.trace import PRIMITIVES
from tests.support.schedules import assert_keeps
from tests.support.steps import Step, draw_step
from tests.support.subgraphs import subgraphs

MOVES = (
    "cache_read",
    "compute_with",
    "decompose_reduction",
    "fuse_axes",
    "parallel",
    "prefetch",
    "privatize",
    "reverse_compute_at",
    "rfactor",
    "set_scope",
    "stage_mem",
    "transform_layout",
)
OTHERS = ("split", "reorder", "compute_at", "store_at", "peel", "partition_loop", "unroll", "pack")


def apply(program: Program, step: Step) -> Program | None:
    """The program after a step, or None where it is refused, with a known code."""
    name, arguments = step
    refusal = None
    try:
        after = PRIMITIVES[name](program, *arguments)
    except ScheduleError as error:
        refusal = error
    if refusal is not None:
        assert refusal.code in REFUSALS
        return None
    note(f"{name}{arguments}\n{after}")
    return after


@given(program=subgraphs, data=st.data())
def test_random_moves(program: Program, data: st.DataObject) -> None:
    """Every accepted step keeps the result, in checked mode too, and obeys the laws of the IR."""
    current = program
    note(str(program))
    for _ in range(data.draw(st.integers(1, 8))):
        name = data.draw(st.sampled_from(data.draw(st.sampled_from([MOVES, MOVES, OTHERS]))))
        after = apply(current, draw_step(data.draw, current, name))
        if after is not None:
            assert_keeps(program, after)
            current = after


@given(program=subgraphs, data=st.data())
def test_partial_sums(program: Program, data: st.DataObject) -> None:
    """Block a reduction, start it outside, and stage what each block adds to."""
    current = program
    reductions = [s for s in program.stages if s.reduce_loops]
    if not reductions:
        return
    stage = data.draw(st.sampled_from(reductions))
    blocked = data.draw(st.sampled_from(stage.reduce_loops))
    factor = data.draw(st.sampled_from([2, 3]))
    spatial = [stage.loop(a.name) for a in stage.axes if a.kind == "spatial"]
    others = [loop for loop in stage.reduce_loops if loop != blocked]
    order = (f"{blocked}.0", *spatial, f"{blocked}.1", *others)
    inner = data.draw(st.sampled_from(order[1:]))
    steps: list[Step] = [
        ("split", (blocked, factor, "guard")),
        ("reorder", (order,)),
        ("decompose_reduction", (stage.name, f"{blocked}.0")),
        ("stage_mem", (stage.buffer, inner, "stack")),
    ]
    for step in steps:
        after = apply(current, step)
        assert after is not None
        assert_keeps(program, after)
        current = after
