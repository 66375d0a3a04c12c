"""What the graph passes share: a graph under rewrite.

Read `Draft` first. Invariant: a draft never changes the graph it came from, and questions about
readers are answered by that graph.
"""

from __future__ import annotations

import numpy as np

from ago.ir.graph import Graph, Node
from ago.ir.ops import Array
from ago.ir.ops.operator import as_reference
from ago.ir.tensor import dtype_name, numpy_dtype


class Draft:
    """New nodes and parameters for a graph, written in topological order.

    Args:
        graph: The graph to start from; its parameters are taken over, its nodes are not.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._nodes: list[Node] = []
        self._positions: dict[str, int] = {}
        self._params = dict(graph.params)
        self._names = {*graph.types, *(node.name for node in graph.nodes)}

    def append(self, node: Node) -> None:
        """Add a node behind those so far."""
        for value in node.outputs:
            self._positions[value] = len(self._nodes)
        self._nodes.append(node)

    def producer(self, value: str) -> Node | None:
        """Return the new node that makes `value`, if there is one so far."""
        position = self._positions.get(value)
        return None if position is None else self._nodes[position]

    def replace(self, old: Node, new: Node) -> None:
        """Put a node, perhaps with other outputs, in the place of one that was appended."""
        position = self._positions[old.output]
        for value in old.outputs:
            del self._positions[value]
        for value in new.outputs:
            self._positions[value] = position
        self._nodes[position] = new

    def fresh(self, stem: str) -> str:
        """Return `stem`, with a number if need be, as a name that nothing has yet."""
        name, count = stem, 1
        while name in self._names:
            name, count = f"{stem}_{count}", count + 1
        self._names.add(name)
        return name

    def param(self, name: str) -> Array | None:
        """Return a parameter, floats in float64, or None if `name` is not one."""
        array = self._params.get(name)
        return None if array is None else as_reference(array, dtype_name(array.dtype))

    def add_param(self, stem: str, array: Array, dtype: str = "f32") -> str:
        """Add a parameter, stored as `dtype`, and return its name, which starts with `stem`."""
        name = self.fresh(stem)
        self._params[name] = np.asarray(array, numpy_dtype(dtype))
        return name

    def is_private(self, value: str, reader: Node) -> bool:
        """Tell whether `value` is read only once, by `reader`, and is no output of the graph."""
        readers = [node.name for node in self.graph.consumers(value)]
        once = readers == [reader.name] and reader.inputs.count(value) == 1
        return once and value not in self.graph.outputs

    def finish(self) -> Graph:
        """Return the rewritten graph, without the parameters that nothing reads any more."""
        return self.graph.with_nodes(self._nodes, self._params)
