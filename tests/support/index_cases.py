"""Cases of operators with indices and orders, on all element types.

Read the functions without underscore first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from tests.support.cases import Case
from tests.support.node_cases import DTYPES, indices, node_case, normal, numbers


def gather_cases() -> Iterator[Case]:
    """Gather, GatherElements and GatherND."""
    tuples_of = ((0, 1), (0, 3), (1, 1), (1, 2), (2, 1))
    for number, dtype in enumerate((*DTYPES, "bool")):
        x = numbers((3, 4, 5), dtype)
        wide = "int32" if dtype in ("float32", "bool") else "int64"
        everything = dtype in ("float32", "uint8")
        for axis in range(3) if everything else (number % 3,):
            extent = x.shape[axis]
            some = indices((2, 3), extent, wide)
            yield node_case(f"{dtype} {axis}", "Gather", [x, some], axis=axis)
            own = indices((3, 7, 5) if axis == 1 else (2, 4, 3), extent, wide)
            yield node_case(f"{dtype} elements {axis}", "GatherElements", [x, own], axis=axis)
        yield node_case(f"{dtype} one", "Gather", [x, indices((), 3, wide)], axis=0)
        for batch, depth in tuples_of if everything else tuples_of[number % 5 :][:1]:
            tuples = indices((*x.shape[:batch], 2, depth), 3, wide)
            name = f"{dtype} nd {batch} {depth}"
            yield node_case(name, "GatherND", [x, tuples], batch_dims=batch)
    inputs = [normal(0, 11, 7), indices((5,), 11)]
    yield node_case("embedding", "Gather", inputs, constants=[0], axis=0)


def scatter_cases() -> Iterator[Case]:
    """ScatterElements and ScatterND with all reductions."""
    kinds = itertools.product(DTYPES, ("none", "add", "mul", "max", "min"))
    for number, (dtype, reduction) in enumerate(kinds):
        x, axis, depth = numbers((3, 4, 5), dtype), number % 3, 1 + number % 3
        shape = (2, 6, 4) if axis == 1 else (3, 3, 4)
        inputs = [x, indices(shape, x.shape[axis]), numbers(shape, dtype, 5)]
        name = f"{dtype} {reduction}"
        yield node_case(name, "ScatterElements", inputs, axis=axis, reduction=reduction)
        updates = numbers((7, *x.shape[depth:]), dtype, 5)
        inputs = [x, indices((7, depth), 3, "int32"), updates]
        yield node_case(f"{name} nd {depth}", "ScatterND", inputs, reduction=reduction)
    x = np.array([np.nan, 1, 2, np.inf], np.float32)
    updates = np.array([0, np.nan, 5, np.nan], np.float32)
    for reduction in ("max", "min"):
        inputs = [x, np.arange(4), updates]
        name = f"NaN {reduction}"
        yield node_case(name, "ScatterElements", inputs, axis=0, reduction=reduction)


def one_hot_cases() -> Iterator[Case]:
    """Indices and values of all types, wild floats among the indices."""
    for number, dtype in enumerate(DTYPES):
        axis = number % 3
        values = np.array([0, 1], "bool" if axis == 1 else dtype)
        inputs = [numbers((3, 4), dtype), values]
        yield node_case(f"{dtype} {axis}", "OneHot", inputs, axis=axis, depth=3)
    wild = np.array([np.nan, np.inf, -np.inf, 1.9, -1.9, 1e30], np.float32)
    inputs = [wild, np.array([2, 5], np.float32)]
    yield node_case("wild floats", "OneHot", inputs, axis=1, depth=4)


def order_cases() -> Iterator[Case]:
    """TopK, ArgMax and ArgMin, with ties, NaN and integers beyond 2^53."""
    kinds = [("float32", 0), ("float32", 2), *zip(DTYPES, (1, 0, 2, 1, 0, 2), strict=True)]
    for dtype, axis in kinds:
        x = numbers((3, 9, 5), dtype)
        for k, largest in ((1, 1), (3, 0), (x.shape[axis], 1)):
            name = f"{dtype} {axis} first {k} of {largest}"
            yield node_case(name, "TopK", [x], axis=axis, k=k, largest=largest)
        for op, last, keep in (("ArgMax", 0, 1), ("ArgMin", 1, 0), ("ArgMax", 1, 0)):
            name = f"{dtype} {axis} {op} {last}"
            yield node_case(name, op, [x], axis=axis, select_last=last, keepdims=keep)
    odd = normal(2, 4, 70).round(1)
    odd[0, 3:9:2] = np.nan
    odd[1] = np.nan
    odd[2, 5:8] = np.inf
    odd[3, 5:8] = -np.inf
    for axis, flag in itertools.product((0, 1), (0, 1)):
        name = f"NaN {axis} {flag}"
        yield node_case(f"{name} k", "TopK", [odd], axis=axis, k=4, largest=flag)
        for op in ("ArgMax", "ArgMin"):
            yield node_case(f"{name} {op}", op, [odd], axis=axis, select_last=flag, keepdims=1)
    most = np.array([np.iinfo("int64").max, np.iinfo("int64").max - 1, -1], np.int64)
    yield node_case("beyond 2^53", "TopK", [most], axis=0, k=2, largest=1)
    yield node_case("beyond 2^53 too", "ArgMin", [most[:2]], axis=0, select_last=0, keepdims=0)


def suppression_cases() -> Iterator[Case]:
    """NonMaxSuppression with more and fewer rows than boxes, ties and NaN."""
    rng = np.random.default_rng(4)
    for rows, center in ((3, 0), (40, 0), (9, 1)):
        boxes = rng.random((2, 17, 4)).astype(np.float32)
        scores = rng.random((2, 3, 17)).astype(np.float32).round(1)
        limits = [np.array([4]), np.array([0.3], np.float32), np.array(0.25, np.float32)]
        attrs = {"center_point_box": center, "rows": rows}
        name = f"{rows} rows"
        inputs = [boxes, scores, *limits]
        yield node_case(name, "NonMaxSuppression", inputs, **attrs)
        yield node_case(f"{name} no limits", "NonMaxSuppression", inputs[:2], **attrs)
        scores = np.where(rng.random(scores.shape) < 0.3, np.nan, scores).astype(np.float32)
        scores[0, 0, :2] = -np.inf, np.inf
        inputs = [boxes, scores, np.array([99])]
        yield node_case(f"{name} NaN", "NonMaxSuppression", inputs, **attrs)


def sequence_cases() -> Iterator[Case]:
    """CumSum, CumProd, ReverseSequence and Trilu."""
    for dtype, axis in (("float32", 0), ("float32", 1), ("int64", 2), ("int32", 1)):
        x = numbers((3, 5, 70), dtype)
        for op, exclusive, reverse in (
            ("CumSum", axis % 2, 0),
            ("CumSum", 0, 1),
            ("CumProd", 1, 1),
            ("CumProd", 0, axis % 2),
        ):
            name = f"{dtype} {axis} {op} {exclusive} {reverse}"
            yield node_case(name, op, [x], axis=axis, exclusive=exclusive, reverse=reverse)
    for dtype, batch in itertools.product((*DTYPES, "bool"), (0, 1)):
        x = numbers((4, 6, 3), dtype)
        lengths = np.array([-3, 0, 1, 3, 99, 4], "int64" if batch else "int32")
        inputs = [x, lengths[: x.shape[batch]]]
        name = f"{dtype} turned {batch}"
        yield node_case(name, "ReverseSequence", inputs, batch_axis=batch, time_axis=1 - batch)
    for dtype, k, upper in (("float32", 0, 0), ("float32", -2, 1), ("int8", 1, 0), ("bool", 1, 1)):
        inputs = [numbers((2, 3, 5), dtype), np.array(k)]
        yield node_case(f"{dtype} triangle {k} {upper}", "TriluAt", inputs, upper=upper)
    far = np.array([np.iinfo("int64").min])
    yield node_case("far diagonal", "TriluAt", [normal(0, 3, 3), far], upper=1)
