"""How one ONNX node becomes one canonical node, or several.

Read `Canonical`, `Expansion` and `Context` first. Invariant: a translator never guesses; what it
cannot express exactly it refuses with `RefusalError`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ago.errors import ModelError
from ago.frontend.raw import AnyArray, RawNode
from ago.ir.graph import TensorType
from ago.ir.ops import OPERATORS
from ago.ir.tensor import dtype_name


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

    The operator's outputs are the node's, in order; the importer names those that the node leaves
    out.

    Attributes:
        op: Key of `ago.ir.ops.OPERATORS`.
        inputs: Names of the values it reads; `""` is an absent optional one.
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
        taken: Names of values that cannot be given again.
        stated: Asks the file, and onnx's shape inference, for the types of values that are made
            later.
    """

    types: Mapping[str, TensorType]
    constants: Mapping[str, AnyArray]
    taken: Container[str] = frozenset()
    stated: Callable[[], Mapping[str, TensorType]] = dict

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


@dataclass(frozen=True, slots=True)
class Part:
    """One canonical node of an expansion.

    Attributes:
        name: Name of the node.
        meaning: Operator, inputs and attributes.
        outputs: Names of the values it makes.
        types: Their types.
    """

    name: str
    meaning: Canonical
    outputs: tuple[str, ...]
    types: tuple[TensorType, ...]


@dataclass(slots=True)
class Expansion:
    """Several canonical nodes that together mean one ONNX node.

    Values between them are named after the node: `attention/scores`.

    Example (in a translator)::

        parts = Expansion(node, context)
        scores = parts.add("scores", "MatMul", query, key)
        weights = parts.add("weights", "Softmax", scores, axis=3)
        return parts.result("MatMul", weights, value)

    Attributes:
        node: The ONNX node.
        context: What is known of its inputs.
        parts: The canonical nodes so far, in order.
        constants: Constants made for them.
        results: Values that are the node's outputs, in order; `""` where unused.
    """

    node: RawNode
    context: Context
    parts: list[Part] = field(default_factory=list)
    constants: dict[str, AnyArray] = field(default_factory=dict)
    results: tuple[str, ...] = ()
    _types: dict[str, TensorType] = field(default_factory=dict)

    def type(self, value: str) -> TensorType:
        """Return the type of an input of the node or of a value made here."""
        return self._types[value] if value in self._types else self.context.type(value)

    def add(self, name: str, op: str, /, *inputs: str, **attrs: object) -> str:
        """Append a canonical node.

        Args:
            name: What it makes, a word; the value is named `node/name`.
            op: Key of `ago.ir.ops.OPERATORS`.
            inputs: Values that it reads; `""` is an absent optional one.
            attrs: All its attributes.

        Returns:
            The name of its first output.

        Raises:
            ModelError: If the operator does not fit its inputs.
        """
        return self.add_many(name, op, *inputs, **attrs)[0]

    def add_many(self, name: str, op: str, /, *inputs: str, **attrs: object) -> tuple[str, ...]:
        """Append a canonical node, as `add` does, and return the names of all its outputs."""
        kinds = [self.type(value) if value else None for value in inputs]
        types = OPERATORS[op].infer(kinds, attrs)
        first = self._define(name, types[0])
        more = (self._define(f"{name}_{k}", types[k]) for k in range(1, len(types)))
        outputs = (first, *more)
        self.parts.append(Part(first, Canonical(op, inputs, attrs), outputs, types))
        return outputs

    def constant(self, name: str, array: AnyArray) -> str:
        """Add a constant, named `node/name`, and return its name."""
        value = self._define(name, TensorType(array.shape, dtype_name(array.dtype)))
        self.constants[value] = array
        return value

    def result(self, op: str, /, *inputs: str, **attrs: object) -> Expansion:
        """Append the canonical node that makes the node's outputs, and return this expansion."""
        return self.outputs(*self.add_many("result", op, *inputs, **attrs))

    def outputs(self, *values: str) -> Expansion:
        """Say which values are the node's outputs, and return this expansion."""
        self.results = values
        return self

    def _define(self, name: str, kind: TensorType) -> str:
        stem = f"{self.node.name}/{name}"
        value, count = stem, 0
        while value in self._types or value in self.context.taken:
            count += 1
            value = f"{stem}_{count}"
        self._types[value] = kind
        return value


T = TypeVar("T")

Translator: TypeAlias = Callable[[RawNode, Context], Canonical | Expansion]


ELEMENT_TYPES: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.float32),
    2: np.dtype(np.uint8),
    3: np.dtype(np.int8),
    6: np.dtype(np.int32),
    7: np.dtype(np.int64),
    9: np.dtype(np.bool_),
    11: np.dtype(np.float64),
}
"""ONNX's numbers of the element types that an attribute may ask for."""


def int_attr(node: RawNode, name: str, default: int) -> int:
    """Return an integer attribute.

    Raises:
        ModelError: If the file gives something else.
    """
    return _checked(name, node.attrs.get(name, default), int, "an integer")


def float_attr(node: RawNode, name: str, default: float) -> float:
    """Return a numeric attribute.

    Raises:
        ModelError: If the file gives something else.
    """
    return float(_checked(name, node.attrs.get(name, default), (int, float), "a number"))


def str_attr(node: RawNode, name: str, default: str) -> str:
    """Return a string attribute.

    Raises:
        ModelError: If the file gives something else.
    """
    return _checked(name, node.attrs.get(name, default), str, "a string")


def ints_attr(node: RawNode, name: str) -> tuple[int, ...] | None:
    """Return an attribute that is a list of integers, or None where the file gives none.

    Raises:
        ModelError: If the file gives something else.
    """
    return _list_attr(node, name, int, "integers")


def floats_attr(node: RawNode, name: str) -> tuple[float, ...] | None:
    """Return an attribute that is a list of numbers, or None where the file gives none.

    Raises:
        ModelError: If the file gives something else.
    """
    found = _list_attr(node, name, (int, float), "numbers")
    return None if found is None else tuple(map(float, found))


def strs_attr(node: RawNode, name: str) -> tuple[str, ...] | None:
    """Return an attribute that is a list of strings, or None where the file gives none.

    Raises:
        ModelError: If the file gives something else.
    """
    return _list_attr(node, name, str, "strings")


def _checked(name: str, value: object, kind: type[T] | tuple[type[T], ...], what: str) -> T:
    """`value`, which the attribute `name` has, if it is of some type."""
    if not isinstance(value, kind):
        raise ModelError(f"attribute {name!r} must be {what}, not {value!r}")
    return value


def _list_attr(
    node: RawNode, name: str, kind: type[T] | tuple[type[T], ...], what: str
) -> tuple[T, ...] | None:
    """An attribute that is a list of some type, or None where the file gives none."""
    value = node.attrs.get(name)
    if value is None:
        return None
    if not isinstance(value, tuple) or not all(isinstance(item, kind) for item in value):
        raise ModelError(f"attribute {name!r} must be a list of {what}, not {value!r}")
    return value


def axis_in_range(axis: int, rank: int) -> int:
    """Return an axis counted from the front; negative ones count from the end.

    Raises:
        ModelError: If a tensor of this rank has no such axis.
    """
    if not -rank <= axis < rank:
        raise ModelError(f"axis {axis} is out of range for rank {rank}")
    return axis + rank if axis < 0 else axis
