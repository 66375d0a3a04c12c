"""Where reductions start."""

from ago.ir.decompose import decompose
from ago.ir.index import var
from ago.ir.nest import If, Reduce, Store, Update
from ago.ir.value import Const, Load
from tests.support.programs import loop

ROW, COL, RED = (var(f"s.{axis}") for axis in "ijk")


def reduction(*index, loops=("s.k",), buffer="y"):
    return Reduce("s", buffer, index, "add", Const(0.0), Load("x", (RED,)), loops)


def start(*index, buffer="y"):
    return Store("s", buffer, index, Const(0.0))


def step(*index, buffer="y"):
    return Update("s", buffer, index, "add", Load("x", (RED,)))


def test_a_reduction_starts_before_the_outermost_loop_that_reduces():
    leaf = reduction(ROW, loops=("s.k", "s.l"))
    nest = loop("s.i", 2, loop("s.l", 3, loop("s.k", 4, leaf)))
    assert decompose((nest,)) == (
        loop("s.i", 2, start(ROW), loop("s.l", 3, loop("s.k", 4, step(ROW)))),
    )


def test_loops_inside_are_repeated_under_other_names_with_their_kind():
    nest = loop("s.k", 4, loop("s.i", COL + 2, reduction(ROW), lo=COL, kind="vector"))
    first = var("s.i.init")
    assert decompose((loop("s.j", 2, nest),)) == (
        loop(
            "s.j",
            2,
            loop("s.i.init", COL + 2, start(first), lo=COL, kind="vector"),
            loop("s.k", 4, loop("s.i", COL + 2, step(ROW), lo=COL, kind="vector")),
        ),
    )


def test_guards_on_what_is_not_reduced_are_kept():
    guarded = If((ROW - 1, 3 - RED), (reduction(ROW),))
    nest = loop("s.k", 4, loop("s.i", 2, guarded))
    first = var("s.i.init")
    assert decompose((nest,)) == (
        loop("s.i.init", 2, If((first - 1,), (start(first),))),
        loop("s.k", 4, loop("s.i", 2, If((ROW - 1, 3 - RED), (step(ROW),)))),
    )
    only_reduced = loop("s.k", 4, If((3 - RED,), (reduction(),)))
    assert decompose((only_reduced,)) == (start(), loop("s.k", 4, If((3 - RED,), (step(),))))


def test_a_reduction_without_loops_becomes_both_statements_in_place():
    assert decompose((loop("s.i", 2, reduction(ROW, loops=())),)) == (
        loop("s.i", 2, start(ROW), step(ROW)),
    )


def test_several_reductions_start_before_the_loop_they_share():
    nest = loop("s.k", 4, reduction(), reduction(buffer="z"), start(buffer="t"))
    assert decompose((nest,)) == (
        start(),
        start(buffer="z"),
        loop("s.k", 4, step(), step(buffer="z"), start(buffer="t")),
    )


def test_a_reduction_inside_anothers_loop_starts_at_its_own():
    inner = loop("s.l", 3, reduction(loops=("s.l",), buffer="z"))
    nest = loop("s.k", 4, inner, reduction())
    assert decompose((nest,)) == (
        start(),
        loop("s.k", 4, start(buffer="z"), loop("s.l", 3, step(buffer="z")), step()),
    )


def test_what_holds_no_reduction_is_shared():
    body = (loop("s.i", 2, start(ROW)),)
    assert decompose(body) is body
