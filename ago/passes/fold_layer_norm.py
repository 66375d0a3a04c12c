"""Scale and bias of a layer normalisation into the products that read it.

Read `fold_layer_norm` first. Invariant: a normalisation that anything else reads keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ago.ir.attributes import read_ints
from ago.ir.graph import Graph, Node
from ago.ir.ops import Array
from ago.passes.draft import Draft


def fold_layer_norm(graph: Graph) -> Graph:
    """Fold what follows a normalisation of rows into weights and biases.

    `(n * s + b) @ w + c` is `n @ (s * w) + (b @ w + c)`: of the normalisation, only `n` is left.
    It must be read by products with constant weights alone, each with a constant bias behind it if
    there is a `b` to go there.

    Args:
        graph: Any graph, constants folded.

    Returns:
        A graph equivalent up to the rounding of the constants to float32.
    """
    folding = _Folding(graph, Draft(graph))
    for node in graph.nodes:
        folding.append(node)
    return folding.draft.finish() if folding.scales else graph


@dataclass(frozen=True, slots=True)
class _Folding:
    """A graph under construction.

    Attributes:
        graph: The graph before.
        draft: The graph after.
        scales: Scale and bias that each normalisation has lost, by its result.
        shifts: What is still to be added to each product.
    """

    graph: Graph
    draft: Draft
    scales: dict[str, tuple[Array, Array | None]] = field(default_factory=dict)
    shifts: dict[str, Array] = field(default_factory=dict)

    def append(self, node: Node) -> None:
        """Append a node, with what was folded into its constants."""
        if _is_folded(self.graph, node):
            scale, bias = (self.draft.param(value) for value in (*node.inputs, "")[1:3])
            assert scale is not None
            self.scales[node.output] = scale, bias
            node = replace(node, inputs=node.inputs[:1])
        elif node.op == "MatMul" and node.inputs[0] in self.scales:
            node = self._scaled(node, *self.scales[node.inputs[0]])
        elif node.op == "Add" and not self.shifts.keys().isdisjoint(node.inputs):
            node = self._shifted(node)
        self.draft.append(node)

    def _scaled(self, node: Node, scale: Array, bias: Array | None) -> Node:
        x, name = node.inputs
        weight = self.draft.param(name)
        assert weight is not None
        if bias is not None:
            self.shifts[node.output] = bias @ weight
        return replace(
            node, inputs=(x, self.draft.add_param(f"{name}.norm", scale[:, None] * weight))
        )

    def _shifted(self, node: Node) -> Node:
        inputs = list(node.inputs)
        place = next(k for k, value in enumerate(inputs) if value in self.graph.params)
        addend = self.draft.param(inputs[place])
        assert addend is not None
        shifted = addend + self.shifts[inputs[1 - place]]
        inputs[place] = self.draft.add_param(f"{inputs[place]}.norm", shifted)
        return replace(node, inputs=tuple(inputs))


def _is_folded(graph: Graph, node: Node) -> bool:
    """Whether scale and bias of a normalisation can go into all that reads it."""
    if node.op not in ("LayerNormalization", "RMSNormalization") or len(node.inputs) < 2:
        return False
    last, readers = node.type.rank - 1, graph.consumers(node.output)
    constant = all(
        value in graph.params and graph.types[value].shape == node.type.shape[last:]
        for value in node.inputs[1:]
    )
    if read_ints(node.attrs, "axes") != (last,) or not constant or node.output in graph.outputs:
        return False
    biased = len(node.inputs) > 2
    return bool(readers) and all(_takes(graph, node.output, r, biased=biased) for r in readers)


def _takes(graph: Graph, value: str, reader: Node, *, biased: bool) -> bool:
    """Whether a reader of a normalisation is a product that takes scale and bias."""
    if reader.op != "MatMul" or reader.inputs[0] != value or reader.inputs[1] not in graph.params:
        return False
    if graph.types[reader.inputs[1]].rank != 2:
        return False
    return not biased or _has_bias(graph, reader)


def _has_bias(graph: Graph, product: Node) -> bool:
    """Whether a constant row is added to a product, and nothing else reads it."""
    readers = graph.consumers(product.output)
    if len(readers) != 1 or readers[0].op != "Add" or product.output in graph.outputs:
        return False
    shapes = [graph.types[v].shape for v in readers[0].inputs if v in graph.params]
    return shapes == [product.type.shape[-1:]]
