"""Lowering of softmax and the normalisations: statistics of rows, then a pass over the elements.

Read `lower_softmax` first, and `Rows` in `ago.ir.lowering.rows`, with which all of them are made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ago.ir.attributes import read_float, read_int, read_ints
from ago.ir.graph import Node
from ago.ir.index import Index, as_index, var
from ago.ir.lowering.context import Lowering, layout_of
from ago.ir.lowering.rows import Element, Place, Rows, call, div, sub
from ago.ir.nest import Axis
from ago.ir.value import Const, Load, Position, Select, Value, add, mul


def lower_softmax(node: Node, lowering: Lowering) -> None:
    """Largest element, exponentials, their sum, and its reciprocal times the exponentials.

    The maximum may pass over a NaN: its exponential makes the sum NaN, and with it the row.
    """
    rows = Rows(node, lowering, read_ints(node.attrs, "axes"))
    largest = rows.reduce("max", rows.element, "max")
    power = rows.full("exp", lambda at: call("decay", sub(rows.element(at), largest(at))))
    total = rows.reduce("sum", power)
    scale = rows.each("scale", lambda at: div(Const(1.0), total(at)))
    rows.store("softmax", lambda at: mul(power(at), scale(at)))


def lower_softmax_powers(node: Node, lowering: Lowering) -> None:
    """Largest element (which may pass over a NaN, as in softmax), then the exponentials."""
    rows = Rows(node, lowering, read_ints(node.attrs, "axes"))
    largest = rows.reduce("max", rows.element, "max")
    rows.store("powers", lambda at: call("decay", sub(rows.element(at), largest(at))))


def lower_log_softmax(node: Node, lowering: Lowering) -> None:
    """Largest element (which may pass over a NaN, as in softmax), sum of exponentials, its log."""
    rows = Rows(node, lowering, read_ints(node.attrs, "axes"))
    largest = rows.reduce("max", rows.element, "max")
    total = rows.reduce("sum", lambda at: call("decay", sub(rows.element(at), largest(at))))
    shift = rows.each("log", lambda at: call("log", total(at)))
    rows.store("softmax", lambda at: sub(sub(rows.element(at), largest(at)), shift(at)))


def lower_hardmax(node: Node, lowering: Lowering) -> None:
    """Largest element, the first number of an element that is that large, a comparison with it."""
    rows = Rows(node, lowering, read_ints(node.attrs, "axes"))
    largest = rows.reduce("max", rows.element, "nanmax")

    def number(at: Place) -> Value:
        total = as_index(0)
        for d in rows.axes:
            total = total * rows.shape[d] + as_index(at[d])
        return call("to_f32", Position(total))

    def candidate(at: Place) -> Value:
        x = rows.element(at)
        is_nan = call("not", call("equal", x, x))
        found = call("or", call("equal", x, largest(at)), is_nan)
        return call("where", found, number(at), Const(math.inf))

    first = rows.reduce("first", candidate, "min")
    rows.store(
        "hardmax",
        lambda at: call("where", call("equal", number(at), first(at)), Const(1.0), Const(0.0)),
    )


def lower_layer_norm(node: Node, lowering: Lowering) -> None:
    """Mean, mean of squared distances from it, and the scaled distances."""
    rows = Rows(node, lowering, read_ints(node.attrs, "axes"))
    centred = _centred(rows)
    scale = _inverse_deviation(rows, centred, read_float(node.attrs, "epsilon"))
    rows.store("norm", lambda at: _affine(rows, mul(centred(at), scale(at)), at))


def lower_rms_norm(node: Node, lowering: Lowering) -> None:
    """Mean of squares, and the scaled elements."""
    rows = Rows(node, lowering, read_ints(node.attrs, "axes"))
    scale = _inverse_deviation(rows, rows.element, read_float(node.attrs, "epsilon"))
    rows.store("norm", lambda at: _affine(rows, mul(rows.element(at), scale(at)), at))


def lower_inverse_deviation(node: Node, lowering: Lowering) -> None:
    """Mean, mean of squared distances from it, and `1 / sqrt` of that."""
    rows = Rows(node, lowering, read_ints(node.attrs, "axes"))
    scale = _inverse_deviation(rows, _centred(rows), read_float(node.attrs, "epsilon"))
    rows.store("deviation", scale)


def lower_mean_variance(node: Node, lowering: Lowering) -> None:
    """As layer norm, but epsilon is added to the deviation."""
    rows = Rows(node, lowering, read_ints(node.attrs, "axes"))
    epsilon = Const(read_float(node.attrs, "epsilon"))
    centred = _centred(rows)
    squares = rows.reduce("squares", lambda at: mul(centred(at), centred(at)))
    mean = Const(float(rows.count))
    scale = rows.each(
        "scale",
        lambda at: div(Const(1.0), add(call("sqrt", div(squares(at), mean)), epsilon)),
    )
    rows.store("norm", lambda at: mul(centred(at), scale(at)))


def lower_group_norm(node: Node, lowering: Lowering) -> None:
    """As layer norm over each group of channels, scaled and shifted channel by channel."""
    x = lowering.types(node.inputs[0])
    group = x.shape[1] // read_int(node.attrs, "groups")
    rows = Rows(node, lowering, tuple(range(2, x.rank)), group)
    centred = _centred(rows)
    scale = _inverse_deviation(rows, centred, read_float(node.attrs, "epsilon"))
    rows.store(
        "norm",
        lambda at: add(
            mul(mul(centred(at), scale(at)), lowering.load(node.inputs[1], (at[1],), "scale")),
            lowering.load(node.inputs[2], (at[1],), "bias"),
        ),
    )


def lower_lp_norm(node: Node, lowering: Lowering) -> None:
    """The norm of each row, its reciprocal (0 for 0), times the elements."""
    rows = Rows(node, lowering, read_ints(node.attrs, "axes"))
    if read_int(node.attrs, "p") == 1:
        norm = rows.reduce("sum", lambda at: call("abs", rows.element(at)))
    else:
        squares = rows.reduce("squares", lambda at: mul(rows.element(at), rows.element(at)))
        norm = rows.each("norm", lambda at: call("sqrt", squares(at)))
    zero = Const(0.0)
    rows.store(
        "scaled",
        lambda at: call(
            "where", call("equal", norm(at), zero), zero, div(rows.element(at), norm(at))
        ),
    )


def lower_lrn(node: Node, lowering: Lowering) -> None:
    """The squares' sum over nearby channels, then a quotient by a power of it."""
    x, size = lowering.types(node.inputs[0]), read_int(node.attrs, "size")
    rows = Rows(node, lowering, ())
    total = lowering.stage_name("squares")
    order = layout_of(x).order
    place: list[Index] = [var(f"{total}.i{d}") for d in range(x.rank)]
    place[1] = place[1] + var(f"{total}.near") - (size - 1) // 2
    load = lowering.load(node.inputs[0], place)
    inside = (place[1], as_index(x.shape[1] - 1) - place[1])
    lowering.temporary(
        node,
        total,
        [*(Axis(f"i{d}", x.shape[d]) for d in order), Axis("near", size, "reduce")],
        Select(inside, mul(load, load), Const(0.0)),
        reduce="add",
        init=Const(0.0),
    )
    rate = Const(read_float(node.attrs, "alpha") / size)
    bias, beta = Const(read_float(node.attrs, "bias")), Const(read_float(node.attrs, "beta"))

    def quotient(at: Place) -> Value:
        nearby = Load(total, tuple(as_index(at[d]) for d in order))
        return div(rows.element(at), call("pow", add(bias, mul(rate, nearby)), beta))

    rows.store("lrn", quotient)


