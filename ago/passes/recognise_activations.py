"""Gelu, SiLU and hard-swish in the primitive operators that exporters write them in.

Read `recognise_activations` first. Invariant: what takes the place of several nodes is the same
function of real numbers: the erf form never becomes the tanh form.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ago.ir.attributes import read_float
from ago.ir.graph import Graph, Node
from ago.passes.patterns import Found, Walk, close, rewrite_found


def recognise_activations(graph: Graph) -> Graph:
    """Turn products of a value and a function of it into one operator.

    * `x * (1 + erf(x / sqrt 2)) / 2` into a Gelu,
    * `x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2` into its tanh form,
    * `x * sigmoid(a * x)` into a Swish,
    * `x * min(max(x + 3, 0), 6) / 6` and `x * hard_sigmoid(x)` into a HardSwish,

    with factors in any order. Constants must be those of the definition up to rounding, and what
    is computed in between must be read by nothing else and be no output of the graph.

    Args:
        graph: Any graph, constants folded.

    Returns:
        A graph equivalent up to rounding, and to overflow of what is computed in between.
    """
    return rewrite_found(graph, _found)


def _found(graph: Graph, node: Node) -> Found | None:
    """The activation around a node that only it has."""
    finders = {"Erf": _gelu, "Tanh": _tanh_gelu, "Sigmoid": _swish}
    finders |= {"HardSigmoid": _hard_sigmoid_swish, "Clip": _clip_swish}
    find = finders.get(node.op)
    walk = Walk(graph)
    return None if find is None or walk.take(node, node.op) is None else find(walk, node)


def _gelu(walk: Walk, erf: Node) -> Found | None:
    x, scale = walk.scaled(erf.inputs[0])
    share = _plus_one(walk, erf)
    if share is None or not close(scale, math.sqrt(0.5)):
        return None
    return _product(walk, share, x, 0.5, "Gelu", {"approximate": "none"})


def _tanh_gelu(walk: Walk, tanh: Node) -> Found | None:
    line, scale = walk.scaled(tanh.inputs[0])
    x = _with_cube(walk, line)
    share = _plus_one(walk, tanh)
    if x is None or share is None or not close(scale, math.sqrt(2.0 / math.pi)):
        return None
    return _product(walk, share, x, 0.5, "Gelu", {"approximate": "tanh"})


def _swish(walk: Walk, sigmoid: Node) -> Found | None:
    plain = _product(walk, sigmoid, sigmoid.inputs[0], 1.0, "Swish", {"alpha": 1.0})
    if plain is not None:
        return plain
    walk = Walk(walk.graph, {sigmoid.name: sigmoid})
    x, alpha = walk.scaled(sigmoid.inputs[0])
    return _product(walk, sigmoid, x, 1.0, "Swish", {"alpha": alpha})


def _hard_sigmoid_swish(walk: Walk, node: Node) -> Found | None:
    line = (read_float(node.attrs, "alpha"), read_float(node.attrs, "beta"))
    if not close(line[0], 1.0 / 6.0) or line[1] != 0.5:
        return None
    return _product(walk, node, node.inputs[0], 1.0, "HardSwish", {})


def _clip_swish(walk: Walk, clip: Node) -> Found | None:
    line = walk.producer(clip.inputs[0], "Add")
    shifted = None if line is None else walk.with_constant(line)
    bounds = (read_float(clip.attrs, "min"), read_float(clip.attrs, "max"))
    if shifted is None or shifted[1] != 3.0 or bounds != (0.0, 6.0):
        return None
    return _product(walk, clip, shifted[0], 1.0 / 6.0, "HardSwish", {})


def _plus_one(walk: Walk, node: Node) -> Node | None:
    """The sum of a node's result and 1, its only reader."""
    total = walk.reader(node.output, "Add")
    found = None if total is None else walk.with_constant(total)
    return total if found == (node.output, 1.0) else None


def _with_cube(walk: Walk, value: str) -> str | None:
    """The x of `x + 0.044715 x^3`, as such a sum or as `x * (1 + 0.044715 x^2)`."""
    node = walk.producer(value, "Add", "Mul")
    if node is None:
        return None
    for x, other in (node.inputs, node.inputs[::-1]):
        term: str | None = other
        inside: list[Node] = []
        if node.op == "Mul":
            term = _less_one(walk, other, inside)
        power = 3 if node.op == "Add" else 2
        if term is not None and _is_multiple_of_power(walk, term, x, power, inside):
            for each in inside:
                walk.take(each, each.op)
            return x
    return None


def _less_one(walk: Walk, value: str, inside: list[Node]) -> str | None:
    """The y of `1 + y`; the sum is added to `inside`."""
    node = walk.graph.producer(value)
    found = walk.with_constant(node) if node is not None and node.op == "Add" else None
    if node is None or found is None or found[1] != 1.0:
        return None
    inside.append(node)
    return found[0]


def _is_multiple_of_power(walk: Walk, value: str, x: str, power: int, inside: list[Node]) -> bool:
    """Whether a value is `0.044715 x^power`; its factors, in any order, are added to `inside`."""
    scale, left, pending = 1.0, float(power), [value]
    while pending:
        factor = pending.pop()
        node, number = walk.graph.producer(factor), walk.constant(factor)
        if factor == x:
            left -= 1.0
        elif number is not None:
            scale *= number
        elif node is not None and node.op == "Mul":
            inside.append(node)
            pending += node.inputs
        elif node is not None and node.op == "Pow" and node.inputs[0] == x:
            inside.append(node)
            left -= walk.constant(node.inputs[1]) or 0.0
        else:
            return False
    return left == 0.0 and close(scale, 0.044715)


def _product(
    walk: Walk, share: Node, x: str, factor: float, op: str, attrs: dict[str, object]
) -> Found | None:
    """The nodes that make `factor * x * share`, read one after the other from `share` on."""
    last, scale, seen = share, 1.0, False
    while not (seen and close(scale, factor)):
        node = walk.reader(last.output, "Mul", "Div")
        step = None if node is None else _step(walk, node, last.output, "" if seen else x)
        if node is None or step is None:
            return None
        number, with_x = step
        scale, seen, last = scale * number, seen or with_x, node
    if last.type.shape != walk.graph.types[x].shape:
        return None
    return Found.of(walk, last, replace(last, op=op, inputs=(x,), attrs=attrs))


def _step(walk: Walk, node: Node, value: str, x: str) -> tuple[float, bool] | None:
    """By what a node multiplies a value: a number, and whether also by x; None if by else.

    `x` is empty where the product has one already.
    """
    number = walk.constant(node.inputs[1])
    if node.op == "Div":
        return (1.0 / number, False) if number and node.inputs[0] == value else None
    other = node.inputs[1] if node.inputs[0] == value else node.inputs[0]
    number = walk.constant(other)
    if number is not None:
        return number, False
    if other == x:
        return 1.0, True
    source, number = walk.scaled(other)
    return (number, True) if source == x else None
