"""What an operator's table row says, and helpers that the rows share.

Read `Operator` first. Invariant: `infer` accepts exactly the inputs on which `reference` is
defined, and the reference's arrays have the inferred shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ago.errors import ElementTypeError, ModelError
from ago.ir.tensor import TensorType

Array: TypeAlias = npt.NDArray[np.float64]
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
        reference: The definition: from float64 arrays (None where absent) and attributes to
            float64 arrays.
    """

    name: str
    kind: Kind
    infer: Infer
    reference: Reference


def required_types(types: InputTypes, low: int, high: int) -> tuple[TensorType, ...]:
    """Return the types of the inputs that are present, after checking number and element type.

    Args:
        types: Types of the node's inputs; None where an optional one is absent.
        low: How many inputs must be present, from the first on.
        high: How many there may be.

    Raises:
        ModelError: If there are too few or too many.
        ElementTypeError: If one is not float32.
    """
    present = tuple(kind for kind in types if kind is not None)
    if None in types[:low] or not low <= len(types) <= high:
        wanted = str(low) if low == high else f"{low} to {high}"
        raise ModelError(f"takes {wanted} inputs, not {len(present)}")
    for kind in present:
        if kind.dtype != "f32":
            raise ElementTypeError(f"needs float32 tensors, not {kind}")
    return present


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
