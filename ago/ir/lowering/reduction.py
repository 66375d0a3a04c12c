"""Lowering of reductions over whole axes.

Read `lower_reduce` first. A reduction is a sum, maximum or product of a function of the elements,
and a function of what that gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ago.ir.attributes import read_int, read_ints
from ago.ir.functions import FLOATS, neutral
from ago.ir.graph import Node
from ago.ir.index import Index, var
from ago.ir.lowering.context import LogicalAxes, Lowering, layout_of
from ago.ir.lowering.rows import PARTIAL, Element, Place, Rows
from ago.ir.nest import Axis
from ago.ir.value import Call, Const, Load, Value, add, mul


@dataclass(frozen=True, slots=True)
class Reduction:
    """How elements become one.

    Attributes:
        function: Accumulates: `add`, `mul`, `max` or `min`; the last two keep a NaN.
        before: What is accumulated for an element.
        after: The result, from what was accumulated and the number of elements; None where it is
            what was accumulated.
    """

    function: str
    before: Callable[[Value], Value] = lambda element: element
    after: Callable[[Value, Value], Value] | None = None

    @property
    def kind(self) -> str:
        """What to call the stage that accumulates."""
        return {"add": "sum", "mul": "prod"}.get(self.function, self.function)

    def accumulate(self, dtype: str) -> str:
        """The function that accumulates elements of a type."""
        extreme = self.function in ("max", "min") and dtype in FLOATS
        return f"nan{self.function}" if extreme else self.function

    def init(self, dtype: str) -> Const:
        """The result of an empty set."""
        return Const(neutral(self.function, dtype), dtype)


def absolute(element: Value) -> Value:
    """The absolute value."""
    return Call("abs", (element,))


def square(element: Value) -> Value:
    """The value times itself."""
    return mul(element, element)


def _mean(total: Value, count: Value) -> Value:
    return Call("div", (total, count))


def _root(total: Value, count: Value) -> Value:
    return Call("sqrt", (total,))


def _logarithm(total: Value, count: Value) -> Value:
    return Call("log", (total,))


MEAN = Reduction("add", after=_mean)
SUM = Reduction("add")
PROD = Reduction("mul")
MAX = Reduction("max")
MIN = Reduction("min")
L1 = Reduction("add", absolute)
L2 = Reduction("add", square, _root)
SUM_SQUARE = Reduction("add", square)
LOG_SUM = Reduction("add", after=_logarithm)


def lower_reduce(reduction: Reduction) -> Callable[[Node, Lowering], None]:
    """The lowering of a reduction over the axes named by the node."""

    def lower(node: Node, lowering: Lowering) -> None:
        keepdims = bool(read_int(node.attrs, "keepdims"))
        _reduce(node, lowering, reduction, read_ints(node.attrs, "axes"), keepdims=keepdims)

    return lower


def lower_global_average_pool(node: Node, lowering: Lowering) -> None:
    """The mean over all spatial axes."""
    rank = lowering.types(node.inputs[0]).rank
    _reduce(node, lowering, MEAN, tuple(range(2, rank)), keepdims=True)


def lower_log_sum_exp(node: Node, lowering: Lowering) -> None:
    """The logarithm of the sum of exponentials of what elements are below their maximum.

    Where that is infinite or NaN, nothing is subtracted.
    """
    rows = Rows(node, lowering, read_ints(node.attrs, "axes"))
    greatest = rows.reduce("max", rows.element, "nanmax")

    def shift(place: Place) -> Value:
        finite = Call("less", (absolute(greatest(place)), Const(math.inf)))
        return Call("where", (finite, greatest(place), Const(0.0)))

    def term(place: Place) -> Value:
        return Call("exp", (Call("sub", (rows.element(place), shift(place))),))

    total = rows.reduce("sum", term)
    _store_rows(
        rows,
        "result",
        lambda place: add(Call("log", (total(place),)), shift(place)),
        keepdims=bool(read_int(node.attrs, "keepdims")),
    )


def _reduce(
    node: Node,
    lowering: Lowering,
    reduction: Reduction,
    axes: tuple[int, ...],
    *,
    keepdims: bool,
) -> None:
    kind = lowering.types(node.inputs[0])
    count = Const(neutral("mul", kind.dtype) * math.prod(kind.shape[d] for d in axes), kind.dtype)
    if not axes:
        _map(node, lowering, reduction, count)
        return
    rows = Rows(node, lowering, axes)
    if kind.dtype == "f32" and rows.inner_extent() >= 2 * PARTIAL:
        _reduce_rows(rows, reduction, count, keepdims=keepdims)
        return
    function, init = reduction.accumulate(kind.dtype), reduction.init(kind.dtype)
    if reduction.after is None:
        name = lowering.stage_name(reduction.kind)
        out = lowering.axes_of(name, node.output)
        _, reduced, value = _elements(node, lowering, (name, name), out, axes, keepdims)
        nest = [*out.axes, *reduced]
        value = reduction.before(value)
        lowering.store(node, name, nest, out.index, value, reduce=function, init=init)
        return
    name = lowering.stage_name("mean" if reduction is MEAN else "result")
    total = lowering.stage_name(reduction.kind)
    out = lowering.axes_of(name, node.output)
    spatial, reduced, value = _elements(node, lowering, (name, total), out, axes, keepdims)
    lowering.temporary(
        node,
        total,
        [*spatial, *reduced],
        reduction.before(value),
        reduce=function,
        init=init,
        dtype=kind.dtype,
    )
    at = tuple(var(f"{name}.{a.name}") for a in spatial)
    lowering.store(node, name, out.axes, out.index, reduction.after(Load(total, at), count))


def _reduce_rows(rows: Rows, reduction: Reduction, count: Value, *, keepdims: bool) -> None:
    """A reduction along contiguous memory, in several interleaved parts."""
    after = reduction.after or (lambda total, count: total)
    total = rows.reduce(
        reduction.kind,
        lambda place: reduction.before(rows.element(place)),
        reduction.accumulate("f32"),
    )
    kind = "mean" if reduction is MEAN else "result"
    _store_rows(rows, kind, lambda place: after(total(place), count), keepdims=keepdims)


def _store_rows(rows: Rows, kind: str, value: Element, *, keepdims: bool) -> None:
    """The stage that makes the node's output, one element for each set."""
    name = rows.lowering.stage_name(kind)
    out = rows.lowering.axes_of(name, rows.node.output)
    kept = iter(_kept(out.index, rows.axes, keepdims))
    place = [Index() if d in rows.axes else next(kept) for d in range(len(rows.shape))]
    rows.lowering.store(rows.node, name, out.axes, out.index, value(place))


