"""Random schedules of programs of all element types, compiled: what the text computes."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ago.autoschedule import schedule_program
from ago.errors import CodegenError, IRError, ScheduleError
from ago.ir.interpreter import interpret
from ago.ir.packing import pack_array
from ago.ir.program import Program
from ago.ir.verify import verify
from ago.schedule.chooser import RandomChooser
from ago.schedule.trace import PRIMITIVES, Schedule
from ago.target import TARGETS
from tests.support.compiled import HOST_TARGETS, emit, run_compiled
from tests.support.programs import integers
from tests.support.steps import draw_step
from tests.support.typed_programs import TYPED

PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""Without shrinking: each example runs a C compiler."""

SIZES = st.sampled_from([1, 3, 8, 9, 17])
SIMPLE = (
    "split",
    "reorder",
    "vectorize",
    "unroll",
    "compute_at",
    "store_at",
    "set_scope",
    "inline",
)


def expected(program: Program) -> list[np.ndarray]:
    """The outputs by the printed text, rounded to float32 at each store."""
    results = interpret(program, integers(program), dtype=np.float32)
    return [results[b.name] for b in program.buffers if b.scope == "output"]


def compiled(programs: list[tuple[Program, Program]], target: str) -> None:
    """Compile scheduled programs together and compare each with its naive one."""
    made = []
    for naive, program in programs:
        arrays = dict(integers(naive))
        packed = [b for b in program.buffers if b.packing is not None]
        arrays |= {b.name: pack_array(program, b.name, integers(naive)) for b in packed}
        feeds = {
            b.name: arrays[b.name].reshape(b.shape) for b in program.buffers if b.name in arrays
        }
        made.append((program, feeds))
    found = iter(run_compiled(made, target))
    for naive, program in programs:
        for wanted in expected(naive):
            result = next(found)
            assert result.dtype == wanted.dtype
            np.testing.assert_array_equal(result.reshape(wanted.shape), wanted, str(program))


@st.composite
def scheduled(draw: st.DrawFn, target: str) -> tuple[Program, Program]:
    """A program and a schedule of it: the sketch by random decisions, or random steps."""
    naive = TYPED[draw(st.sampled_from(sorted(TYPED)))](draw(SIZES), draw(SIZES), draw(SIZES))
    if draw(st.booleans()):
        chooser = RandomChooser(draw(st.integers(0, 99)))
        return naive, schedule_program(naive, TARGETS[target], chooser).program
    schedule = Schedule(naive)
    for _ in range(draw(st.integers(1, 8))):
        name, arguments = draw_step(draw, schedule.program, draw(st.sampled_from(SIMPLE)))
        before = schedule.program
        try:
            schedule.apply(PRIMITIVES[name], *arguments)
            emit(schedule.program, target)
            verify(schedule.program)
        except (ScheduleError, CodegenError, IRError):
            schedule = Schedule(before)
    return naive, schedule.program


@pytest.mark.parametrize("target", sorted({HOST_TARGETS[-1], "cortex-a76"}))
def test_scheduled_programs_of_element_types(target):
    @settings(max_examples=2, phases=PHASES)
    @given(st.lists(scheduled(target), min_size=12, max_size=12))
    def check(programs):
        compiled(programs, target)

    check()


@pytest.mark.parametrize("target", HOST_TARGETS)
def test_default_schedules_of_element_types(target):
    naive = [made(9, 17, 5) for made in TYPED.values()]
    compiled([(p, schedule_program(p, TARGETS[target]).program) for p in naive], target)


@pytest.mark.slow
@settings(max_examples=50, phases=PHASES)
@given(st.lists(scheduled(HOST_TARGETS[-1]), min_size=30, max_size=30))
def test_many_scheduled_programs_of_element_types(programs):
    compiled(programs, HOST_TARGETS[-1])
