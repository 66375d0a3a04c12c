"""Shape arithmetic: ONNX operators on constants, computed while importing.

Read `fold` first. Invariant: results are exactly what ONNX defines, in the constants' own types, so
a chain such as Shape, Gather, Concat, Reshape leaves no trace in the graph.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Container, Sequence
from typing import Any, TypeAlias

import numpy as np

from ago.errors import ModelError
from ago.frontend.onnx_ops.base import (
    ELEMENT_TYPES,
    RefusalError,
    axis_in_range,
    int_attr,
    ints_attr,
)
from ago.frontend.onnx_ops.shapes import resolve_shape, squeezed_shape, unsqueezed_shape
from ago.frontend.raw import AnyArray, RawNode
from ago.ir.evaluate import is_modest
from ago.ir.graph import TensorType

Arrays: TypeAlias = Sequence[AnyArray | None]
Folder: TypeAlias = Callable[[RawNode, Arrays], AnyArray | None]


def fold(node: RawNode, arrays: Arrays) -> AnyArray | None:
    """Compute a node of ONNX's own domain whose inputs are all constant.

    Args:
        node: The node.
        arrays: Its inputs; None where absent.

    Returns:
        Its one output, or None if it is not one that is folded.

    Raises:
        ModelError: If the node does not fit its inputs.
        RefusalError: If the result would be too large.
    """
    folder = _FOLDERS.get(node.op)
    if folder is None or node.domain:
        return None
    try:
        with np.errstate(all="ignore"):
            return folder(node, arrays)
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        raise ModelError(str(error)) from error


MAKERS = frozenset(
    {
        "BlackmanWindow",
        "ConstantOfShape",
        "HammingWindow",
        "HannWindow",
        "MelWeightMatrix",
        "Range",
    }
)
"""Operators that make a tensor of an extent that is a value: constants, or nothing."""


def require_constant(node: RawNode, known: Container[str]) -> None:
    """Check that the inputs of an operator that only makes constants are constant.

    Args:
        node: The node.
        known: The constants.

    Raises:
        RefusalError: One is not.
    """
    for value in node.inputs:
        if node.op in MAKERS and not node.domain and value and value not in known:
            raise RefusalError(f"the size {value!r} is not constant", value)


def fold_type(node: RawNode, kind: TensorType) -> AnyArray | None:
    """Compute a node that reads only the shape of its input, or return None for all others."""
    if node.domain or node.op not in ("Shape", "Size"):
        return None
    if node.op == "Size":
        return np.array(kind.size, np.int64)
    extents = slice(int_attr(node, "start", 0), int_attr(node, "end", kind.rank))
    return np.array(kind.shape[extents], np.int64)


def _array(arrays: Arrays, position: int) -> AnyArray:
    value = _maybe(arrays, position)
    if value is None:
        raise ModelError(f"input {position} is missing")
    return value


def _maybe(arrays: Arrays, position: int) -> AnyArray | None:
    return arrays[position] if position < len(arrays) else None


def _ints(node: RawNode, arrays: Arrays, name: str, position: int) -> list[int] | None:
    """Return a list that older versions have as an attribute and newer ones as an input."""
    stated = ints_attr(node, name)
    if stated is not None:
        return list(stated)
    value = _maybe(arrays, position)
    return None if value is None else [int(item) for item in value.ravel()]


def _constant(node: RawNode, arrays: Arrays) -> AnyArray | None:
    for name, dtype in (("value_float", np.float32), ("value_int", np.int64)):
        for key in (name, f"{name}s"):
            if key in node.attrs:
                return np.array(node.attrs[key], dtype)
    value = node.attrs.get("value", node.attrs.get("sparse_value"))
    return value if isinstance(value, np.ndarray) else None


def _constant_of_shape(node: RawNode, arrays: Arrays) -> AnyArray:
    value = node.attrs.get("value", np.zeros(1, np.float32))
    if not isinstance(value, np.ndarray) or value.size != 1:
        raise ModelError("attribute 'value' must be one number")
    shape = _array(arrays, 0).tolist()
    _require_modest(math.prod(shape) * value.itemsize)
    return np.full(shape, value.ravel()[0], value.dtype)


def _gather(node: RawNode, arrays: Arrays) -> AnyArray:
    data, indices = _array(arrays, 0), _array(arrays, 1)
    axis = axis_in_range(int_attr(node, "axis", 0), data.ndim)
    return np.asarray(np.take(data, indices, axis=axis))


def _concat(node: RawNode, arrays: Arrays) -> AnyArray:
    parts = [_array(arrays, position) for position in range(len(arrays))]
    return np.concatenate(parts, axis=int_attr(node, "axis", 0))


def _slice(node: RawNode, arrays: Arrays) -> AnyArray:
    data = _array(arrays, 0)
    starts, ends = _ints(node, arrays, "starts", 1), _ints(node, arrays, "ends", 2)
    if starts is None or ends is None:
        raise ModelError("starts or ends are missing")
    axes = _ints(node, arrays, "axes", 3) or list(range(len(starts)))
    steps = _ints(node, arrays, "steps", 4) or [1] * len(starts)
    cuts = [slice(None)] * data.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        place = axis_in_range(axis, data.ndim)
        cuts[place] = _slice_of(data.shape[place], start, end, step)
    return data[tuple(cuts)]


def _slice_of(extent: int, start: int, end: int, step: int) -> slice:
    """Return ONNX's slice: ends are clamped, and -1 behind a negative step means before 0."""
    start = start + extent if start < 0 else start
    end = end + extent if end < 0 else end
    if step > 0:
        return slice(max(start, 0), max(end, 0), step)
    start, end = min(start, extent - 1), max(end, -1)
    return slice(start, None if end < 0 else end, step) if start >= 0 else slice(0, 0)


