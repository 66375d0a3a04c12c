"""Traces replay, and survive JSON and Python."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import ago
from ago.errors import ScheduleError
from ago.ir.examples import matmul
from ago.ir.program import Program
from ago.ir.workload import workload_key
from ago.schedule.chooser import RandomChooser, ReplayChooser
from ago.schedule.compute_at import compute_at
from ago.schedule.pack import pack
from ago.schedule.reorder import reorder
from ago.schedule.split import split
from ago.schedule.store_at import store_at
from ago.schedule.trace import PRIMITIVES, Instruction, Schedule, Trace
from tests.support.schedules import assert_keeps

PROGRAM = matmul(5, 7, 4, relu=True)


def scheduled(schedule: Schedule) -> Schedule:
    rows = schedule.decide("C/rows", [2, 3, 4])
    tail = schedule.decide("C/tail", ["shift", "guard", "balance"])
    schedule.apply(split, "R.i", rows, tail=tail)
    schedule.apply(split, "R.j", 4, "masked")
    schedule.apply(compute_at, "C", "R.i.0")
    schedule.apply(store_at, "C", "R.i.0", "stack")
    schedule.apply(reorder, ["C.k", "C.i", "C.j"])
    schedule.apply(pack, "B", ["C.k", "C.j"])
    return schedule


def run_script(text: str) -> Program:
    namespace: dict[str, object] = {}
    exec(compile(text, "<schedule>", "exec"), namespace)
    function = namespace["schedule"]
    assert callable(function)
    return function(PROGRAM)


def test_records_what_it_applies() -> None:
    schedule = scheduled(Schedule(PROGRAM))
    assert (
        str(schedule.trace)
        == f"""\
trace of {workload_key(PROGRAM)}
  C/rows = 2
  C/tail = shift
  split(loop='R.i', factor=2, tail='shift')
  split(loop='R.j', factor=4, tail='masked')
  compute_at(stage='C', loop='R.i.0')
  store_at(buffer='C', loop='R.i.0', scope='stack')
  reorder(loops=('C.k', 'C.i', 'C.j'))
  pack(buffer='B', loops=('C.k', 'C.j'))"""
    )
    assert_keeps(PROGRAM, schedule.program)


@pytest.mark.parametrize("seed", range(4))
def test_round_trips(seed: int) -> None:
    schedule = scheduled(Schedule(PROGRAM, RandomChooser(seed)))
    trace = schedule.trace
    assert trace.replay(PROGRAM) == schedule.program
    assert Trace.from_json(trace.to_json()) == trace
    assert run_script(trace.to_python()) == schedule.program
    again = scheduled(Schedule(PROGRAM, ReplayChooser(dict(trace.decisions))))
    assert again.trace == trace


def test_json_is_one_line_of_plain_data() -> None:
    text = scheduled(Schedule(PROGRAM)).trace.to_json()
    assert "\n" not in text
    data = json.loads(text)
    assert data["decisions"] == {"C/rows": 2, "C/tail": "shift"}
    assert data["instructions"][2] == ["compute_at", {"stage": "C", "loop": "R.i.0"}]


def test_script_reads_well() -> None:
    schedule = Schedule(PROGRAM)
    schedule.decide("rows", [2])
    schedule.apply(split, "R.i", 5)
    assert (
        schedule.trace.to_python()
        == f'''\
"""Schedule of workload {workload_key(PROGRAM)}."""

from ago.schedule.split import split


def schedule(program):
    # rows = 2
    program = split(program, loop='R.i', factor=5, tail='exact')
    return program
'''
    )


def run_alone(path: Path) -> subprocess.CompletedProcess[str]:
    """A script in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(Path(ago.__file__).parent.parent)}
    command = [sys.executable, str(path)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_script_runs_alone_and_can_be_edited(tmp_path: Path) -> None:
    schedule = scheduled(Schedule(PROGRAM))
    script = tmp_path / "schedule.py"
    script.write_text(schedule.trace.to_python(PROGRAM))
    assert run_alone(script).stdout == f"{schedule.program}\n"
    edited = script.read_text().replace("factor=2, tail='shift'", "factor=5, tail='exact'")
    script.write_text(edited)
    run = run_alone(script)
    assert run.returncode == 0, run.stderr
    assert "for i_0, i_1" not in run.stdout
    assert run.stdout != f"{schedule.program}\n"
    script.write_text(edited.replace("factor=5", "factor=3"))
    assert "[split-not-exact] " in run_alone(script).stderr


def test_script_is_for_its_own_program() -> None:
    with pytest.raises(ScheduleError, match="trace-workload"):
        scheduled(Schedule(PROGRAM)).trace.to_python(matmul(5, 7, 3, relu=True))


def test_frozen_instructions_replay_whatever_the_sketch_asks_now() -> None:
    """Decisions that no sketch knows any more do not matter to the instructions."""
    schedule = scheduled(Schedule(PROGRAM))
    frozen = replace(schedule.trace, decisions=(("C/gone", "never"),))
    assert Trace.from_json(frozen.to_json()).replay(PROGRAM) == schedule.program
    with pytest.raises(ScheduleError, match="missing-decision"):
        scheduled(Schedule(PROGRAM, ReplayChooser(dict(frozen.decisions))))


def test_steps_show_the_program_after_each_instruction() -> None:
    trace = scheduled(Schedule(PROGRAM)).trace
    steps = list(trace.steps(PROGRAM))
    assert steps[0] == (None, PROGRAM)
    assert [instruction for instruction, _ in steps[1:]] == list(trace.instructions)
    assert steps[1][1] == split(PROGRAM, "R.i", 2, "shift")
    assert steps[-1][1] == trace.replay(PROGRAM)


def test_reasons_of_a_mismatch() -> None:
    trace = scheduled(Schedule(PROGRAM)).trace
    with pytest.raises(ScheduleError, match=r"the trace has version 0, this is \d+"):
        replace(trace, version=0).replay(PROGRAM)
    other = matmul(5, 7, 3, relu=True)
    reason = f"for workload {trace.workload}, the program is {workload_key(other)}"
    with pytest.raises(ScheduleError, match=reason):
        trace.replay(other)


def test_refused_step_leaves_no_mark() -> None:
    schedule = Schedule(PROGRAM)
    with pytest.raises(ScheduleError, match="split-not-exact"):
        schedule.apply(split, "R.i", 2)
    assert schedule.program is PROGRAM
    assert schedule.trace == Trace(workload_key(PROGRAM))


def test_argument_that_is_no_plain_data_leaves_no_mark() -> None:
    schedule = Schedule(PROGRAM)
    with pytest.raises(TypeError, match="not plain data"):
        schedule.apply(reorder, {"C.k", "C.i"})
    assert schedule.program is PROGRAM


def test_trace_fits_the_same_operators_under_other_names() -> None:
    trace = scheduled(Schedule(PROGRAM)).trace
    other = Program("another", PROGRAM.buffers, PROGRAM.stages, PROGRAM.body)
    assert trace.replay(other).body == trace.replay(PROGRAM).body


def test_refusal_of_an_instruction_comes_through() -> None:
    trace = Trace(workload_key(PROGRAM), (Instruction("unroll", (("loop", "C.z"),)),))
    with pytest.raises(ScheduleError, match="unknown-loop"):
        trace.replay(PROGRAM)


def test_names_of_primitives_are_their_functions() -> None:
    assert all(primitive.__name__ == name for name, primitive in PRIMITIVES.items())
    assert list(PRIMITIVES) == sorted(PRIMITIVES)
