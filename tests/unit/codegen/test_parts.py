"""Functions with parts: every part once, in any order within a phase, computes the whole."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ago.backends import INTRINSICS
from ago.codegen.emit import emit_function
from ago.codegen.entry import Step, entry_text, has_parts
from ago.codegen.header import ModelInterface
from ago.ir.define import define
from ago.ir.examples import chain, matmul
from ago.ir.nest import Buffer
from ago.schedule.annotate import vectorize
from ago.schedule.compute_at import compute_at
from ago.schedule.parallel import parallel
from ago.schedule.reorder import reorder
from ago.schedule.split import split
from ago.schedule.store_at import store_at
from ago.target import TARGETS
from tests.support.compiled import HOST_TARGETS, run_compiled
from tests.support.schedules import integers, outputs


def parts_of(program):
    target = TARGETS["portable"]
    return emit_function(program, target, INTRINSICS[target.isa]).parts


def two_phases(rows: int):
    program = matmul(rows, 16, 5, relu=True)
    program = parallel(split(program, "C.i", 4, "guard"), "C.i.0")
    return parallel(split(program, "R.i", 3, "balance"), "R.i.0")


def test_a_program_without_parallel_loops_has_no_parts():
    assert parts_of(matmul(4, 16, 5)) == ()


def test_each_parallel_nest_is_a_phase():
    assert parts_of(two_phases(7)) == (2, 3)
    assert parts_of(two_phases(16)) == (4, 6)


def test_serial_nests_are_a_phase_of_one_part():
    program = parallel(matmul(4, 16, 5, relu=True), "C.i")
    assert parts_of(program) == (4, 1)
    assert parts_of(parallel(matmul(4, 16, 5, relu=True), "R.i")) == (1, 4)


def side_by_side(rows: int):
    """Two products that have nothing to do with each other, and their sum."""
    program = define(
        "A[i, j] += X[i, k] * V[k, j]; B[i, j] += X[i, k] * W[k, j]; R[i, j] = A[i, j] + B[i, j]",
        {"X": (rows, 5), "V": (5, 8), "W": (5, 8)},
    )
    for stage in "ABR":
        program = parallel(split(program, f"{stage}.i", 4, "guard"), f"{stage}.i.0")
    return program


def test_nests_that_have_nothing_to_do_with_each_other_run_side_by_side():
    assert parts_of(side_by_side(16)) == (8, 4)
    assert parts_of(side_by_side(7)) == (4, 2)


def test_a_nest_that_overwrites_what_another_one_reads_comes_after_it():
    """By the elements that both touch, not by who computes them."""
    program = define("A[i, j] = 2 * X[i, j]; R[i, j] = A[i, j] + 1", {"X": (4, 6)})
    for stage in "AR":
        program = parallel(program, f"{stage}.i")
    assert parts_of(program) == (4, 4)
    again = parallel(define("A[i, j] = 2 * X[i, j]; R[i, j] = 3 * X[i, j]", {"X": (4, 6)}), "A.i")
    assert parts_of(parallel(again, "R.i")) == (8,)


def test_a_loop_that_is_cut_stays_one_phase():
    program = split(chain(2, 21), "R.i", 1)
    program = split(program, "R.j", 8, "guard")
    program = vectorize(reorder(program, ["R.j.0", "R.i.0", "R.i.1", "R.j.1"]), "R.j.1")
    assert parts_of(parallel(program, "R.j.0")) == (1, 3)


def test_a_parallel_loop_inside_another_loop_is_serial():
    program = split(matmul(4, 16, 5), "C.i", 2)
    assert parts_of(parallel(program, "C.i.1")) == ()


def test_what_phases_share_on_the_stack_keeps_them_together():
    program = matmul(4, 16, 5, relu=True)
    program = program.with_buffer(Buffer("C", (4, 16), "stack"))
    assert parts_of(parallel(program, "R.i")) == ()
    inside = store_at(compute_at(matmul(4, 16, 5, relu=True), "C", "R.i"), "C", "R.i", "stack")
    assert parts_of(parallel(inside, "R.i")) == (4,)


@pytest.mark.parametrize("target", HOST_TARGETS)
def test_the_parts_compute_what_the_naive_program_does(target):
    programs = [make(rows) for rows in (1, 2, 7, 16) for make in (two_phases, side_by_side)]
    cases = [(program, integers(program)) for program in programs]
    found = run_compiled(cases, target)
    for (program, arrays), result in zip(cases, found, strict=True):
        np.testing.assert_array_equal(np.ravel(result), outputs(program, arrays)["R"])


def test_the_entry_of_a_shared_model_lists_its_phases():
    function = emit_function(two_phases(7), TARGETS["portable"], INTRINSICS["portable"])
    interface = ModelInterface("m", (), (), 64, 64)
    steps = [Step(function, ()), Step(function, ())]
    text = entry_text(interface, steps, ["f", "f"])
    rows = ["{0, 0, 2}", "{0, 2, 3}", "{1, 0, 2}", "{1, 2, 3}"]
    places = [text.index(row) for row in rows]
    assert has_parts(steps)
    assert all(a < b for a, b in itertools.pairwise(places))
