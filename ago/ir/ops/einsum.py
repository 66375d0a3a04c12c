"""Sums of products by Einstein's convention.

Read `Equation` first. Invariant: each axis of each tensor has a letter, also those that an ellipsis
stood for, and the result's letters are all among those of the operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ago.ir.attributes import read_str
from ago.ir.ops.operator import (
    Array,
    Attrs,
    InputArrays,
    InputTypes,
    Operator,
    array,
    require,
    required_types,
)
from ago.ir.tensor import TensorType


@dataclass(frozen=True, slots=True)
class Equation:
    """Which axes belong together.

    Attributes:
        operands: A letter an axis, for each operand; one that occurs twice means the diagonal.
        result: The letters of the result; those that are not among them are summed over.
    """

    operands: tuple[str, ...]
    result: str

    @classmethod
    def parse(cls, text: str) -> Equation:
        """Read `ab,bc->ac`."""
        left, _, right = text.partition("->")
        return cls(tuple(left.split(",")), right)

    def __str__(self) -> str:
        return f"{','.join(self.operands)}->{self.result}"

    @property
    def summed(self) -> str:
        """The letters that are summed over, in order of appearance."""
        letters = dict.fromkeys("".join(self.operands))
        return "".join(letter for letter in letters if letter not in self.result)

    def extents(self, shapes: Sequence[Sequence[int]]) -> dict[str, int]:
        """The extent of each letter; an operand may have 1 where others have more.

        Raises:
            ModelError: The operands' shapes do not fit.
        """
        found: dict[str, int] = {}
        for letters, shape in zip(self.operands, shapes, strict=True):
            require(len(letters) == len(shape), f"{letters!r} does not name the axes of {shape}")
            for letter, extent in zip(letters, shape, strict=True):
                known = found.get(letter, 1)
                require(1 in (known, extent) or known == extent, f"extents of {letter!r} differ")
                found[letter] = extent if known == 1 else known
        return found


def infer_einsum(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Einsum(x, y?)` by the attribute `equation`."""
    kinds = required_types(types, 1, 2)
    equation = Equation.parse(read_str(attrs, "equation"))
    count = len(equation.operands)
    require(count == len(kinds), f"equation {equation} is one of {count} operands")
    require(len(set(equation.result)) == len(equation.result), f"{equation} repeats a letter")
    extents = equation.extents([kind.shape for kind in kinds])
    unknown = set(equation.result) - extents.keys()
    require(not unknown, f"equation {equation} has no operand with {sorted(unknown)}")
    return (TensorType(tuple(extents[letter] for letter in equation.result)),)


def einsum_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return the sum over all letters that the result lacks of the operands' product."""
    operands = [array(inputs, position) for position in range(len(inputs))]
    with np.errstate(invalid="ignore", over="ignore"):
        return (np.asarray(np.einsum(read_str(attrs, "equation"), *operands)),)


OPERATORS = (Operator("Einsum", "complex", infer_einsum, einsum_reference),)
