"""The operator graph: what a model computes, before any loop exists.

Read `Graph` first. Invariants (checked by `Graph.verify`): nodes stand in topological order, every
value has one definition and one type, and every output of the graph is made by a node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ago.errors import IRError
from ago.ir.attributes import FrozenMap
from ago.ir.tensor import Layout, TensorType, dtype_name

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Graph", "Layout", "Node", "TensorType"]

Params = Mapping[str, npt.NDArray[np.generic]]


@dataclass(frozen=True, slots=True)
class Node:
    """One operator applied to named values.

    Attributes:
        name: Unique among the nodes of its graph; the model's own name where it has one.
        op: Key of `ago.ir.ops.OPERATORS`.
        inputs: Names of the values read, in the operator's order; `""` is an absent optional one.
        outputs: Names of the values made.
        attrs: The operator's attributes, all explicit.
        types: One type per output.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Mapping[str, object]
    types: tuple[TensorType, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "attrs", FrozenMap(self.attrs))

    @property
    def output(self) -> str:
        """Name of the first output."""
        return self.outputs[0]

    @property
    def type(self) -> TensorType:
        """Type of the first output."""
        return self.types[0]

    def __str__(self) -> str:
        attrs = "".join(f" {key}={_short(value)}" for key, value in self.attrs.items())
        types = ", ".join(str(kind) for kind in self.types)
        inputs = ", ".join(name or "-" for name in self.inputs)
        return f"{', '.join(self.outputs)} = {self.op}({inputs}){attrs} -> {types}"


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A model as an acyclic graph of operators on tensors of static shape.

    Use `Graph.make` to build one: it derives `types`. Two graphs are equal if they have the same
    names, nodes, types and, bit for bit, parameters.

    Attributes:
        name: The model's name.
        inputs: Names of the tensors the caller gives, in order.
        outputs: Names of the tensors the caller gets, in order; each is made by a node.
        nodes: The operators in topological order.
        params: Constant tensors by name; the arrays are read-only.
        types: Type of every value: inputs, parameters and node outputs.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    params: Params
    types: Mapping[str, TensorType]
    _producers: Mapping[str, Node] = field(init=False, repr=False)
    _consumers: Mapping[str, tuple[Node, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        consumers: defaultdict[str, list[Node]] = defaultdict(list)
        for node in self.nodes:
            for value in sorted(set(node.inputs) - {""}):
                consumers[value].append(node)
        params = {name: _read_only(array) for name, array in self.params.items()}
        object.__setattr__(self, "params", params)
        object.__setattr__(self, "_producers", {v: n for n in self.nodes for v in n.outputs})
        object.__setattr__(self, "_consumers", {v: tuple(n) for v, n in consumers.items()})

    @classmethod
    def make(
        cls,
        name: str,
        inputs: Mapping[str, TensorType],
        nodes: Iterable[Node],
        outputs: Iterable[str],
        params: Params,
    ) -> Graph:
        """Return a verified graph; the types come from the inputs, parameters and nodes.

        Raises:
            IRError: If the parts break a law of the graph; see `verify`.
        """
        nodes = tuple(nodes)
        types = dict(inputs)
        types.update((p, TensorType(a.shape, dtype_name(a.dtype))) for p, a in params.items())
        types.update((v, t) for n in nodes for v, t in zip(n.outputs, n.types, strict=True))
        graph = cls(name, tuple(inputs), tuple(outputs), nodes, params, types)
        graph.verify()
        return graph

    def with_nodes(
        self,
        nodes: Iterable[Node],
        params: Params | None = None,
        outputs: Iterable[str] | None = None,
    ) -> Graph:
        """Return this graph with other nodes, and with only the parameters that they read.

        Args:
            nodes: The new nodes in topological order.
            params: The parameters to choose from; by default those of this graph.
            outputs: The new outputs; by default those of this graph.

        Raises:
            IRError: If the result breaks a law of the graph; see `verify`.
        """
        nodes = tuple(nodes)
        read = {value for node in nodes for value in node.inputs}
        params = self.params if params is None else params
        return Graph.make(
            self.name,
            {name: self.types[name] for name in self.inputs},
            nodes,
            self.outputs if outputs is None else outputs,
            {name: array for name, array in params.items() if name in read},
        )

    def type_of(self, value: str) -> TensorType:
        """Return the type of a value.

        Raises:
            KeyError: If the graph has no such value.
        """
        return self.types[value]

    def producer(self, value: str) -> Node | None:
        """Return the node that makes a value, or None for an input, a parameter and `""`."""
        return self._producers.get(value)

    def consumers(self, value: str) -> tuple[Node, ...]:
        """Return the nodes that read a value, each once, in the order of the graph."""
        return self._consumers.get(value, ())

    def verify(self) -> None:
        """Check the laws of the graph.

        Raises:
            IRError: With code `duplicate-name`, `undefined-value`, `wrong-type` or
                `output-not-made`.
        """
        _require_unique("node", [node.name for node in self.nodes])
        made = [value for node in self.nodes for value in node.outputs]
        _require_unique("value", [*self.inputs, *self.params, *made])
        _require_unique("output", self.outputs)
        known = {*self.inputs, *self.params}
        for node in self.nodes:
            for value in node.inputs:
                if value and value not in known:
                    message = f"node {node.name!r} reads {value!r} before it is defined"
                    raise IRError("undefined-value", message)
            known.update(node.outputs)
        for value in self.outputs:
            if value not in self._producers:
                raise IRError("output-not-made", f"no node makes the output {value!r}")
        self._verify_types(known)

    def _verify_types(self, known: set[str]) -> None:
        if self.types.keys() != known:
            stray = sorted(self.types.keys() ^ known)
            raise IRError("wrong-type", f"not exactly one type for each of {', '.join(stray)}")
        for node in self.nodes:
            if node.types != tuple(self.types[value] for value in node.outputs):
                message = f"node {node.name!r} and its graph give different types to its outputs"
                raise IRError("wrong-type", message)

    def to_networkx(self) -> nx.MultiDiGraph:
        """Return a NetworkX view: operators by node name, one edge per value read.

        Node attribute `node` is the `Node`; edge attribute `value` the name of the tensor.
        """
        import networkx as nx  # deferred: it takes as long to import as all of AGO

        view = nx.MultiDiGraph(name=self.name)
        for node in self.nodes:
            view.add_node(node.name, node=node)
            for value in node.inputs:
                producer = self.producer(value)
                if producer is not None:
                    view.add_edge(producer.name, node.name, value=value)
        return view

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return (
            self._structure() == other._structure()
            and self.types == other.types
            and self.params.keys() == other.params.keys()
            and all(_same_bits(array, other.params[p]) for p, array in self.params.items())
        )

    def __hash__(self) -> int:
        return hash((self.name, self.inputs, self.outputs, tuple(node.name for node in self.nodes)))

    def _structure(self) -> tuple[object, ...]:
        return (self.name, self.inputs, self.outputs, self.nodes)

    def __str__(self) -> str:
        inputs = ", ".join(f"{name}: {self.types[name]}" for name in self.inputs)
        lines = [f"graph {self.name}({inputs}) -> {', '.join(self.outputs)}"]
        lines += [f"  {node}" for node in self.nodes]
        return "\n".join(lines)


def _short(value: object) -> str:
    if isinstance(value, tuple):
        return f"({','.join(_short(item) for item in value)})"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _read_only(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    view = array.view()
    view.flags.writeable = False
    return view


def _same_bits(a: npt.NDArray[np.generic], b: npt.NDArray[np.generic]) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def _require_unique(what: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not name or name in seen:
            problem = "is defined twice" if name else "has an empty name"
            raise IRError("duplicate-name", f"{what} {name!r} {problem}")
        seen.add(name)
