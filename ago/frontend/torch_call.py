"""What the handlers of PyTorch's operators are given, and helpers that they share.

Read `Call` and `Reader` first. A handler emits ONNX nodes through a `Reader`; the importer then
reads those as it reads a file, so that each operator is understood in one place. Invariant: a
handler never guesses; what it cannot express it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ago.frontend.raw import AnyArray


class Reader(Protocol):
    """Where a handler puts what an ATen operator means."""

    def value(self, argument: object, like: object = None) -> str:
        """Return the name of an argument: a tensor, or a number of the type of `like`."""

    def constant(self, array: AnyArray) -> str:
        """Return the name of a new constant."""

    def shape(self, argument: object) -> tuple[int, ...]:
        """Return the extents of a tensor."""

    def dtype(self, argument: object) -> str:
        """Return the short name of a tensor's element type."""

    def emit(self, op: str, *inputs: str, **attrs: object) -> str:
        """Append an ONNX node with one output, and return its name."""

    def emit_many(self, op: str, count: int, *inputs: str, **attrs: object) -> tuple[str, ...]:
        """Append an ONNX node, and return the names of its outputs."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an ATen operator.

    Attributes:
        arguments: By name, defaults filled in.
        result: Extents of its first result.
        dtype: Short name of the result's element type.
    """

    arguments: dict[str, Any]
    result: tuple[int, ...]
    dtype: str

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - whatever torch's schema says
        return self.arguments[name]

    @property
    def first(self) -> Any:  # noqa: ANN401
        """The first argument, which some operators call `self` and others `input`."""
        return next(iter(self.arguments.values()))

    def get(self, name: str, default: object = None) -> Any:  # noqa: ANN401
        """Return an argument, or the default where the operator has none."""
        return self.arguments.get(name, default)


Handler = Callable[[Call, Reader], str | tuple[str, ...]]


def int_vector(reader: Reader, values: Sequence[int]) -> str:
    """Return the name of a new constant of integers."""
    return reader.constant(np.array(values, np.int64))


def per_axis(value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """One number for each axis; torch takes one for all, too."""
    listed = (value,) if isinstance(value, int) else tuple(value)
    return listed * rank if len(listed) == 1 else listed


def positive_axis(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    return axis + rank if axis < 0 else axis
