"""`pack`: constants in the order in which loops read them, zero beyond their end."""

import numpy as np
import pytest

from ago.ir.examples import matmul
from ago.ir.nest import Buffer
from ago.ir.packing import pack_array
from ago.schedule.annotate import vectorize
from ago.schedule.compute_at import compute_at
from ago.schedule.pack import pack
from ago.schedule.peel import partition_loop
from ago.schedule.reorder import reorder
from ago.schedule.round_axis import round_axis
from ago.schedule.split import Tail, split
from tests.support.schedules import assert_keeps
from tests.support.subgraphs import convolution, diamond


def test_order_of_the_loops() -> None:
    program = matmul(2, 3, 4)
    after = pack(program, "B", ["C.j", "C.k"])
    b = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(pack_array(after, "B_packed", {"B": b}), b.T)
    assert_keeps(program, after)


@pytest.mark.parametrize("tail", ["guard", "masked", "shift", "balance"])
def test_tiles_of_any_tail(tail: Tail) -> None:
    program = matmul(3, 7, 5)
    after = split(split(program, "C.j", 4, tail), "C.k", 2, "guard")
    after = pack(after, "B", ["C.j.0", "C.k.0", "C.k.1", "C.j.1"])
    assert after.buffer("B_packed").shape == (2, 3, 2, 4)
    assert_keeps(program, after)


def test_rounded_axis_leaves_no_guard_in_the_loop() -> None:
    program = matmul(2, 6, 3, relu=True)
    after = split(round_axis(program, "R", "j", 4), "C.j", 4)
    after = pack(after, "B", ["C.j.0", "C.k", "C.j.1"])
    after = vectorize(reorder(after, ["C.k", "C.j.1"]), "C.j.1")
    packed = pack_array(after, "B_packed", {"B": np.ones((3, 6))})
    assert packed.sum() == 18
    np.testing.assert_array_equal(packed[1, :, 2:], 0)
    assert_keeps(program, after)


def test_start_of_a_reduction_by_its_spatial_loops() -> None:
    program = convolution(4, 1, 3, 1, 1, 1, 0, 2, pad_stage=False)
    after = pack(program, "b", ["K.o", "K.g"])
    assert after.buffer("b_packed").shape == (3, 2)
    assert_keeps(program, reorder(after, ["K.c", "K.y", "K.g", "K.o"]))


def test_loop_without_the_index_repeats_the_constant() -> None:
    program = diamond(2, 3)
    after = pack(program, "v", ["B.i", "B.j"])
    assert after.buffer("v_packed").shape == (2, 3)
    assert_keeps(program, after)


def test_one_element() -> None:
    program = diamond(2, 1)
    after = pack(partition_loop(program, "B.j", 0, 1), "v", [])
    assert after.buffer("v_packed").shape == ()
    assert_keeps(program, after)


def test_packed_again_after_a_split() -> None:
    program = matmul(3, 8, 5)
    after = split(pack(program, "B", ["C.j", "C.k"]), "C.j", 4)
    after = pack(after, "B_packed", ["C.j.0", "C.k", "C.j.1"])
    assert after.buffer("B_packed_packed").shape == (2, 5, 4)
    assert_keeps(program, after)


def test_inside_a_moved_producer() -> None:
    program = matmul(5, 7, 3, relu=True)
    after = compute_at(split(program, "R.j", 4, "masked"), "C", "R.j.0")
    after = pack(after, "B", ["R.j.0", "C.k", "C.j"])
    assert_keeps(program, after)


def test_name_that_is_taken_gets_a_number() -> None:
    program = matmul(2, 3, 4).with_buffer(Buffer("B_packed", (1,), "constant"))
    assert pack(program, "B", ["C.j", "C.k"]).buffers[-1].name == "B_packed2"