def _map(node: Node, lowering: Lowering, reduction: Reduction, count: Value) -> None:
    """Nothing is reduced: each element is a set of its own."""
    name = lowering.stage_name(reduction.kind)
    out = lowering.axes_of(name, node.output)
    value = reduction.before(lowering.load(node.inputs[0], out.index))
    if reduction.after is not None:
        value = reduction.after(value, count)
    lowering.store(node, name, out.axes, out.index, value)


def _elements(
    node: Node,
    lowering: Lowering,
    stages: tuple[str, str],
    out: LogicalAxes,
    axes: tuple[int, ...],
    keepdims: bool,
) -> tuple[list[Axis], list[Axis], Value]:
    """The spatial and the reduce axes of an accumulation, and the element that it reads.

    Args:
        node: The reduction.
        lowering: Where it is lowered.
        stages: The stage that stores the result, and the one that accumulates.
        out: The first one's axes.
        axes: What is reduced.
        keepdims: Whether the result keeps them.
    """
    kind = lowering.types(node.inputs[0])
    name, total = stages
    kept = [d for d in range(kind.rank) if d not in axes]
    ours = dict(zip(kept, _kept(out.index, axes, keepdims), strict=True))
    spatial = [a for a in out.axes if var(f"{name}.{a.name}") in ours.values()]
    renamed = {var(f"{name}.{a.name}"): var(f"{total}.{a.name}") for a in spatial}
    place = [renamed[ours[d]] if d in ours else var(f"{total}.r{d}") for d in range(kind.rank)]
    order = [d for d in layout_of(kind).order if d in axes]
    reduced = [Axis(f"r{d}", kind.shape[d], "reduce") for d in order]
    return spatial, reduced, lowering.load(node.inputs[0], place)


def _kept(index: tuple[Index, ...], axes: tuple[int, ...], keepdims: bool) -> list[Index]:
    """The output's indices that are axes of the input, in order."""
    if not keepdims:
        return list(index)
    return [i for d, i in enumerate(index) if d not in axes]
