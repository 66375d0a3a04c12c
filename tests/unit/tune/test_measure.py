"""Candidates are compiled together, run, and timed; equal code is timed once."""

import gc

import numpy as np

from ago.autoschedule import schedule_program
from ago.backends import INTRINSICS
from ago.codegen.emit import emit_function
from ago.ir.examples import matmul
from ago.schedule.chooser import RandomChooser
from ago.target import detect_host
from ago.tune import Candidate, PeakProbe, measure_candidates

TARGET = detect_host()
TABLE = INTRINSICS[TARGET.isa]


def candidates(count: int) -> list[Candidate]:
    program = matmul(12, 64, 32)
    found = []
    for seed in range(count):
        scheduled = schedule_program(program, TARGET, RandomChooser(seed)).program
        found.append(Candidate(scheduled, emit_function(scheduled, TARGET, TABLE)))
    return found


def test_each_candidate_gets_a_time():
    found = candidates(4)
    times = measure_candidates(found, TARGET, TABLE, rounds=2)
    assert len(times) == len(found)
    assert all(np.isfinite(times))
    assert min(times) > 0


def test_equal_code_has_equal_time():
    found = candidates(3)
    times = measure_candidates([*found, *found], TARGET, TABLE, rounds=2)
    assert times[:3] == times[3:]


def test_no_candidates_have_no_times():
    assert measure_candidates([], TARGET, TABLE) == []


def test_a_probe_keeps_its_library_loaded():
    probe = PeakProbe(TARGET)
    gc.collect()
    assert probe.sample() > 0
