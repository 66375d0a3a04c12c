"""Operators that change the order of elements by their digits: what chains of movement come to.

Read `OPERATORS` first. Invariant: the result holds each element of the inputs, or of the same part
of each input, exactly once; models do not hold these operators, passes make them.
"""

from __future__ import annotations

import math

import numpy as np

from ago.ir.attributes import read_int, read_ints
from ago.ir.functions import ELEMENTS
from ago.ir.ops.operator import (
    Array,
    Attrs,
    InputArrays,
    InputTypes,
    Operator,
    array,
    require,
    require_same_dtype,
    required_types,
)
from ago.ir.tensor import TensorType


def infer_rearrange(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Rearrange(x)`: reshaped to `split`, transposed by `perm`, reshaped to `shape`.

    Each axis of `x` and of the result is a run of whole digits, that is of extents of `split`.
    """
    (x,) = required_types(types, 1, 1, ELEMENTS)
    split, perm, shape = (read_ints(attrs, name) for name in ("split", "perm", "shape"))
    require(math.prod(split) == x.size, f"{x} cannot take the shape {split}")
    require(sorted(perm) == list(range(len(split))), f"perm {perm} does not reorder {split}")
    moved = tuple(split[digit] for digit in perm)
    whole = digit_groups(split, x.shape) is not None and digit_groups(moved, shape) is not None
    require(whole, f"the digits {split}, in the order {perm}, do not make up {x} and {shape}")
    return (TensorType(shape, x.dtype),)


def rearrange_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return the elements in the order that the moved digits give."""
    split, perm, shape = (read_ints(attrs, name) for name in ("split", "perm", "shape"))
    return (array(inputs, 0).reshape(split).transpose(perm).reshape(shape),)


def digit_groups(
    digits: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[tuple[int, ...], ...] | None:
    """The digits that each axis consists of, slowest first; None where they do not add up.

    Args:
        digits: Extents, none of them 1 or 0.
        shape: Extents of the axes.

    Example:
        >>> digit_groups((2, 58, 784), (1, 116, 784))
        ((), (0, 1), (2,))
    """
    groups: list[tuple[int, ...]] = []
    place = 0
    for extent in shape:
        start = place
        while extent > 1 and place < len(digits) and extent % digits[place] == 0:
            extent //= digits[place]
            place += 1
        if extent != 1:
            return None
        groups.append(tuple(range(start, place)))
    return tuple(groups) if place == len(digits) else None


def infer_interleave(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `Interleave(x0, x1, ...)`: of each, `count` elements from `start` on along `axis`."""
    kinds = required_types(types, 1, max(len(types), 1), ELEMENTS)
    axis, start, count = (read_int(attrs, name) for name in ("axis", "start", "count"))
    first = kinds[0]
    require(0 <= axis < first.rank, f"axis {axis} is not an axis of {first}")
    require_same_dtype(kinds)
    same = all(kind.shape == first.shape for kind in kinds)
    require(same, f"inputs of unlike shapes: {', '.join(map(str, kinds))}")
    inside = start >= 0 and count > 0 and start + count <= first.shape[axis]
    require(inside, f"{count} elements from {start} on are not all inside axis {axis} of {first}")
    total = count * len(kinds)
    return (TensorType((*first.shape[:axis], total, *first.shape[axis + 1 :]), first.dtype),)


def interleave_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Return one element of each input in turn, along `axis`."""
    axis, start, count = (read_int(attrs, name) for name in ("axis", "start", "count"))
    places = np.arange(start, start + count)
    parts = [array(inputs, p).take(places, axis=axis) for p in range(len(inputs))]
    stacked = np.stack(parts, axis=axis + 1)
    shape = parts[0].shape
    return (stacked.reshape(*shape[:axis], count * len(parts), *shape[axis + 1 :]),)


OPERATORS = (
    Operator("Rearrange", "movement", infer_rearrange, rearrange_reference, permutes=True),
    Operator("Interleave", "movement", infer_interleave, interleave_reference),
)
