"""Bounds hold for every value that enumeration finds."""

import itertools

from hypothesis import assume, given
from hypothesis import strategies as st

from ago.ir.bounds import (
    extremes,
    guarded_interval,
    interval,
    loop_ranges,
    prove,
    simplify,
)
from ago.ir.index import Index, as_index, evaluate, maximum, minimum, var, variables
from ago.ir.nest import For
from ago.ir.proofs import never_negative

NAMES = ("x", "y", "z")

ranges = st.fixed_dictionaries(
    {
        n: st.tuples(st.integers(-4, 4), st.integers(0, 4)).map(lambda r: (r[0], r[0] + r[1]))
        for n in NAMES
    }
)


def indices(names: tuple[str, ...], leaves: int = 6) -> st.SearchStrategy[Index]:
    leaf = st.integers(-8, 8).map(as_index)
    if names:
        leaf = st.one_of(st.sampled_from(names).map(var), leaf)
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds(lambda a, b: a + b, inner, inner),
            st.builds(lambda a, b: a - b, inner, inner),
            st.builds(minimum, inner, inner),
            st.builds(maximum, inner, inner),
            st.builds(lambda a, n: a * n, inner, st.integers(-4, 4)),
            st.builds(lambda a, n: a // n, inner, st.integers(1, 6)),
            st.builds(lambda a, n: a % n, inner, st.integers(1, 6)),
        ),
        max_leaves=leaves,
    )


BOUNDS = [indices(NAMES[:depth], leaves=3) for depth in range(len(NAMES))]
"""Bounds of a loop by how many loops are around it; strategies are slow to make anew."""


@st.composite
def nests(draw: st.DrawFn) -> tuple[For, ...]:
    """Three nested loops; bounds of the inner ones depend on the outer ones."""
    loops = []
    for depth, name in enumerate(NAMES):
        lo = draw(BOUNDS[depth])
        extent = as_index(draw(st.integers(1, 3)))
        if depth and draw(st.booleans()):
            extent = minimum(extent, maximum(1, draw(BOUNDS[depth])))
        loops.append(For(name, lo, lo + extent, "serial", ()))
    return tuple(loops)


def iterations(loops: tuple[For, ...], at: dict[str, int]) -> itertools.chain:
    if not loops:
        return [dict(at)]
    first, *rest = loops
    span = range(evaluate(first.lo, at), evaluate(first.hi, at))
    return itertools.chain.from_iterable(
        iterations(tuple(rest), {**at, first.name: value}) for value in span
    )


def box(limits: dict[str, tuple[int, int]]) -> list[dict[str, int]]:
    spans = [range(low, high + 1) for low, high in limits.values()]
    return [dict(zip(limits, point, strict=True)) for point in itertools.product(*spans)]


@given(indices(NAMES), ranges)
def test_interval_contains_every_value(index, limits):
    low, high = interval(index, limits)
    assert all(low <= evaluate(index, point) <= high for point in box(limits))


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.integers(-4, 4)), max_size=4), ranges)
def test_interval_of_an_affine_index_is_exact(terms, limits):
    index = sum((var(name) * coefficient for name, coefficient in terms), as_index(3))
    found = [evaluate(index, point) for point in box(limits)]
    assert interval(index, limits) == (min(found), max(found))


@given(indices(NAMES), ranges, st.sets(st.sampled_from(NAMES)))
def test_simplify_keeps_every_value(index, limits, known):
    simple = simplify(index, {name: limits[name] for name in known})
    assert all(evaluate(simple, point) == evaluate(index, point) for point in box(limits))


@given(indices(NAMES), nests(), st.integers(0, 3))
def test_extremes_bound_every_iteration(index, loops, kept):
    outer, inner = loops[:kept], loops[kept:]
    low, high = extremes(index, inner)
    assert not (variables(low) | variables(high)) & {loop.name for loop in inner}
    for point in iterations(loops, {}):
        assert evaluate(low, point) <= evaluate(index, point) <= evaluate(high, point)
    assert len(outer) == kept


@given(nests())
def test_loop_ranges_contain_every_iteration(loops):
    limits = loop_ranges(loops)
    for point in iterations(loops, {}):
        assert all(limits[n][0] <= value <= limits[n][1] for n, value in point.items())


@given(indices(NAMES), st.lists(indices(NAMES), max_size=3), ranges)
def test_guarded_interval_contains_every_value_that_the_guards_let_through(index, guards, limits):
    low, high = guarded_interval(index, limits, tuple(guards))
    for point in box(limits):
        if all(evaluate(guard, point) >= 0 for guard in guards):
            assert low <= evaluate(index, point) <= high


@given(indices(NAMES), st.integers(-3, 3), ranges)
def test_a_guard_on_the_index_itself_bounds_it(index, limit, limits):
    assume(not index.is_constant)
    assert guarded_interval(index, limits, (index - limit,))[0] >= limit
    assert guarded_interval(index, limits, (limit - index,))[1] <= limit


@given(indices(NAMES), st.lists(indices(NAMES), max_size=2), ranges)
def test_what_prove_says_is_so(condition, guards, limits):
    points = [p for p in box(limits) if all(evaluate(guard, p) >= 0 for guard in guards)]
    assume(points)
    verdict = prove(condition, limits, tuple(guards))
    held = {evaluate(condition, point) >= 0 for point in points}
    assert verdict is None or held == {verdict}


@given(indices(NAMES), st.lists(indices(NAMES), max_size=2), nests())
def test_never_negative_is_never_wrong(index, guards, loops):
    if never_negative(index, loops, tuple(guards)):
        for point in iterations(loops, {}):
            if all(evaluate(guard, point) >= 0 for guard in guards):
                assert evaluate(index, point) >= 0


@given(st.integers(1, 60), st.integers(1, 8))
def test_balanced_tiles_are_proved_to_stay_inside(extent, tiles):
    """Tiles of `quotient` or one more elements: intervals alone are off by one."""
    tiles = min(tiles, extent)
    quotient, longer = divmod(extent, tiles)
    tile = var("tile")
    size = minimum(tile + 1, longer) - minimum(tile, longer) + quotient
    loops = (
        For("tile", as_index(0), as_index(tiles), "serial", ()),
        For("i", as_index(0), size, "serial", ()),
    )
    index = tile * quotient + minimum(tile, longer) + var("i")
    assert never_negative(extent - 1 - index, loops)
    assert not never_negative(extent - 2 - index, loops)
