"""Factors of attention into the weights that made its operands.

Read `fold_scales` first. Invariant: only columns of a product that nothing sees but through the
factor are scaled; which ones these are is found by moving their numbers as the graph moves them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ago.ir.attributes import read_int
from ago.ir.graph import Graph, Node
from ago.ir.ops import OPERATORS
from ago.passes.draft import Draft

_MOVES = frozenset({"Identity", "Rearrange", "Reshape", "Slice", "Transpose"})
"""Operators of one input that move elements and compute nothing."""

_SMALLEST = 2.0**-20
"""Factors from here to 1 neither overflow, nor make weights denormal that matter."""

Numbers = npt.NDArray[np.int32]


def fold_scales(graph: Graph) -> Graph:
    """Fold products with one number into the weights and the bias of the product before them.

    Between the two, elements may be reshaped, transposed and sliced, so that a number that scales
    the queries of a joint product of queries, keys and values scales just their columns. A number
    by which a product of two activations is multiplied or divided goes into one of its operands.

    Args:
        graph: Any graph, constants folded.

    Returns:
        A graph equivalent up to the rounding of the scaled constants to float32.
    """
    found = _Scales(graph)
    for node in graph.nodes:
        found.fold(node)
    return found.rewritten() if found.gone else graph


@dataclass(slots=True)
class _Scales:
    """What is to be scaled.

    Attributes:
        graph: The graph.
        factors: A factor for each column, by the value that a product and its bias make.
        gone: What each result that is no longer made was made from.
    """

    graph: Graph
    factors: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)

    def fold(self, node: Node) -> None:
        """Fold a node into the weights, if it scales and can be."""
        scaled = _scaled(self.graph, node)
        if scaled is None or node.output in self.graph.outputs:
            return
        value, factor = scaled
        product = self.graph.producer(value)
        places = [(value, node)]
        private = len(self.graph.consumers(value)) == 1 and value not in self.graph.outputs
        if product is not None and product.op == "MatMul" and private:
            places += [(operand, product) for operand in product.inputs]
        for operand, reader in places:
            if self._scale(operand, reader, factor):
                self.gone[node.output] = value
                return

    def rewritten(self) -> Graph:
        """The graph with scaled constants."""
        draft = Draft(self.graph)
        for node in self.graph.nodes:
            if node.output not in self.gone:
                inputs = tuple(self.gone.get(value, value) for value in node.inputs)
                draft.append(self._with_factors(draft, replace(node, inputs=inputs)))
        return draft.finish()

    def _scale(self, operand: str, reader: Node, factor: float) -> bool:
        """Scale the columns that `reader` reads as `operand`, if only it does."""
        root = _root(self.graph, operand)
        if root is None:
            return False
        own: list[Numbers] = []
        others: list[Numbers] = []
        for columns, value, by in _leaves(self.graph, root):
            (own if value == operand and by == reader.name else others).append(columns)
        if len(own) != 1 or reader.inputs.count(operand) > 1:
            return False
        columns = np.unique(own[0])
        if any(np.isin(columns, other).any() for other in others):
            return False
        factors = self.factors.setdefault(root, np.ones(self.graph.types[root].shape[-1]))
        factors[columns] *= factor
        return True

    def _with_factors(self, draft: Draft, node: Node) -> Node:
        """A node with the factors of what it makes in its constants."""
        bias = self.graph.consumers(node.output)
        factors = self.factors.get(node.output)
        if factors is None and node.op == "MatMul" and len(bias) == 1 and bias[0].op == "Add":
            factors = self.factors.get(bias[0].output)
        if factors is None:
            return node
        inputs = list(node.inputs)
        for position, value in enumerate(inputs):
            array = draft.param(value)
            if array is not None and (position == 1 or node.op != "MatMul"):
                turned = position == 1 and node.op == "Gemm" and read_int(node.attrs, "trans_b")
                scaled = array * (factors[:, None] if turned else factors)
                inputs[position] = draft.add_param(f"{value}.scaled", scaled)
        return replace(node, inputs=tuple(inputs))


def _scaled(graph: Graph, node: Node) -> tuple[str, float] | None:
    """What a node multiplies by one number, and the number."""
    if node.op not in ("Mul", "Div") or node.type.dtype != "f32":
        return None
    a, b = node.inputs
    if node.op == "Mul" and a in graph.params:
        a, b = b, a
    array = graph.params.get(b)
    if array is None or array.size != 1 or graph.types[a].shape != node.type.shape:
        return None
    number = float(array.reshape(()))
    factor = number if node.op == "Mul" or number == 0.0 else 1.0 / number
    return (a, factor) if _SMALLEST <= abs(factor) <= 1.0 else None


def _root(graph: Graph, value: str) -> str | None:
    """The product with constant weights, bias and all, whose elements a value holds."""
    node = graph.producer(value)
    while node is not None and node.op in _MOVES:
        value = node.inputs[0]
        node = graph.producer(value)
    if node is None or node.type.dtype != "f32":
        return None
    if node.op == "Gemm":
        constant = all(value in graph.params for value in node.inputs[1:] if value)
        return value if constant else None
    product = node
    if node.op == "Add":
        constants = [v for v in node.inputs if v in graph.params]
        others = [v for v in node.inputs if v not in graph.params]
        before = graph.producer(others[0]) if len(others) == 1 else None
        if before is None or not constants or len(graph.consumers(others[0])) > 1:
            return None
        if before.type.shape != node.type.shape or others[0] in graph.outputs:
            return None
        product = before
    weight = product.inputs[-1] if product.op == "MatMul" else ""
    return value if weight in graph.params and graph.types[weight].rank == 2 else None


def _leaves(graph: Graph, root: str) -> Iterator[tuple[Numbers, str, str]]:
    """Column numbers as each reader sees them, with the value it reads and its name.

    An output of the graph is read by a nameless one.
    """
    shape = graph.types[root].shape
    start = np.broadcast_to(np.arange(shape[-1], dtype=np.int32), shape)
    pending = [(root, start)]
    while pending:
        value, columns = pending.pop()
        if value in graph.outputs:
            yield columns, value, ""
        for reader in graph.consumers(value):
            if reader.op in _MOVES:
                (moved,) = OPERATORS[reader.op].reference([columns], reader.attrs)
                pending.append((reader.output, moved))
            else:
                yield columns, value, reader.name
