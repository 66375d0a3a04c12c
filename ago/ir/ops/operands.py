"""Inputs of operators whose inputs differ in element type.

Read `operand` first.
"""

from __future__ import annotations

from collections.abc import Collection

from ago.errors import ElementTypeError, ModelError
from ago.ir.ops.operator import InputTypes
from ago.ir.tensor import TensorType

FLOAT = frozenset({"f32"})
INDEX = frozenset({"i32", "i64"})
NUMBER = frozenset({"f32", "i64", "i32", "i16", "i8", "u8"})
"""What externs that compare or add elements take."""

ANY = frozenset({*NUMBER, "bool", "f16", "f64", "u16", "u32", "u64"})
"""What externs that only move elements take."""


def operand(
    types: InputTypes, position: int, name: str, dtypes: Collection[str] = FLOAT
) -> TensorType:
    """Return the type of an input that must be present.

    Args:
        types: Types of the node's inputs; None where an optional one is absent.
        position: Which of them.
        name: What messages call it.
        dtypes: Element types that it may have.

    Raises:
        ModelError: If it is absent.
        ElementTypeError: If it has another element type.
    """
    kind = optional_operand(types, position, name, dtypes)
    if kind is None:
        raise ModelError(f"input {position} ({name}) is missing")
    return kind


def optional_operand(
    types: InputTypes, position: int, name: str, dtypes: Collection[str] = FLOAT
) -> TensorType | None:
    """Return the type of an input, or None where it is absent; see `operand`."""
    kind = types[position] if position < len(types) else None
    if kind is not None and kind.dtype not in dtypes:
        wanted = " or ".join(sorted(dtypes))
        raise ElementTypeError(f"needs {wanted} elements in {name}, not {kind}")
    return kind


def at_most(types: InputTypes, count: int) -> None:
    """Check the number of inputs.

    Raises:
        ModelError: If there are more than `count`.
    """
    if len(types) > count:
        raise ModelError(f"takes at most {count} inputs, not {len(types)}")
