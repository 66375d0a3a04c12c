"""Integer index expressions: affine in loop variables, min, max, //, % and constant tables.

Read `Index` first: a canonical sum `const + Σ coefficient * atom`, so that equal expressions of the
same shape compare equal. Build indices with Python's operators from `var(name)`; `Index` keeps them
canonical. Intervals and range-based simplification live in `bounds`. Equal expressions are one
object, and what is computed of them is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ago.ir.interned import KEPT, Interned


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Var(metaclass=Interned):
    """A loop variable, named after its loop."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Min(metaclass=Interned):
    """The smaller of two indices."""

    a: Index
    b: Index

    def __str__(self) -> str:
        return f"min({self.a}, {self.b})"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Max(metaclass=Interned):
    """The larger of two indices."""

    a: Index
    b: Index

    def __str__(self) -> str:
        return f"max({self.a}, {self.b})"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class FloorDiv(metaclass=Interned):
    """`value // divisor`, rounding towards minus infinity; `divisor` is positive."""

    value: Index
    divisor: int

    def __str__(self) -> str:
        return f"({_operand(self.value)} // {self.divisor})"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Mod(metaclass=Interned):
    """`value % divisor`, in `[0, divisor)`; `divisor` is positive."""

    value: Index
    divisor: int

    def __str__(self) -> str:
        return f"({_operand(self.value)} % {self.divisor})"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Table(metaclass=Interned):
    """Constant integers that an index may look up.

    Attributes:
        entries: The integers; at least one.
    """

    entries: tuple[int, ...]

    def interval(self, low: int, high: int) -> tuple[int, int]:
        """The smallest and largest entry at the places `[low, high]`, as far as there are such."""
        part = self.entries[max(low, 0) : max(high, 0) + 1] or self.entries
        return min(part), max(part)

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.entries))},)"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Lookup(metaclass=Interned):
    """`table[place]`; `place` stays inside the table."""

    table: Table
    place: Index

    def __str__(self) -> str:
        return f"{self.table}[{self.place}]"


Atom = Var | Min | Max | FloorDiv | Mod | Lookup


def _operand(index: Index) -> str:
    """`index` as the left operand of `//` or `%`: in parentheses unless it is one variable."""
    text = str(index)
    return text if text.replace(".", "_").isidentifier() else f"({text})"


def _sort_key(atom: Atom) -> str:
    return atom.name if isinstance(atom, Var) else _text(atom)


