"""Index arithmetic is integer arithmetic, and canonical."""

from collections.abc import Callable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from ago.ir.index import (
    Index,
    as_index,
    evaluate,
    maximum,
    minimum,
    substitute,
    var,
    variables,
)

NAMES = ("a.x", "a.y", "b.z")
Values = Mapping[str, int]
Pair = tuple[Index, Callable[[Values], int]]
"""An index, and the same expression computed by Python itself."""

values = st.fixed_dictionaries({name: st.integers(-20, 20) for name in NAMES})


def _variable(name: str) -> Pair:
    return var(name), lambda v: v[name]


def _constant(number: int) -> Pair:
    return as_index(number), lambda v: number


def _extend(pairs: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    small, positive = st.integers(-6, 6), st.integers(1, 9)
    return st.one_of(
        st.builds(lambda a, b: (a[0] + b[0], lambda v: a[1](v) + b[1](v)), pairs, pairs),
        st.builds(lambda a, b: (a[0] - b[0], lambda v: a[1](v) - b[1](v)), pairs, pairs),
        st.builds(
            lambda a, b: (minimum(a[0], b[0]), lambda v: min(a[1](v), b[1](v))), pairs, pairs
        ),
        st.builds(
            lambda a, b: (maximum(a[0], b[0]), lambda v: max(a[1](v), b[1](v))), pairs, pairs
        ),
        st.builds(lambda a, n: (a[0] * n, lambda v: a[1](v) * n), pairs, small),
        st.builds(lambda a, n: (n - a[0], lambda v: n - a[1](v)), pairs, small),
        st.builds(lambda a, n: (-a[0] + n, lambda v: -a[1](v) + n), pairs, small),
        st.builds(lambda a, n: (a[0] // n, lambda v: a[1](v) // n), pairs, positive),
        st.builds(lambda a, n: (a[0] % n, lambda v: a[1](v) % n), pairs, positive),
    )


pairs = st.recursive(
    st.one_of(st.sampled_from(NAMES).map(_variable), st.integers(-9, 9).map(_constant)),
    _extend,
    max_leaves=8,
)
indices = pairs.map(lambda pair: pair[0])


@given(pairs, values)
def test_operators_compute_what_python_computes(pair, numbers):
    index, reference = pair
    assert evaluate(index, numbers) == reference(numbers)


@given(indices, values)
def test_text_is_the_expression_in_python(index, numbers):
    text = str(index)
    for position, name in enumerate(NAMES):
        text = text.replace(name, f"v{position}")
    scope = {f"v{position}": numbers[name] for position, name in enumerate(NAMES)}
    assert eval(text, scope) == evaluate(index, numbers)


@given(indices, indices, indices)
def test_sums_are_canonical(a, b, c):
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + b - b == a
    assert a - a == Index()
    assert a * 2 == a + a
    assert minimum(a, b) == minimum(b, a)
    assert maximum(a, b) == maximum(b, a)


@given(indices)
def test_invariant_of_the_representation(index):
    atoms = [atom for atom, _ in index.terms]
    assert len(set(atoms)) == len(atoms)
    assert [str(atom) for atom in atoms] == sorted(str(atom) for atom in atoms)
    assert all(coefficient != 0 for _, coefficient in index.terms)


@given(indices, st.integers(1, 9))
def test_multiples_leave_division_and_vanish_from_remainder(index, divisor):
    assert (index * divisor) // divisor == index
    assert (index * divisor) % divisor == Index()
    assert (index + divisor) % divisor == index % divisor


@given(indices, indices, indices, values)
def test_substitution_evaluates_replacements_first(index, x, y, numbers):
    replaced = substitute(index, {"a.x": x, "a.y": y})
    at = {**numbers, "a.x": evaluate(x, numbers), "a.y": evaluate(y, numbers)}
    assert evaluate(replaced, numbers) == evaluate(index, at)


@given(indices, values, values)
def test_value_depends_on_the_variables_only(index, numbers, others):
    mixed = {n: numbers[n] if n in variables(index) else others[n] for n in NAMES}
    assert evaluate(index, mixed) == evaluate(index, numbers)


@given(indices)
def test_replacing_a_variable_by_itself_changes_nothing(index):
    assert substitute(index, {name: var(name) for name in NAMES}) == index
