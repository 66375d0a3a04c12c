"""`compute_at`: the producer's nest moves, restricted to what the loop reads."""

import pytest

from ago.ir.examples import matmul
from ago.ir.index import Index, var
from ago.ir.nest import Buffer, Stage
from ago.ir.program import Program
from ago.ir.value import Load
from ago.schedule.annotate import unroll
from ago.schedule.cache_write import cache_write
from ago.schedule.compute_at import compute_at
from ago.schedule.peel import peel
from ago.schedule.split import Tail, split
from ago.schedule.store_at import store_at
from ago.schedule.tree import find_loop, loop_names
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import convolution, pool, stage, two_matmuls

TAILS: tuple[Tail, ...] = ("guard", "masked", "shift", "balance")


def extents(program: Program, *loops: str) -> list[str]:
    return [str(find_loop(program, name).hi) for name in loops]


def test_window_of_a_stride() -> None:
    assert (
        text(compute_at(pool(5, 2, 3, 2), "E", "M.x"))
        == """\
for M_y, M_x in grid(2, 2):
    for E_y, E_x, E_c in grid(3, 3, 2):
        E[E_y + 2 * M_y, E_x + 2 * M_x, E_c] = X[E_y + 2 * M_y, E_x + 2 * M_x, E_c] + s[E_c]
    for M_c in range(2):
        M[M_y, M_x, M_c] = -inf
        for ky, kx in grid(3, 3):
            M[M_y, M_x, M_c] = ir_max(M[M_y, M_x, M_c], E[2 * M_y + ky, 2 * M_x + kx, M_c])"""
    )


@pytest.mark.parametrize("loop", ["M.y", "M.x", "M.c", "M.ky", "M.kx"])
def test_every_loop_of_the_consumer(loop: str) -> None:
    program = pool(5, 2, 3, 2)
    assert_keeps(program, compute_at(program, "E", loop))


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("loop", ["R.y.0", "R.y.1", "R.x.0", "R.c"])
@pytest.mark.parametrize("scope", ["register", "workspace"])
def test_tiles_with_tails_and_private_storage(tail: Tail, loop: str, scope: str) -> None:
    program = convolution(5, 1, 2, 3, 1, 1, 1, 2, pad_stage=True)
    after = split(split(program, "R.y", 2, tail), "R.x", 3, tail)
    after = compute_at(after, "K", loop)
    after = store_at(after, "K", loop, scope)
    assert_keeps(program, after)
    after = compute_at(after, "P", loop)
    assert_keeps(program, after)
    assert_keeps(program, store_at(after, "P", loop, scope))


def test_region_of_a_grouped_output_is_one_group_and_channel() -> None:
    program = convolution(4, 2, 3, 3, 1, 1, 1, 2, pad_stage=True)
    after = compute_at(program, "K", "R.c")
    assert extents(after, "K.y", "K.x", "K.g", "K.o") == ["1", "1", "1", "1"]
    assert_keeps(program, after)


def test_region_of_whole_groups() -> None:
    program = convolution(4, 2, 3, 3, 1, 1, 1, 2, pad_stage=True)
    after = compute_at(split(program, "R.c", 3), "K", "R.c.0")
    assert extents(after, "K.g", "K.o") == ["1", "3"]
    assert_keeps(program, after)


def test_region_across_groups_is_all_of_each() -> None:
    program = convolution(4, 2, 3, 3, 1, 1, 1, 2, pad_stage=True)
    after = compute_at(split(program, "R.c", 2), "K", "R.c.0")
    assert extents(after, "K.o") == ["3"]
    assert_keeps(program, after)


def test_region_is_clipped_to_the_domain() -> None:
    """The consumer's guarded reads go beyond the producer on both sides."""
    program = convolution(4, 1, 1, 3, 1, 1, 1, 1, pad_stage=True)
    inner = stage(
        "Q", {"y": 4, "x": 4, "c": 1}, "Q", Load("X", tuple(map(var, ("Q.y", "Q.x", "Q.c"))))
    )
    stages = tuple(
        s if s.name != "P" else Stage("P", s.axes, "P", s.index, _reading(s, "Q"))
        for s in program.stages
    )
    made = (*program.buffers, Buffer("Q", (4, 4, 1), "workspace"))
    program = Program.naive("prologue", made, (inner, *stages))
    after = compute_at(program, "Q", "P.y")
    low, high = "max(0, P.y - 1)", "min(3, P.y - 1)"
    assert extents(after, "Q.y", "Q.x") == [f"{high} - {low} + 1", "4"] or extents(
        after, "Q.y"
    ) == [f"-{low} + {high} + 1"]
    assert_keeps(program, after)
    assert_keeps(program, compute_at(peel(program, "P.y"), "K", "R.y"))


def _reading(producer: Stage, buffer: str):
    value = producer.value
    return type(value)(value.condition, Load(buffer, value.then.index), value.otherwise)


def test_gaps_of_a_strided_output_are_not_computed() -> None:
    """The producer writes every other element; the region rounds inwards at its end."""
    y = var("S.y")
    first = stage("S", {"y": 3}, "S", Load("x", (y,)), index=(y * 2,))
    second = stage("R", {"y": 3}, "R", Load("S", (var("R.y") * 2,)))
    made = (Buffer("x", (3,), "input"), Buffer("R", (3,), "output"), Buffer("S", (5,), "workspace"))
    program = Program.naive("strided", made, (first, second))
    after = compute_at(program, "S", "R.y")
    assert find_loop(after, "S.y").hi == Index((), 1)
    assert_keeps(program, after)


def test_accumulators_at_a_tile() -> None:
    program = matmul(5, 7, 4)
    after = cache_write(program, "C")
    for axis, tail in (("i", "shift"), ("j", "masked")):
        after = split(after, f"C_out.{axis}", 3, tail)
    after = compute_at(after, "C", "C_out.i.1")
    after = store_at(after, "C_cache", "C_out.i.1")
    assert_keeps(program, after)


def test_chain_from_consumer_to_producer() -> None:
    program = two_matmuls(3, 5, 2, 4)
    after = split(program, "D.i", 2, "shift")
    for producer, loop in (("R", "D.i.0"), ("C", "D.i.0"), ("H", "D.q")):
        after = compute_at(after, producer, loop)
        assert_keeps(program, after)
    assert loop_names(after)[:5] == ("D.i.0", "C.i", "C.j", "C.k", "R.i")


def test_loop_inside_an_unrolled_one() -> None:
    program = matmul(3, 4, 5, relu=True)
    assert_keeps(program, compute_at(unroll(program, "R.i"), "C", "R.j"))


def test_interior_of_a_peeled_consumer_holds_its_own_copy() -> None:
    program = convolution(5, 1, 1, 3, 1, 1, 1, 1, pad_stage=True)
    after = compute_at(peel(program, "P.y"), "K", "R.y")
    after = split(after, "P.y", 2, "guard")
    assert_keeps(program, after)
