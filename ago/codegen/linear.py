"""Indices prepared for expansion: what is fixed, and what each unrolled variable adds.

Read `Linear` first. Expanding an unrolled loop then costs a few integer additions an access instead
of a symbolic substitution.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ago.ir.index import Atom, Index, Var, as_index, substitute, variables
from ago.ir.nest import Buffer


@dataclass(frozen=True, slots=True)
class Linear:
    """`base + const + Σ coefficient * variable` over expanded variables.

    Attributes:
        base: Terms of serial loops; its own constant is 0.
        const: The constant part.
        steps: Coefficient of each expanded variable.
        atoms: Terms whose min, max, // or % contain an expanded variable; None if there are none.
    """

    base: Index
    const: int
    steps: tuple[tuple[str, int], ...]
    atoms: Index | None = None

    def at(self, values: Mapping[str, int]) -> tuple[Index, int]:
        """The serial part and the constant part for values of the expanded variables."""
        offset = self.const
        for name, step in self.steps:
            offset += step * values[name]
        if self.atoms is None:
            return self.base, offset
        fixed = {name: as_index(value) for name, value in values.items()}
        whole = self.base + substitute(self.atoms, fixed)
        return Index(whole.terms), offset + whole.const

    def step(self, name: str) -> int | None:
        """How much one step of the variable adds; None if that is not constant."""
        if self.atoms is not None and name in variables(self.atoms):
            return None
        return next((step for variable, step in self.steps if variable == name), 0)


def linear(index: Index, expanded: AbstractSet[str]) -> Linear:
    """Split `index` into serial terms and steps of the `expanded` variables."""
    steps: list[tuple[str, int]] = []
    fixed: list[tuple[Atom, int]] = []
    mixed: list[tuple[Atom, int]] = []
    for atom, coefficient in index.terms:
        if isinstance(atom, Var):
            if atom.name in expanded:
                steps.append((atom.name, coefficient))
            else:
                fixed.append((atom, coefficient))
        elif variables(Index(((atom, 1),))) & expanded:
            mixed.append((atom, coefficient))
        else:
            fixed.append((atom, coefficient))
    atoms = Index(tuple(mixed)) if mixed else None
    return Linear(Index(tuple(fixed)), index.const, tuple(steps), atoms)


def flat_index(buffer: Buffer, index: tuple[Index, ...]) -> Index:
    """The row-major position of `buffer[index]`, in elements."""
    flat = Index()
    for extent, position in zip(buffer.shape, index, strict=True):
        flat = flat * extent + position
    return flat
