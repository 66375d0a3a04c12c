"""A proof is never wrong: enumeration at small extents agrees with it."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from ago.ir.index import Index, as_index, evaluate, maximum, minimum, var
from ago.ir.proofs import never_negative
from tests.support.programs import loop

EXTENTS = {"a": 4, "b": 3, "c": 5}

leaves = st.one_of(st.integers(-4, 8).map(as_index), st.sampled_from([var(n) for n in EXTENTS]))


def larger(inner: st.SearchStrategy[Index]) -> st.SearchStrategy[Index]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        pair.map(lambda p: p[0] + p[1]),
        pair.map(lambda p: p[0] - p[1]),
        pair.map(lambda p: minimum(*p)),
        pair.map(lambda p: maximum(*p)),
        st.tuples(inner, st.sampled_from([-2, 2, 3])).map(lambda p: p[0] * p[1]),
        st.tuples(inner, st.integers(2, 4)).map(lambda p: p[0] // p[1]),
        st.tuples(inner, st.integers(2, 4)).map(lambda p: p[0] % p[1]),
    )


indices = st.recursive(leaves, larger, max_leaves=6)


@given(index=indices, known=st.lists(indices, max_size=2))
def test_what_is_proved_holds_everywhere(index: Index, known: list[Index]) -> None:
    loops = tuple(loop(name, extent) for name, extent in EXTENTS.items())
    points = [
        dict(zip(EXTENTS, point, strict=True)) for point in product(*map(range, EXTENTS.values()))
    ]
    inside = [p for p in points if all(evaluate(fact, p) >= 0 for fact in known)]
    lowest = min((evaluate(index, p) for p in inside), default=0)
    if never_negative(index, loops, tuple(known)):
        assert lowest >= 0
    assert not inside or not never_negative(index - lowest - 1, loops, tuple(known))
