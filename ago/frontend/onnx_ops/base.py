"""How one ONNX node becomes one canonical node.

Read `Canonical` and `Context` first. Invariant: a translator never guesses; what it cannot express
exactly it refuses with `RefusalError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ago.errors import ModelError
from ago.frontend.raw import AnyArray, RawNode
from ago.ir.graph import TensorType


class RefusalError(Exception):
    """A valid node that AGO cannot express; the importer collects its message.

    Attributes:
        value: Name of the input at fault, or `""` if it is the node itself.
    """

    def __init__(self, message: str, value: str = "") -> None:
        self.value = value
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Canonical:
    """What an ONNX node means: one canonical operator on some of its inputs.

    Attributes:
        op: Key of `ago.ir.ops.OPERATORS`.
        inputs: Names of the values it reads.
        attrs: All its attributes.
    """

    op: str
    inputs: tuple[str, ...]
    attrs: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Context:
    """What the importer knows when it reaches a node.

    Attributes:
        types: Types of all values so far that are known.
        constants: Values of all constants so far.
    """

    types: Mapping[str, TensorType]
    constants: Mapping[str, AnyArray]

    def type(self, value: str) -> TensorType:
        """Return the type of an input that must be there.

        Raises:
            ModelError: If it is not.
        """
        if value not in self.types:
            raise ModelError("too few inputs")
        return self.types[value]

    def constant(self, value: str, what: str) -> AnyArray | None:
        """Return the value of a constant input, or None if it is absent.

        Raises:
            RefusalError: If it is not constant; `what` names it.
        """
        if not value:
            return None
        if value not in self.constants:
            raise RefusalError(f"{what} {value!r} is not constant", value)
        return self.constants[value]

    def constant_ints(self, value: str, what: str) -> tuple[int, ...] | None:
        """Return the elements of a constant integer input, or None if it is absent.

        Raises:
            RefusalError: If it is not constant; `what` names it.
        """
        array = self.constant(value, what)
        return None if array is None else tuple(int(item) for item in np.ravel(array))


Translator: TypeAlias = Callable[[RawNode, Context], Canonical]


def int_attr(node: RawNode, name: str, default: int) -> int:
    """Return an integer attribute.

    Raises:
        ModelError: If the file gives something else.
    """
    value = node.attrs.get(name, default)
    if not isinstance(value, int):
        raise ModelError(f"attribute {name!r} must be an integer, not {value!r}")
    return value


def float_attr(node: RawNode, name: str, default: float) -> float:
    """Return a numeric attribute.

    Raises:
        ModelError: If the file gives something else.
    """
    value = node.attrs.get(name, default)
    if not isinstance(value, int | float):
        raise ModelError(f"attribute {name!r} must be a number, not {value!r}")
    return float(value)


def str_attr(node: RawNode, name: str, default: str) -> str:
    """Return a string attribute.

    Raises:
        ModelError: If the file gives something else.
    """
    value = node.attrs.get(name, default)
    if not isinstance(value, str):
        raise ModelError(f"attribute {name!r} must be a string, not {value!r}")
    return value


def ints_attr(node: RawNode, name: str) -> tuple[int, ...] | None:
    """Return an attribute that is a list of integers, or None where the file gives none.

    Raises:
        ModelError: If the file gives something else.
    """
    value = node.attrs.get(name)
    if value is None:
        return None
    if not isinstance(value, tuple) or not all(isinstance(item, int) for item in value):
        raise ModelError(f"attribute {name!r} must be a list of integers, not {value!r}")
    return value


def axis_in_range(axis: int, rank: int) -> int:
    """Return an axis counted from the front; negative ones count from the end.

    Raises:
        ModelError: If a tensor of this rank has no such axis.
    """
    if not -rank <= axis < rank:
        raise ModelError(f"axis {axis} is out of range for rank {rank}")
    return axis + rank if axis < 0 else axis