def _centred(rows: Rows) -> Element:
    """Each element's distance from the mean of its set."""
    total = rows.reduce("sum", rows.element)
    mean = rows.each("mean", lambda at: div(total(at), Const(float(rows.count))))
    return lambda at: sub(rows.element(at), mean(at))


def _inverse_deviation(rows: Rows, distance: Element, epsilon: float) -> Element:
    """`1 / sqrt(mean of squared distances + epsilon)` of each set."""
    squares = rows.reduce("squares", lambda at: mul(distance(at), distance(at)))
    count = Const(float(rows.count))
    return rows.each(
        "deviation",
        lambda at: div(Const(1.0), call("sqrt", add(div(squares(at), count), Const(epsilon)))),
    )


def _affine(rows: Rows, value: Value, at: Place) -> Value:
    """`value * scale + bias`, where the node has them."""
    inputs = (*rows.node.inputs[1:], "", "")
    for name, role, combine in ((inputs[0], "scale", mul), (inputs[1], "bias", add)):
        if name:
            value = combine(value, rows.lowering.broadcast(name, list(map(as_index, at)), role))
    return value


NORMALISATIONS: Mapping[str, Callable[[Node, Lowering], None]] = {
    "GroupNormalization": lower_group_norm,
    "Hardmax": lower_hardmax,
    "InverseDeviation": lower_inverse_deviation,
    "LRN": lower_lrn,
    "LayerNormalization": lower_layer_norm,
    "LogSoftmax": lower_log_softmax,
    "LpNormalization": lower_lp_norm,
    "MeanVarianceNormalization": lower_mean_variance,
    "RMSNormalization": lower_rms_norm,
    "Softmax": lower_softmax,
    "SoftmaxPowers": lower_softmax_powers,
}
"""How each operator of `ago.ir.ops.normalise` lowers to stages."""
