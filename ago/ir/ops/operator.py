"""What an operator's table row says, and helpers that the rows share.

Read `Operator` first. Invariant: `infer` accepts exactly the inputs on which `reference` is
defined, and the reference's arrays have the inferred shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ago.errors import ElementTypeError, ModelError
from ago.ir.tensor import TensorType, numpy_dtype

Array: TypeAlias = npt.NDArray[Any]
"""What references compute with: float64 for any float, integers and bools as they are."""

Attrs: TypeAlias = Mapping[str, object]
Kind = Literal["complex", "elementwise", "reduction", "movement", "extern"]
InputTypes: TypeAlias = Sequence[TensorType | None]
InputArrays: TypeAlias = Sequence[Array | None]
Infer: TypeAlias = Callable[[InputTypes, Attrs], tuple[TensorType, ...]]
Reference: TypeAlias = Callable[[InputArrays, Attrs], tuple[Array, ...]]


@dataclass(frozen=True, slots=True)
class Operator:
    """One canonical operator.

    Attributes:
        name: The `op` of its nodes.
        kind: `complex` contracts two tensors, `elementwise` maps elements (with broadcasting),
            `reduction` combines elements of one tensor, `movement` only moves them; `extern` is
            computed by a C function of `csrc/extern`, never tiled or fused.
        infer: From input types (None where absent) and attributes to output types. Raises
            `ModelError` where they do not fit each other.
        reference: The definition: from arrays (None where absent) and attributes to arrays; floats
            are float64, integers and bools have the tensor's own type, so that they wrap around as
            it does.
        permutes: Whether its result is its first input's elements, each once, in another order or
            shape.
    """

    name: str
    kind: Kind
    infer: Infer
    reference: Reference
    permutes: bool = False


FLOAT32 = frozenset({"f32"})


def required_types(
    types: InputTypes, low: int, high: int, dtypes: Collection[str] = FLOAT32
) -> tuple[TensorType, ...]:
    """Return the types of the inputs that are present, after checking number and element type.

    Args:
        types: Types of the node's inputs; None where an optional one is absent.
        low: How many inputs must be present, from the first on.
        high: How many there may be.
        dtypes: Element types that they may have.

    Raises:
        ModelError: If there are too few or too many.
        ElementTypeError: If one has another element type.
    """
    present = tuple(kind for kind in types if kind is not None)
    if None in types[:low] or not low <= len(types) <= high:
        wanted = str(low) if low == high else f"{low} to {high}"
        raise ModelError(f"takes {wanted} inputs, not {len(present)}")
    for kind in present:
        if kind.dtype not in dtypes:
            wanted = "float32" if dtypes == FLOAT32 else ", ".join(sorted(dtypes))
            raise ElementTypeError(f"needs {wanted} tensors, not {kind}")
    return present


def require_same_dtype(types: Sequence[TensorType]) -> str:
    """Return the element type that all of some tensors have.

    Raises:
        ElementTypeError: If they differ.
    """
    found = sorted({kind.dtype for kind in types})
    if len(found) != 1:
        raise ElementTypeError(f"needs tensors of one element type, not {' and '.join(found)}")
    return found[0]


def as_reference(array: npt.ArrayLike, dtype: str) -> Array:
    """Return the elements of a tensor as references compute with them: floats as float64."""
    kind = numpy_dtype(dtype)
    return np.asarray(array, np.float64 if kind.kind == "f" else kind)


def require(condition: bool, message: str) -> None:
    """Raise `ModelError` with `message` unless the condition holds."""
    if not condition:
        raise ModelError(message)


def array(inputs: InputArrays, position: int) -> Array:
    """Return an input that must be present.

    Raises:
        ModelError: If it is absent.
    """
    value = inputs[position]
    if value is None:
        raise ModelError(f"input {position} is absent")
    return value


def optional(inputs: InputArrays, position: int) -> Array | None:
    """Return an input, or None where it is absent."""
    return inputs[position] if position < len(inputs) else None