@lru_cache(maxsize=KEPT)
def _text(atom: Atom) -> str:
    return str(atom)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Index(metaclass=Interned):
    """An affine integer expression `const + Σ coefficient * atom`.

    Attributes:
        terms: `(atom, coefficient)` pairs, coefficients nonzero, atoms distinct and sorted by text.
        const: The constant part.
    """

    terms: tuple[tuple[Atom, int], ...] = ()
    const: int = 0

    def __post_init__(self) -> None:
        if not all(type(number) is int for number in (self.const, *(c for _, c in self.terms))):
            raise TypeError(f"an index needs whole numbers, not {self}")

    def __add__(self, other: Index | int) -> Index:
        return _sum(self, other)

    def __radd__(self, other: int) -> Index:
        return _sum(self, other)

    def __sub__(self, other: Index | int) -> Index:
        return _sum(self, _product(other, -1) if isinstance(other, Index) else -other)

    def __rsub__(self, other: int) -> Index:
        return _sum(_product(self, -1), other)

    def __neg__(self) -> Index:
        return _product(self, -1)

    def __mul__(self, factor: int) -> Index:
        return _product(self, factor)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Index:
        """Floor division by a positive constant; exact multiples leave the division."""
        if divisor <= 0:
            raise ValueError(f"index division needs a positive constant, got {divisor}")
        whole, rest = self._split_multiples(divisor)
        if not rest.terms:
            return whole + rest.const // divisor
        return whole + Index(((FloorDiv(rest, divisor), 1),))

    def __mod__(self, divisor: int) -> Index:
        """Remainder by a positive constant, in `[0, divisor)`; exact multiples vanish."""
        if divisor <= 0:
            raise ValueError(f"index remainder needs a positive constant, got {divisor}")
        _, rest = self._split_multiples(divisor)
        if not rest.terms:
            return Index((), rest.const % divisor)
        return Index(((Mod(rest, divisor), 1),))

    def _split_multiples(self, divisor: int) -> tuple[Index, Index]:
        """Return `(whole, rest)` with `self == divisor * whole + rest`, rest as small as can be."""
        if divisor == 1:
            return self, Index()
        whole = tuple((a, c // divisor) for a, c in self.terms if c % divisor == 0)
        rest = tuple((a, c) for a, c in self.terms if c % divisor)
        return Index(whole, self.const // divisor), Index(rest, self.const % divisor)

    @property
    def is_constant(self) -> bool:
        """Whether no variable occurs."""
        return not self.terms

    def coefficient(self, name: str) -> int:
        """The coefficient of the variable `name` outside any atom; 0 if it does not occur there."""
        for atom, coefficient in self.terms:
            if isinstance(atom, Var) and atom.name == name:
                return coefficient
        return 0

    def __str__(self) -> str:
        return _written(self)


@lru_cache(maxsize=KEPT)
def _written(index: Index) -> str:
    """An index as Python text."""
    match index:
        case Index(((FloorDiv() | Mod() as only, 1),), 0):
            return str(only)[1:-1]
    parts: list[str] = []
    leads = index.const > 0 and all(coefficient < 0 for _, coefficient in index.terms)
    if leads:
        parts.append(str(index.const))
    for atom, coefficient in index.terms:
        magnitude = "" if abs(coefficient) == 1 else f"{abs(coefficient)} * "
        sign = "-" if coefficient < 0 else "+"
        text = f"{magnitude}{atom}"
        if parts:
            parts.append(f" {sign} {text}")
        else:
            parts.append(text if coefficient > 0 else f"-{text}")
    if not parts:
        return str(index.const)
    if index.const and not leads:
        parts.append(f" {'-' if index.const < 0 else '+'} {abs(index.const)}")
    return "".join(parts)


@lru_cache(maxsize=KEPT)
def _product(index: Index, factor: int) -> Index:
    if factor == 0:
        return Index()
    return Index(tuple([(atom, c * factor) for atom, c in index.terms]), index.const * factor)


@lru_cache(maxsize=KEPT)
def _sum(a: Index, b: Index | int) -> Index:
    """`a + b`: both have their terms in order, which are merged."""
    if isinstance(b, int):
        return Index(a.terms, a.const + b)
    left = [(_sort_key(atom), atom, c) for atom, c in a.terms]
    merged: list[tuple[Atom, int]] = []
    place = 0
    for atom, c in b.terms:
        key = _sort_key(atom)
        while place < len(left) and left[place][0] < key:
            merged.append((left[place][1], left[place][2]))
            place += 1
        total = c
        if place < len(left) and left[place][0] == key:
            total += left[place][2]
            place += 1
        if total:
            merged.append((atom, total))
    merged += [(atom, c) for _, atom, c in left[place:]]
    return Index(tuple(merged), a.const + b.const)


@lru_cache(maxsize=KEPT)
def var(name: str) -> Index:
    """The index that is the loop variable `name`."""
    return Index(((Var(name), 1),))


def as_index(value: Index | int) -> Index:
    """`value` as an `Index`; integers become constants."""
    return Index((), value) if isinstance(value, int) else value


def minimum(a: Index | int, b: Index | int) -> Index:
    """The smaller of two indices, folded where their difference is constant."""
    a, b = as_index(a), as_index(b)
    difference = a - b
    if difference.is_constant:
        return a if difference.const <= 0 else b
    first, second = sorted((a, b), key=str)
    return Index(((Min(first, second), 1),))


def maximum(a: Index | int, b: Index | int) -> Index:
    """The larger of two indices, folded where their difference is constant."""
    a, b = as_index(a), as_index(b)
    difference = a - b
    if difference.is_constant:
        return a if difference.const >= 0 else b
    first, second = sorted((a, b), key=str)
    return Index(((Max(first, second), 1),))


def lookup(table: Sequence[int] | Table, place: Index | int) -> Index:
    """The index `table[place]`, folded where `place` is constant.

    Args:
        table: Its entries.
        place: Which one; inside the table for all values of its variables.
    """
    entries = table if isinstance(table, Table) else Table(tuple(table))
    place = as_index(place)
    if place.is_constant:
        return as_index(entries.entries[place.const])
    return Index(((Lookup(entries, place), 1),))


def map_atoms(index: Index, change: Callable[[Atom], Index]) -> Index:
    """Rebuild `index` with every atom replaced by `change(atom)`."""
    result = Index((), index.const)
    for atom, coefficient in index.terms:
        result = result + change(atom) * coefficient
    return result


def rebuild_atom(atom: Atom, change: Callable[[Index], Index]) -> Index:
    """`atom` with its operands replaced by `change(operand)`, folded where that is possible."""
    match atom:
        case Var():
            return Index(((atom, 1),))
        case Min(a, b):
            return minimum(change(a), change(b))
        case Max(a, b):
            return maximum(change(a), change(b))
        case FloorDiv(value, divisor):
            return change(value) // divisor
        case Mod(value, divisor):
            return change(value) % divisor
        case Lookup(table, place):
            return lookup(table, change(place))


def substitute(index: Index, replacements: Mapping[str, Index]) -> Index:
    """Replace variables by indices, also inside atoms.

    Args:
        index: The expression.
        replacements: New index of each variable, by loop name; others stay.

    Returns:
        The rewritten canonical index.
    """
    names = variables(index)
    if names.isdisjoint(replacements):
        return index
    return _substitute(index, tuple([(n, replacements[n]) for n in names if n in replacements]))


@lru_cache(maxsize=KEPT)
def _substitute(index: Index, pairs: tuple[tuple[str, Index], ...]) -> Index:
    replacements = dict(pairs)

    def change(atom: Atom) -> Index:
        if isinstance(atom, Var):
            return replacements.get(atom.name) or Index(((atom, 1),))
        return rebuild_atom(atom, lambda operand: substitute(operand, replacements))

    return map_atoms(index, change)


@lru_cache(maxsize=KEPT)
def variables(index: Index) -> frozenset[str]:
    """Names of all loop variables that occur in `index`, inside atoms too."""
    names: set[str] = set()
    for atom, _ in index.terms:
        match atom:
            case Var(name):
                names.add(name)
            case Min(a, b) | Max(a, b):
                names |= variables(a) | variables(b)
            case FloorDiv(value, _) | Mod(value, _) | Lookup(_, value):
                names |= variables(value)
    return frozenset(names)


def tables(index: Index) -> Iterator[Table]:
    """The constant tables that occur in `index`, inside atoms too."""
    for atom, _ in index.terms:
        match atom:
            case Min(a, b) | Max(a, b):
                yield from tables(a)
                yield from tables(b)
            case FloorDiv(value, _) | Mod(value, _):
                yield from tables(value)
            case Lookup(table, place):
                yield table
                yield from tables(place)


def evaluate(index: Index, values: Mapping[str, int]) -> int:
    """The integer value of `index` with every variable given a value."""
    total = index.const
    for atom, coefficient in index.terms:
        match atom:
            case Var(name):
                total += coefficient * values[name]
            case Min(a, b):
                total += coefficient * min(evaluate(a, values), evaluate(b, values))
            case Max(a, b):
                total += coefficient * max(evaluate(a, values), evaluate(b, values))
            case FloorDiv(value, divisor):
                total += coefficient * (evaluate(value, values) // divisor)
            case Mod(value, divisor):
                total += coefficient * (evaluate(value, values) % divisor)
            case Lookup(table, place):
                total += coefficient * table.entries[evaluate(place, values)]
    return total
