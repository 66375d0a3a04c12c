"""The graph as partitioning sees it: vertices with weights, edges with bytes.

Read `DependencyGraph` first. Invariant: every edge points forward, so the vertices stand in
topological order. The algorithms of this folder work on this plain structure alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from ago.cost_model.linear import OperatorWeight, nest_features, shipped_operator_weight
from ago.errors import IRError
from ago.ir.graph import Graph, Node
from ago.ir.lowering import LOWERINGS, lower_nodes
from ago.ir.ops import OPERATORS, Kind
from ago.ir.tensor import TensorType

__all__ = ["DependencyGraph", "Edge", "Vertex", "dependency_graph", "operator_weight"]


@dataclass(frozen=True, slots=True)
class Vertex:
    """One operator.

    Attributes:
        name: Unique in the graph.
        op: The operator's name, for people and for the baseline.
        kind: `complex`, `elementwise`, `reduction`, `movement` or `extern`.
        weight: Expected tuning effort, at least 0.
        nbytes: Bytes of its first result, without the rounding of layouts.
    """

    name: str
    op: str
    kind: Kind
    weight: float
    nbytes: int


@dataclass(frozen=True, slots=True)
class Edge:
    """One tensor read by one operator.

    Attributes:
        producer: Position of the vertex that makes it.
        consumer: Position of the vertex that reads it.
        value: Name of the tensor.
        nbytes: Its size, bytes, without the rounding of layouts.
    """

    producer: int
    consumer: int
    value: str
    nbytes: int


@dataclass(frozen=True, slots=True)
class DependencyGraph:
    """Operators and the tensors between them.

    Attributes:
        vertices: In topological order.
        edges: Each points from an earlier to a later vertex; one for each tensor and reader.
        outputs: Names of the tensors that leave the graph.
    """

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
    outputs: frozenset[str] = frozenset()
    incoming: tuple[tuple[Edge, ...], ...] = field(init=False, repr=False, compare=False)
    outgoing: tuple[tuple[Edge, ...], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        incoming: list[list[Edge]] = [[] for _ in self.vertices]
        outgoing: list[list[Edge]] = [[] for _ in self.vertices]
        for edge in self.edges:
            if not 0 <= edge.producer < edge.consumer < len(self.vertices):
                raise IRError("not-topological", f"edge {edge} does not point forward")
            incoming[edge.consumer].append(edge)
            outgoing[edge.producer].append(edge)
        object.__setattr__(self, "incoming", tuple(map(tuple, incoming)))
        object.__setattr__(self, "outgoing", tuple(map(tuple, outgoing)))


def dependency_graph(
    graph: Graph, weight: Callable[[Graph, Node], float] | None = None
) -> DependencyGraph:
    """The plain structure of a graph.

    Args:
        graph: The graph after all passes.
        weight: Weight of a node; by default `operator_weight`.
    """
    weigh = weight or operator_weight
    position = {node.name: number for number, node in enumerate(graph.nodes)}
    vertices = tuple(
        Vertex(n.name, n.op, OPERATORS[n.op].kind, weigh(graph, n), _nbytes(n.type))
        for n in graph.nodes
    )
    return DependencyGraph(vertices, tuple(_edges(graph, position)), frozenset(graph.outputs))


def _edges(graph: Graph, position: dict[str, int]) -> Iterable[Edge]:
    for node in graph.nodes:
        for value in dict.fromkeys(node.inputs):
            producer = graph.producer(value)
            if producer is not None:
                nbytes = _nbytes(graph.type_of(value))
                yield Edge(position[producer.name], position[node.name], value, nbytes)


def _nbytes(kind: TensorType) -> int:
    return replace(kind, layout=None).nbytes


def operator_weight(graph: Graph, node: Node, model: OperatorWeight | None = None) -> float:
    """The weight of a node by the linear model, from the naive loop nest it lowers to.

    Args:
        graph: The graph after all passes.
        node: One of its nodes; an extern, or one that has no lowering, weighs 0, as it cannot be
            tuned.
        model: By default the shipped one.
    """
    kind = OPERATORS[node.op].kind
    if kind == "movement" or kind == "extern" or node.op not in LOWERINGS:
        return 0.0
    program = lower_nodes(graph, [node], node.outputs, "operator").program
    return (model or shipped_operator_weight())(nest_features(program, kind))
