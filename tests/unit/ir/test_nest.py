"""Statements: stages' naive nests, walking, rewriting, renaming."""

import pytest

from ago.errors import IRError
from ago.ir.index import as_index, var
from ago.ir.nest import Axis, For, If, Reduce, Stage, Store, leaves, path_to, rewrite, walk
from ago.ir.reindexing import map_stmt_indices, rename_loops, substitute_body
from ago.ir.value import Const, Load
from tests.support.programs import loop, matmul

STORE = Store("s", "y", (var("s.i") + var("s.j"),), Load("x", (var("s.j"),)))
GUARD = If((var("s.j") - 1,), (STORE,))
NEST = loop("s.i", 4, loop("s.j", 8, GUARD))
OTHER = loop("t.i", 4)


def test_a_stage_makes_its_naive_nest():
    (nest,) = matmul(3, 5, 2).program.body
    assert [stmt.name for stmt in walk((nest,)) if isinstance(stmt, For)] == [
        "mm.i",
        "mm.j",
        "mm.k",
    ]
    (leaf,) = leaves((nest,))
    assert isinstance(leaf, Reduce)
    assert leaf.loops == ("mm.k",)


def test_a_stage_without_reduction_stores_and_its_guard_surrounds_the_leaf():
    y = var("pad.y")
    stage = Stage("pad", (Axis("y", 4),), "t", (y,), Const(0.0), guard=(y - 1,))
    assert stage.nest() == loop("pad.y", 4, If((y - 1,), (Store("pad", "t", (y,), Const(0.0)),)))
    assert stage.reduce_loops == ()
    assert stage.axis("y").extent == 4
    with pytest.raises(IRError, match=r"stage pad has no axis 'x'; it has y") as refusal:
        stage.axis("x")
    assert refusal.value.code == "unknown-axis"


def test_walk_goes_from_outside_in_and_in_order():
    assert list(walk((NEST, OTHER))) == [NEST, NEST.body[0], GUARD, STORE, OTHER]
    assert list(leaves((NEST, OTHER))) == [STORE]


def test_path_to_a_loop():
    assert path_to((OTHER, NEST), "s.j") == (NEST, NEST.body[0])
    assert path_to((loop("a", 2, GUARD), If((), (OTHER,))), "t.i") == (If((), (OTHER,)), OTHER)
    assert path_to((NEST,), "t.i") is None


def test_rewrite_shares_what_it_does_not_touch():
    body = (NEST, OTHER)
    assert rewrite(body, lambda stmt: None) is body
    removed = rewrite(body, lambda stmt: () if stmt is OTHER else None)
    assert removed == (NEST,)
    assert removed[0] is NEST
    doubled = rewrite(body, lambda stmt: (stmt, stmt) if stmt is STORE else None)
    assert list(leaves(doubled)) == [STORE, STORE]
    assert doubled[1] is OTHER


def test_substitution_reaches_bounds_guards_indices_and_initial_values():
    n = var("n")
    leaf = Reduce("s", "y", (n,), "add", Load("b", (n,)), Load("x", (n,)), ("k",))
    before = loop("k", n + 2, If((n,), (leaf,)), lo=n)
    (after,) = substitute_body((before,), {"n": as_index(3)})
    three = (as_index(3),)
    changed = Reduce("s", "y", three, "add", Load("b", three), Load("x", three), ("k",))
    assert after == loop("k", 5, If(three, (changed,)), lo=3)
    assert map_stmt_indices(before, lambda index: index) == before


def test_renaming_loops_renames_variables_and_reductions():
    k = var("k")
    leaf = Reduce("s", "y", (), "add", Const(0.0), Load("x", (k,)), ("k",))
    (renamed,) = rename_loops((loop("k", 2, loop("j", k + 1, leaf)),), {"k": "j", "j": "k"})
    other = Reduce("s", "y", (), "add", Const(0.0), Load("x", (var("j"),)), ("j",))
    assert renamed == loop("j", 2, loop("k", var("j") + 1, other))


def test_a_loop_knows_its_extent_and_its_variable():
    made = loop("s.i", var("n") + 4, lo=var("n"))
    assert made.extent == as_index(4)
    assert made.index == var("s.i")
