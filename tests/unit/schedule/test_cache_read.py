"""`cache_read`: a copy that is placed and shrunk like any producer."""

from __future__ import annotations

import pytest

from ago.ir.examples import chain, matmul
from ago.ir.verify import verify
from ago.schedule.annotate import unroll, vectorize
from ago.schedule.cache_read import cache_read
from ago.schedule.compute_at import compute_at
from ago.schedule.inline import inline
from ago.schedule.pack import pack
from ago.schedule.reorder import reorder
from ago.schedule.split import split
from ago.schedule.store_at import store_at
from ago.schedule.tree import loop_names
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import convolution, diamond, two_matmuls


def test_whole_copy() -> None:
    program = matmul(2, 3, 4)
    after = cache_read(program, "A", "C")
    assert (
        text(after)
        == """\
for d0, d1 in grid(2, 4):
    A_cache[d0, d1] = A[d0, d1]
for i, j in grid(2, 3):
    C[i, j] = 0.0
    for k in range(4):
        C[i, j] += A_cache[i, k] * B[k, j]"""
    )
    assert [s.name for s in after.stages] == ["A_cache", "C"]
    verify(after)
    assert_keeps(program, after)


def test_copy_of_a_tile() -> None:
    program = matmul(4, 6, 5)
    tiled = reorder(split(split(program, "C.i", 2), "C.k", 5), ["C.i.0", "C.k.0", "C.i.1", "C.j"])
    after = store_at(
        compute_at(cache_read(tiled, "A", "C"), "A_cache", "C.k.0"), "A_cache", "C.k.0", "stack"
    )
    assert after.buffer("A_cache").shape == (2, 5)
    verify(after)
    assert_keeps(program, after)


def test_copy_in_registers() -> None:
    program = chain(3, 8)
    copied = cache_read(split(program, "R.j", 4), "S", "R")
    after = store_at(compute_at(copied, "S_cache", "R.j.0"), "S_cache", "R.j.0", "register")
    for loop in ("S_cache.d1", "R.j.1"):
        after = vectorize(after, loop)
    verify(unroll(after, "S_cache.d0"))
    assert_keeps(program, after)


def test_only_one_of_two_readers() -> None:
    program = diamond(3, 4)
    after = cache_read(program, "S", "B")
    readers = {s.name: str(s.value) for s in after.stages}
    assert "S_cache" in readers["B"]
    assert "S_cache" not in readers["A"]
    assert_keeps(program, after)


def test_what_a_reduction_starts_with() -> None:
    program = two_matmuls(2, 3, 4, 5)
    after = cache_read(program, "H", "D")
    assert "H_cache" in str(after.stage("D").init)
    assert_keeps(program, after)


def test_a_copy_is_inlined_again() -> None:
    program = matmul(4, 6, 5)
    assert inline(cache_read(program, "B", "C"), "B_cache") == program


def test_packed_constant() -> None:
    program = pack(matmul(4, 6, 5), "B", ["C.j", "C.k"])
    after = cache_read(program, "B_packed", "C")
    assert_keeps(program, after)


@pytest.mark.parametrize("loop", ["K.y", "K.o", "K.ky"])
def test_padded_input(loop: str) -> None:
    program = convolution(5, 2, 3, 3, 2, 1, 1, 1, pad_stage=False)
    copied = cache_read(program, "X", "K")
    assert_keeps(program, compute_at(copied, "X_cache", loop))


def test_second_copy_has_a_name_of_its_own() -> None:
    program = diamond(3, 4)
    after = cache_read(cache_read(program, "S", "B"), "S", "A")
    assert "S_cache2.d0" in loop_names(after)
    assert_keeps(program, after)
