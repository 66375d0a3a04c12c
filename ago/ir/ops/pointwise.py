"""What the tables of operators that map elements share: their typing and their rows.

Read `mapping` first. Invariant: operands broadcast as numpy's do; references compute floats in
float64 and integers in their own type, without warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeAlias

import numpy as np

from ago.errors import ModelError
from ago.ir.ops.operator import (
    FLOAT32,
    Array,
    Attrs,
    InputArrays,
    InputTypes,
    Operator,
    array,
    require_same_dtype,
    required_types,
)
from ago.ir.tensor import TensorType

Meaning: TypeAlias = Callable[..., Array]
"""From the operands' arrays and, behind them, the attributes to the result."""


def broadcast_shapes(types: Collection[TensorType]) -> tuple[int, ...]:
    """The shape to which tensors broadcast.

    Raises:
        ModelError: If they do not.
    """
    try:
        shape = np.broadcast_shapes(*(kind.shape for kind in types))
    except ValueError:
        raise ModelError(f"{' and '.join(map(str, types))} do not broadcast") from None
    return tuple(int(extent) for extent in shape)


def mapping(
    name: str,
    meaning: Meaning,
    operands: int = 1,
    dtypes: Collection[str] = FLOAT32,
    result: str | None = None,
) -> Operator:
    """A row of an operator whose operands have one element type and broadcast.

    Args:
        name: The operator.
        meaning: Its reference on arrays.
        operands: How many it takes.
        dtypes: Element types they may have.
        result: Element type of the result; None for that of the operands.
    """

    def infer(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
        kinds = required_types(types, operands, operands, dtypes)
        dtype = require_same_dtype(kinds)
        return (TensorType(broadcast_shapes(kinds), result or dtype),)

    return Operator(name, "elementwise", infer, pointwise_reference(meaning))


def pointwise_reference(
    meaning: Meaning,
) -> Callable[[InputArrays, Attrs], tuple[Array, ...]]:
    """The reference that applies `meaning` to all inputs, which must be present."""

    def reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            arrays = [array(inputs, position) for position in range(len(inputs))]
            return (np.asarray(meaning(*arrays, attrs)),)

    return reference
