"""Layer normalisation in the primitive operators that exporters write it in.

Read `recognise_layer_norm` first. Invariant: what takes the place of several nodes computes the
same mean, variance and quotient of the same elements.
"""

from __future__ import annotations

from dataclasses import replace

from ago.ir.attributes import read_int, read_ints
from ago.ir.graph import Graph, Node
from ago.passes.patterns import Found, Walk, rewrite_found


def recognise_layer_norm(graph: Graph) -> Graph:
    """Turn `(x - mean x) / sqrt(mean (x - mean x)^2 + epsilon)` into a LayerNormalization.

    The square may be a Pow or a Mul, the quotient a product with a reciprocal; a product with a
    parameter afterwards becomes the scale, a sum the bias. What is computed in between must be
    read by nothing else and be no output of the graph.

    Args:
        graph: Any graph, constants folded.

    Returns:
        A graph equivalent up to rounding.
    """
    return rewrite_found(graph, _found)


def _found(graph: Graph, node: Node) -> Found | None:
    """The normalisation that a square root belongs to."""
    walk = Walk(graph)
    root = walk.take(node, "Sqrt")
    found = None if root is None else _variance(walk, root.inputs[0])
    if root is None or found is None:
        return None
    x, axes, epsilon = found
    quotient = _quotient(walk, root, x, axes)
    if quotient is None:
        return None
    inputs, last = [x], quotient
    for op in ("Mul", "Add"):
        reader = _with_parameter(walk, last, op)
        if reader is None:
            break
        inputs += [value for value in reader.inputs if value in graph.params]
        last = reader
    attrs = {"axes": axes, "epsilon": epsilon}
    normal = replace(last, op="LayerNormalization", inputs=tuple(inputs), attrs=attrs)
    return Found.of(walk, last, normal)


def _variance(walk: Walk, value: str) -> tuple[str, tuple[int, ...], float] | None:
    """The x, axes and epsilon of `mean (x - mean x)^2 + epsilon`."""
    total = walk.producer(value, "Add")
    parts = None if total is None else walk.with_constant(total)
    if parts is None:
        return None
    mean = walk.producer(parts[0], "ReduceMean")
    square = None if mean is None else walk.producer(mean.inputs[0], "Mul", "Pow")
    if mean is None or square is None or not read_int(mean.attrs, "keepdims"):
        return None
    axes = read_ints(mean.attrs, "axes")
    x = _distance(walk, square.inputs[0], axes)
    same = square.inputs[0] == square.inputs[1]
    squared = same if square.op == "Mul" else walk.constant(square.inputs[1]) == 2.0
    return (x, axes, parts[1]) if x is not None and squared and axes else None


def _distance(walk: Walk, value: str, axes: tuple[int, ...]) -> str | None:
    """The x of `x - mean x` over some axes."""
    distance = walk.producer(value, "Sub")
    mean = None if distance is None else walk.producer(distance.inputs[1], "ReduceMean")
    if distance is None or mean is None or mean.inputs[0] != distance.inputs[0]:
        return None
    kept = read_int(mean.attrs, "keepdims") and read_ints(mean.attrs, "axes") == axes
    return distance.inputs[0] if kept else None


def _quotient(walk: Walk, root: Node, x: str, axes: tuple[int, ...]) -> Node | None:
    """The node that divides `x - mean x` by the root."""
    node = walk.reader(root.output, "Div", "Reciprocal")
    if node is None:
        return None
    if node.op == "Div" and walk.constant(node.inputs[0]) != 1.0:
        return node if _distance(walk, node.inputs[0], axes) == x else None
    product = walk.reader(node.output, "Mul")
    if product is None:
        return None
    others = [value for value in product.inputs if value != node.output]
    return product if len(others) == 1 and _distance(walk, others[0], axes) == x else None


def _with_parameter(walk: Walk, node: Node, op: str) -> Node | None:
    """Take the only reader of a node, if it joins it with a parameter that broadcasts to it."""
    readers = walk.graph.consumers(node.output)
    if len(readers) != 1 or node.output in walk.graph.outputs:
        return None
    (reader,) = readers
    parameters = [value for value in reader.inputs if value in walk.graph.params]
    if len(parameters) != 1 or reader.type.shape != node.type.shape:
        return None
    return walk.take(reader, op)
