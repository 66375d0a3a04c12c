"""Operators that choose elements by their order.

Read `OPERATORS` first. Invariant: NaN is greater than any number, and of equal elements the first
comes first, so that every result is determined.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ago.ir.attributes import read_int
from ago.ir.ops.operands import FLOAT, NUMBER, at_most, operand, optional_operand
from ago.ir.ops.operator import (
    Array,
    Attrs,
    InputArrays,
    InputTypes,
    Operator,
    array,
    optional,
    require,
)
from ago.ir.tensor import TensorType


def infer_top_k(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Types of `TopK(x)`: the first `k` elements along `axis`, and their indices."""
    at_most(types, 1)
    x = operand(types, 0, "x", NUMBER)
    axis, k = read_int(attrs, "axis"), read_int(attrs, "k")
    require(0 <= axis < x.rank, f"axis {axis} is not an axis of {x}")
    require(0 <= k <= x.shape[axis], f"k={k} of {x.shape[axis]} elements")
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return TensorType(shape, x.dtype), TensorType(shape, "i64")


def top_k_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """Sort along `axis`, the greatest first if `largest`, and cut."""
    x, axis = array(inputs, 0), read_int(attrs, "axis")
    order = _order(np.moveaxis(x, axis, -1), bool(read_int(attrs, "largest")))
    indices = np.moveaxis(order[..., : read_int(attrs, "k")], -1, axis)
    return np.take_along_axis(x, indices, axis), indices


def _order(rows: Array, largest: bool) -> npt.NDArray[np.int64]:
    """Indices that sort the last axis, equal elements in their own order."""
    if not largest:
        return np.argsort(rows, axis=-1, kind="stable")
    backwards = np.argsort(rows[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    return np.asarray(rows.shape[-1] - 1 - backwards, np.int64)


def infer_arg(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `ArgMax(x)` and `ArgMin(x)`: an index for each line along `axis`."""
    at_most(types, 1)
    x = operand(types, 0, "x", NUMBER)
    axis = read_int(attrs, "axis")
    require(0 <= axis < x.rank, f"axis {axis} is not an axis of {x}")
    kept = (1,) if read_int(attrs, "keepdims") else ()
    return (TensorType((*x.shape[:axis], *kept, *x.shape[axis + 1 :]), "i64"),)


def arg_max_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """The index of the greatest element: the first, or the last if `select_last`."""
    return _arg(array(inputs, 0), attrs, largest=True)


def arg_min_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """The index of the least element, or of a NaN if there is one."""
    return _arg(array(inputs, 0), attrs, largest=False)


def _arg(x: Array, attrs: Attrs, *, largest: bool) -> tuple[Array, ...]:
    axis = read_int(attrs, "axis")
    last = read_int(attrs, "select_last")
    turned = np.flip(x, axis) if last else x
    found = (np.argmax if largest else np.argmin)(turned, axis)
    index = np.asarray(x.shape[axis] - 1 - found if last else found, np.int64)
    return (np.expand_dims(index, axis) if read_int(attrs, "keepdims") else index,)


def infer_nms(types: InputTypes, attrs: Attrs) -> tuple[TensorType, ...]:
    """Type of `NonMaxSuppression(boxes, scores, most?, overlap?, least?)`: `rows` triples."""
    at_most(types, 5)
    boxes, scores = operand(types, 0, "boxes"), operand(types, 1, "scores")
    fits = boxes.rank == 3 and scores.rank == 3 and boxes.shape[2] == 4
    fits = fits and (boxes.shape[0], boxes.shape[1]) == (scores.shape[0], scores.shape[2])
    require(fits, f"boxes {boxes} and scores {scores} do not fit each other")
    for position, name, dtypes in (
        (2, "max_output_boxes_per_class", frozenset({"i64"})),
        (3, "iou_threshold", FLOAT),
        (4, "score_threshold", FLOAT),
    ):
        kind = optional_operand(types, position, name, dtypes)
        require(kind is None or kind.size == 1, f"{name} must be one number, not {kind}")
    rows = read_int(attrs, "rows")
    require(rows >= 0, f"rows={rows}")
    return (TensorType((rows, 3), "i64"),)


def nms_reference(inputs: InputArrays, attrs: Attrs) -> tuple[Array, ...]:
    """For each image and class the best boxes that do not overlap better ones too much.

    A row is image, class and box. Rows behind the last box are -1; what does not fit is left out.
    """
    boxes, scores = array(inputs, 0), array(inputs, 1)
    most, overlap, least = (optional(inputs, k) for k in (2, 3, 4))
    count = 0 if most is None else int(most.ravel()[0])
    bound = 0.0 if overlap is None else float(overlap.ravel()[0])
    floor = -np.inf if least is None else float(least.ravel()[0])
    corners = _corners(boxes, bool(read_int(attrs, "center_point_box")))
    found: list[tuple[int, int, int]] = []
    for image, label in np.ndindex(*scores.shape[:2]):
        line = scores[image, label]
        order = [int(i) for i in _order(line, largest=True)]
        known = [i for i in order if line[i] > floor or (least is None and line[i] == floor)]
        kept: list[int] = []
        for i in known:
            free = all(_overlap(corners[image, i], corners[image, k]) <= bound for k in kept)
            if len(kept) < count and free:
                kept.append(i)
        found += [(image, label, box) for box in kept]
    rows = read_int(attrs, "rows")
    result = np.full((rows, 3), -1, np.int64)
    result[: len(found)] = np.array(found[:rows], np.int64).reshape(-1, 3)
    return (result,)


def _corners(boxes: Array, center_format: bool) -> Array:
    """Boxes as `[low y, low x, high y, high x]`."""
    if center_format:
        x, y, width, height = np.moveaxis(boxes, -1, 0)
        parts = [y - height / 2, x - width / 2, y + height / 2, x + width / 2]
        return np.stack(parts, -1)
    first, second = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], -1)


def _overlap(a: Array, b: Array) -> float:
    """The share of the area that two boxes cover which both cover."""
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    shared = float(np.prod(np.maximum(sides, 0)))
    covered = float(np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2])) - shared
    return shared / covered if covered > 0 and shared > 0 else 0.0


OPERATORS = (
    Operator("TopK", "extern", infer_top_k, top_k_reference),
    Operator("ArgMax", "extern", infer_arg, arg_max_reference),
    Operator("ArgMin", "extern", infer_arg, arg_min_reference),
    Operator("NonMaxSuppression", "extern", infer_nms, nms_reference),
)
