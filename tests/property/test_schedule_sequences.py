"""Any sequence of schedule primitives keeps what a program computes, or is refused by the rules."""

import copy
from typing import get_args

from hypothesis import given, note
from hypothesis import strategies as st

from ago.errors import ScheduleError
from ago.ir.nest import For, path_to
from ago.ir.program import Program
from ago.ir.workload import workload_key
from ago.schedule.refusals import REFUSALS
from ago.schedule.split import Tail
from ago.schedule.trace import PRIMITIVES, Schedule, Trace
from ago.schedule.tree import loop_names
from tests.support.schedules import assert_keeps
from tests.support.steps import Step, draw_step, perfect_nest
from tests.support.subgraphs import subgraphs, windows
from tests.support.typed_programs import TYPED


def attempt(schedule: Schedule, step: Step) -> bool:
    """Whether a step is accepted; a refused one has a known code and leaves no mark."""
    name, arguments = step
    before, snapshot = schedule.program, copy.deepcopy(schedule.program)
    refusal = None
    try:
        schedule.apply(PRIMITIVES[name], *arguments)
    except ScheduleError as error:
        refusal = error
    if refusal is None:
        note(f"{name}{arguments}")
        return True
    assert refusal.code in REFUSALS
    assert str(refusal).startswith(f"[{refusal.code}]")
    assert schedule.program is before
    assert before == snapshot
    return False


@given(program=subgraphs, data=st.data())
def test_random_steps(program: Program, data: st.DataObject) -> None:
    """Each accepted step keeps the result; the trace replays, through JSON and Python too."""
    schedule = Schedule(program)
    note(str(program))
    for _ in range(data.draw(st.integers(1, 8))):
        if attempt(schedule, draw_step(data.draw, schedule.program)):
            assert_keeps(program, schedule.program)
    trace = schedule.trace
    assert trace.workload == workload_key(program)
    assert trace.replay(program) == schedule.program
    assert Trace.from_json(trace.to_json()) == trace
    namespace: dict[str, object] = {}
    exec(trace.to_python(), namespace)
    assert namespace["schedule"](program) == schedule.program


SMALL = st.integers(1, 5)


@given(made=st.sampled_from(sorted(TYPED)), sizes=st.tuples(SMALL, SMALL, SMALL), data=st.data())
def test_random_steps_on_element_types(
    made: str, sizes: tuple[int, int, int], data: st.DataObject
) -> None:
    """Each accepted step keeps results exactly, whatever the types; the trace replays."""
    program = TYPED[made](*sizes)
    schedule = Schedule(program)
    note(str(program))
    for _ in range(data.draw(st.integers(1, 8))):
        if attempt(schedule, draw_step(data.draw, schedule.program)):
            assert_keeps(program, schedule.program)
    assert schedule.trace.replay(program) == schedule.program


@given(program=subgraphs, data=st.data())
def test_tiled_and_fused(program: Program, data: st.DataObject) -> None:
    """The way of a real schedule: tile the last stage, move producers in, then refine the tiles."""
    schedule = Schedule(program)
    note(str(program))
    for name in ("collapse", "round_axis", "inline", "cache_write"):
        if data.draw(st.integers(0, 3)) == 0:
            attempt(schedule, draw_step(data.draw, schedule.program, name))
    *producers, consumer = [s.name for s in schedule.program.stages]
    tile(schedule, consumer, data)
    assert_keeps(program, schedule.program)
    for producer in reversed(producers):
        if attempt(schedule, draw_step(data.draw, schedule.program, "compute_at", producer)):
            buffer = schedule.program.stage(producer).buffer
            attempt(schedule, draw_step(data.draw, schedule.program, "store_at", buffer))
            tile(schedule, producer, data)
            assert_keeps(program, schedule.program)
    for name in data.draw(st.lists(st.sampled_from(LAST), max_size=4)):
        if attempt(schedule, draw_step(data.draw, schedule.program, name)):
            assert_keeps(program, schedule.program)


@given(program=windows, data=st.data())
def test_sliding_windows(program: Program, data: st.DataObject) -> None:
    """Producers slide along with their windows, in rings or tiles; then anything is tried."""
    schedule = Schedule(program)
    note(str(program))
    *producers, consumer = [s.name for s in schedule.program.stages]
    if data.draw(st.booleans()):
        tile(schedule, consumer, data)
    for producer in reversed(producers):
        if not attempt(schedule, draw_step(data.draw, schedule.program, "compute_at", producer)):
            continue
        buffer = schedule.program.stage(producer).buffer
        if data.draw(st.booleans()):
            attempt(schedule, draw_step(data.draw, schedule.program, "privatize", buffer))
        slide_somewhere(schedule, producer, data)
        for name in data.draw(st.sampled_from([(), ("fold_storage",), ("store_at",)])):
            attempt(schedule, draw_step(data.draw, schedule.program, name, buffer))
        assert_keeps(program, schedule.program)
    for _ in range(data.draw(st.integers(0, 4))):
        if attempt(schedule, draw_step(data.draw, schedule.program)):
            assert_keeps(program, schedule.program)


def slide_somewhere(schedule: Schedule, stage: str, data: st.DataObject) -> None:
    """Slide a stage along the first pair of its own loops and those around that is accepted."""
    producer = schedule.program.stage(stage)
    pairs = [
        (axis.name, stmt.name)
        for axis in producer.axes
        for stmt in (path_to(schedule.program.body, producer.loop(axis.name)) or ())[:-1]
        if isinstance(stmt, For) and not stmt.name.startswith(f"{stage}.")
    ]
    for axis, loop in data.draw(st.permutations(pairs)) if pairs else ():
        if attempt(schedule, ("slide", (stage, axis, loop))):
            return


LAST = ("pack", "peel", "partition_loop", "specialize", "reorder", "vectorize", "unroll", "split")
"""Primitives that end a schedule."""


def tile(schedule: Schedule, stage: str, data: st.DataObject) -> None:
    """Split some loops of a stage with any tail, and permute its loops, reduce loops too."""
    for loop in [n for n in loop_names(schedule.program) if n.startswith(f"{stage}.")]:
        tail = data.draw(st.sampled_from([None, *get_args(Tail)]))
        if tail is not None:
            attempt(schedule, ("split", (loop, data.draw(st.sampled_from([2, 3, 4])), tail)))
    own = [n for n in loop_names(schedule.program) if n.startswith(f"{stage}.")]
    nest = perfect_nest(schedule.program, own[0]) if own else []
    order = data.draw(st.permutations(nest)) if nest else ()
    attempt(schedule, ("reorder", (tuple(order),)))
