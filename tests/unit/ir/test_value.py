"""Walking and rewriting values."""

from ago.ir.index import as_index, var
from ago.ir.value import (
    Call,
    Const,
    Load,
    Select,
    add,
    loads,
    map_value,
    mul,
    substitute_value,
)

X, Y = var("x"), var("y")
A, B, C = Load("a", (X,)), Load("b", (Y,)), Load("c", (X, Y))
GUARDED = Select((X - 1,), add(A, Select((Y,), B, Const(0.0))), C)


def test_loads_come_in_order_with_the_guards_of_the_branch_taken():
    assert list(loads(mul(GUARDED, A))) == [(A, (X - 1,)), (B, (X - 1, Y)), (C, ()), (A, ())]


def test_substitution_changes_indices_and_conditions():
    assert substitute_value(GUARDED, {"x": Y * 2}) == Select(
        (Y * 2 - 1,),
        add(Load("a", (Y * 2,)), Select((Y,), B, Const(0.0))),
        Load("c", (Y * 2, Y)),
    )


def test_map_value_replaces_whole_subtrees_from_the_top():
    seen = []

    def change(value):
        seen.append(value)
        if isinstance(value, Select):
            return Const(1.0)
        return Load("d", (as_index(0),)) if value == A else None

    total = add(GUARDED, Call("max", (Const(0.0), A)))
    assert map_value(total, change) == add(
        Const(1.0), Call("max", (Const(0.0), Load("d", (as_index(0),))))
    )
    assert B not in seen
