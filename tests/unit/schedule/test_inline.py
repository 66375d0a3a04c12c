"""`inline`: a stage disappears into its readers."""

from ago.ir.examples import chain
from ago.schedule.annotate import vectorize
from ago.schedule.compute_at import compute_at
from ago.schedule.inline import inline
from ago.schedule.split import split
from ago.schedule.store_at import store_at
from tests.support.schedules import assert_keeps, text
from tests.support.subgraphs import convolution, diamond, pool, two_matmuls


def test_chain_becomes_one_nest() -> None:
    after = inline(chain(4, 6), "S")
    assert (
        text(after)
        == """\
for i, j in grid(4, 6):
    R[i, j] = ir_max(0.0, 2.0 * x[i, j])"""
    )
    assert [b.name for b in after.buffers] == ["x", "R"]
    assert_keeps(chain(4, 6), after)


def test_both_sides_of_a_diamond() -> None:
    program = diamond(2, 3)
    once = inline(program, "S")
    assert [s.name for s in once.stages] == ["A", "B", "R"]
    assert_keeps(program, once)
    twice = inline(inline(program, "A"), "S")
    assert [s.name for s in twice.stages] == ["B", "R"]
    assert_keeps(program, twice)


def test_padding_goes_into_a_convolution() -> None:
    program = convolution(4, 2, 2, 3, 2, 1, 1, 1, pad_stage=True)
    after = inline(program, "P")
    assert [s.name for s in after.stages] == ["K", "R"]
    assert_keeps(program, after)


def test_start_of_a_reduction() -> None:
    program = two_matmuls(2, 3, 4, 5)
    assert_keeps(program, inline(program, "H"))


def test_into_a_scheduled_consumer() -> None:
    program = pool(5, 2, 2, 1)
    assert_keeps(program, inline(split(program, "M.x", 3, "balance"), "E"))
    assert_keeps(chain(3, 5), inline(vectorize(chain(3, 5), "R.j"), "S"))


def test_regenerated_consumer_has_the_expression_too() -> None:
    program = two_matmuls(2, 3, 4, 5)
    after = compute_at(inline(program, "H"), "R", "D.i")
    after = store_at(compute_at(after, "C", "D.i"), "C", "D.i")
    assert_keeps(program, after)