def _squeeze(node: RawNode, arrays: Arrays) -> AnyArray:
    data = _array(arrays, 0)
    return data.reshape(squeezed_shape(data.shape, _ints(node, arrays, "axes", 1)))


def _unsqueeze(node: RawNode, arrays: Arrays) -> AnyArray:
    data = _array(arrays, 0)
    return data.reshape(unsqueezed_shape(data.shape, _ints(node, arrays, "axes", 1) or []))


def _reshape(node: RawNode, arrays: Arrays) -> AnyArray:
    data, target = _array(arrays, 0), _ints(node, arrays, "shape", 1) or []
    zero_copies = not int_attr(node, "allowzero", 0)
    return data.reshape(resolve_shape(data.shape, target, zero_copies))


def _transpose(node: RawNode, arrays: Arrays) -> AnyArray:
    return _array(arrays, 0).transpose(ints_attr(node, "perm"))


def _expand(node: RawNode, arrays: Arrays) -> AnyArray | None:
    data, target = _array(arrays, 0), _array(arrays, 1).tolist()
    view = np.broadcast_to(data, np.broadcast_shapes(data.shape, tuple(target)))
    return view.copy() if is_modest(data.nbytes, view.nbytes) else None


def _cast(node: RawNode, arrays: Arrays) -> AnyArray | None:
    dtype = ELEMENT_TYPES.get(int_attr(node, "to", 0))
    return None if dtype is None else _array(arrays, 0).astype(dtype)


def _range(node: RawNode, arrays: Arrays) -> AnyArray:
    start, limit, delta = (_array(arrays, position) for position in range(3))
    if delta.item() == 0:
        raise ModelError("the step must not be zero")
    count = max((limit.item() - start.item()) / delta.item(), 0)
    _require_modest(count * start.itemsize)
    return np.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)


def _require_modest(nbytes: float) -> None:
    """Refuse to make a constant that no model should hold."""
    if not is_modest(0, nbytes):
        raise RefusalError(f"a constant of {nbytes:.3g} bytes; too large to be made here")


def _divide(a: AnyArray, b: AnyArray) -> AnyArray:
    """Return `a / b`; integers are rounded towards zero."""
    if not np.issubdtype(a.dtype, np.integer):
        return np.asarray(a / b)
    if np.any(b == 0):
        raise ModelError("integer division by zero")
    quotient = np.abs(a) // np.abs(b)
    return np.asarray((quotient * np.sign(a) * np.sign(b)).astype(a.dtype))


def _binary(function: Callable[[Any, Any], Any]) -> Folder:
    def folder(node: RawNode, arrays: Arrays) -> AnyArray:
        return np.asarray(function(_array(arrays, 0), _array(arrays, 1)))

    return folder


def _unary(function: Callable[[Any], Any]) -> Folder:
    def folder(node: RawNode, arrays: Arrays) -> AnyArray:
        return np.asarray(function(_array(arrays, 0)))

    return folder


def _where(node: RawNode, arrays: Arrays) -> AnyArray:
    return np.where(_array(arrays, 0), _array(arrays, 1), _array(arrays, 2))


_FOLDERS: dict[str, Folder] = {
    "Add": _binary(np.add),
    "Cast": _cast,
    "Ceil": _unary(np.ceil),
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Div": _binary(_divide),
    "Equal": _binary(operator.eq),
    "Expand": _expand,
    "Floor": _unary(np.floor),
    "Gather": _gather,
    "Identity": _unary(np.asarray),
    "Mul": _binary(np.multiply),
    "Neg": _unary(np.negative),
    "Range": _range,
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": _binary(np.subtract),
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
