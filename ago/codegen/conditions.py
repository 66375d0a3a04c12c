"""Conditions and bounds once the variables of unrolled and vector loops have values.

Read `Conditions` first. Each condition is prepared once; what remains of it then depends on serial
loops only.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ago.codegen.linear import Linear, linear
from ago.ir.index import Index
from ago.ir.value import Condition


@dataclass(frozen=True, slots=True)
class Lanes:
    """The part of a vector loop that one vector covers.

    Attributes:
        loop: Name of the vector loop.
        count: How many lanes are in use.
    """

    loop: str
    count: int


class Conditions:
    """The conditions of one function.

    Args:
        expanded: Loops that copies of their bodies replace.
    """

    def __init__(self, expanded: AbstractSet[str]) -> None:
        self._expanded = expanded
        self._known: dict[int, tuple[Linear, ...]] = {}

    def fixed(self, index: Index, values: Mapping[str, int]) -> Index:
        """An index with the variables of expanded loops replaced by their values."""
        if index.is_constant:
            return index
        base, const = linear(index, self._expanded).at(values)
        return base + const

    def open(self, condition: Condition, values: Mapping[str, int]) -> Condition | None:
        """What is left to test of a condition; None if it is false."""
        left: list[Index] = []
        for index in self._prepared(condition):
            base, const = index.at(values)
            if base.terms:
                left.append(base + const)
            elif const < 0:
                return None
        return tuple(left)

    def mask(
        self, condition: Condition, values: Mapping[str, int], part: Lanes
    ) -> list[bool] | None:
        """Truth of a condition in each lane; None if it depends on serial loops."""
        mask: list[bool] = []
        start = values[part.loop]
        for lane in range(part.count):
            left = self.open(condition, {**values, part.loop: start + lane})
            if left:
                return None
            mask.append(left is not None)
        return mask

    def varies(self, condition: Condition, loop: str) -> bool:
        """Whether a condition depends on a loop's variable."""
        return any(index.step(loop) != 0 for index in self._prepared(condition))

    def _prepared(self, condition: Condition) -> tuple[Linear, ...]:
        known = self._known.get(id(condition))
        if known is None:
            known = tuple(linear(index, self._expanded) for index in condition)
            self._known[id(condition)] = known
        return known


def is_prefix(mask: list[bool]) -> bool:
    """Whether the true lanes come first."""
    return all(mask[: sum(mask)])
