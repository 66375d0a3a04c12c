"""Lowering of reductions over whole axes.

Read `lower_reduce` first. A reduction is a sum, maximum or product of a function of the elements,
and a function of what that gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ago.ir.attributes import read_int, read_ints
from ago.ir.graph import Node
from ago.ir.index import Index, var
from ago.ir.lowering.context import LogicalAxes, Lowering, layout_of
from ago.ir.nest import Axis
from ago.ir.value import Call, Const, Load, Value, mul


@dataclass(frozen=True, slots=True)
class Reduction:
    """How elements become one.

    Attributes:
        kind: What to call the stage that accumulates.
        function: Accumulates: a row of `FUNCTIONS`.
        init: Start value, the result of an empty set.
        before: What is accumulated for an element.
        after: The result, from what was accumulated and the number of elements; None where it is
            what was accumulated.
    """

    kind: str
    function: str
    init: float
    before: Callable[[Value], Value] = lambda element: element
    after: Callable[[Value, int], Value] | None = None


def absolute(element: Value) -> Value:
    """The absolute value; NaN stays NaN, since `max` returns its second operand for it."""
    return Call("max", (negative(element), element))


def negative(element: Value) -> Value:
    """The negated value."""
    return mul(Const(-1.0), element)


def square(element: Value) -> Value:
    """The value times itself."""
    return mul(element, element)


def mean(total: Value, count: int) -> Value:
    """A sum over its number of elements."""
    return Call("div", (total, Const(float(count))))


MEAN = Reduction("sum", "add", 0.0, after=mean)
SUM = Reduction("sum", "add", 0.0)
PROD = Reduction("prod", "mul", 1.0)
MAX = Reduction("max", "nanmax", -math.inf)
MIN = Reduction("min", "nanmax", -math.inf, negative, lambda least, count: negative(least))
L1 = Reduction("sum", "add", 0.0, absolute)
SUM_SQUARE = Reduction("sum", "add", 0.0, square)


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


def _reduce(
    node: Node,
    lowering: Lowering,
    reduction: Reduction,
    axes: tuple[int, ...],
    *,
    keepdims: bool,
) -> None:
    if not axes:
        _map(node, lowering, reduction)
        return
    if reduction.after is None:
        name = lowering.stage_name(reduction.kind)
        out = lowering.axes_of(name, node.output)
        inner, value = _elements(node, lowering, (name, name), out, axes, keepdims)
        value = reduction.before(value)
        init = Const(reduction.init)
        lowering.store(
            node,
            name,
            [*out.axes, *inner],
            out.index,
            value,
            reduce=reduction.function,
            init=init,
        )
        return
    name = lowering.stage_name("mean" if reduction is MEAN else "result")
    total = lowering.stage_name(reduction.kind)
    out = lowering.axes_of(name, node.output)
    inner, value = _elements(node, lowering, (name, total), out, axes, keepdims)
    kept = set(_kept(out.index, axes, keepdims))
    spatial = [a for a in out.axes if var(f"{name}.{a.name}") in kept]
    lowering.temporary(
        node,
        total,
        [*spatial, *inner],
        reduction.before(value),
        reduce=reduction.function,
        init=Const(reduction.init),
    )
    count = math.prod(lowering.types(node.inputs[0]).shape[d] for d in axes)
    at = tuple(var(f"{name}.{a.name}") for a in spatial)
    lowering.store(node, name, out.axes, out.index, reduction.after(Load(total, at), count))


def _map(node: Node, lowering: Lowering, reduction: Reduction) -> None:
    """Nothing is reduced: each element is a set of its own."""
    name = lowering.stage_name(reduction.kind)
    out = lowering.axes_of(name, node.output)
    value = reduction.before(lowering.load(node.inputs[0], out.index))
    if reduction.after is not None:
        value = reduction.after(value, 1)
    lowering.store(node, name, out.axes, out.index, value)


def _elements(
    node: Node,
    lowering: Lowering,
    stages: tuple[str, str],
    out: LogicalAxes,
    axes: tuple[int, ...],
    keepdims: bool,
) -> tuple[list[Axis], Value]:
    """The reduce axes, and the element of the input, in the variables of the second stage.

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
    renamed = {var(f"{name}.{a.name}"): var(f"{total}.{a.name}") for a in out.axes}
    place = [renamed[ours[d]] if d in ours else var(f"{total}.r{d}") for d in range(kind.rank)]
    order = [d for d in layout_of(kind).order if d in axes]
    reduced = [Axis(f"r{d}", kind.shape[d], "reduce") for d in order]
    return reduced, lowering.load(node.inputs[0], place)


def _kept(index: tuple[Index, ...], axes: tuple[int, ...], keepdims: bool) -> list[Index]:
    """The output's indices that are axes of the input, in order."""
    if not keepdims:
        return list(index)
    return [i for d, i in enumerate(index) if d not in axes]
