"""The order in which activations lie in memory.

Read `choose_layouts` first. Invariant: inputs, outputs and parameters of the graph stay row-major,
and no layout changes what a node computes; a tensor that lies within another is written before
the Concat that joins them, or is a Slice of what was written before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ago.ir.graph import Graph, Layout, Node, TensorType
from ago.ir.ops import OPERATORS
from ago.passes.memory_views import (
    VIEWING,
    concat_slots,
    layout_before,
    may_lie_elsewhere,
    meets_extern,
    view_layout,
    views_input,
)

_MAPS = frozenset(
    {
        *("AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "DepthToSpace"),
        *("GlobalAveragePool", "InstanceNormalization", "Interpolate", "LpPool", "MaxPool"),
        "SpaceToDepth",
    }
)
"""Operators on `[N, C, spatial...]` that go along the channels in their inner loops."""

_ROWS = frozenset(("Einsum", "Gemm", "MatMul"))
"""Operators that make the last axis in their inner loops, from inputs that may lie anyhow."""

_ALONG_ROWS = frozenset(
    ("LayerNormalization", "LogSoftmax", "RMSNormalization", "Softmax", "SoftmaxPowers")
)
"""Operators that usually go along the last axis, of their input and of their result."""

_FOLLOWERS = frozenset(("Concat", "Expand", "Interleave", "Pad", "Slice", "Take", "Tile", "Trilu"))
"""Operators, besides element-wise ones, whose axes are those of their inputs."""


def choose_layouts(graph: Graph, lanes: int) -> Graph:
    """Give a layout to every activation.

    Tensors whose axes are the same, because element-wise operators and the like stand between them,
    share an order: channels-last where one of them belongs to a convolution or pool, row-major
    where one belongs to a matrix product. Where neither is so, a Reshape, Transpose or Slice keeps
    its input's order as long as it stays a view, and the rest is row-major.

    Channels-last tensors have their channels rounded up to `lanes` where there are at least as
    many: fewer would more than double the tensor for one partial vector. Those of rank 1 and 2 are
    rounded, except that the two sides of a Reshape are rounded only where it stays a view. Outputs
    of the graph, and what an extern reads or writes, are row-major without rounding.

    Args:
        graph: Any graph.
        lanes: float32 lanes of a vector register of the target.

    Returns:
        The same graph with layouts in its types.
    """
    types = {value: replace(kind, layout=None) for value, kind in graph.types.items()}
    maps, rows = _anchored(graph)
    for node in graph.nodes:
        for value in node.outputs:
            if value not in graph.outputs:
                layout = _layout(graph, types, node, value, lanes, (maps, rows))
                types[value] = replace(types[value], layout=layout)
    for node in reversed(graph.nodes):
        if node.op == "Concat":
            _place_inputs(graph, types, node, lanes)
    return graph.with_nodes(
        replace(node, types=tuple(types[value] for value in node.outputs)) for node in graph.nodes
    )


def _anchored(graph: Graph) -> tuple[frozenset[str], frozenset[str]]:
    """Values that share their axes with one of a convolution or pool, and of a matrix product."""
    parent = {value: value for value in graph.types}

    def root(value: str) -> str:
        while parent[value] != value:
            parent[value] = parent[parent[value]]
            value = parent[value]
        return value

    maps: set[str] = set()
    rows: set[str] = set()
    for node in graph.nodes:
        own = [v for v in (*node.inputs, *node.outputs) if v and v not in graph.params]
        if _follows(node):
            same = [v for v in own if graph.types[v].rank == node.type.rank]
            for value in same[1:]:
                parent[root(value)] = root(same[0])
        if node.op in _MAPS:
            maps.update(own)
        elif node.op in _ROWS or node.op in _ALONG_ROWS:
            rows.update(node.outputs if node.op in _ROWS else own)
    with_map, with_row = {root(v) for v in maps}, {root(v) for v in rows}
    return (
        frozenset(v for v in parent if root(v) in with_map and graph.types[v].rank > 2),
        frozenset(v for v in parent if root(v) in with_row),
    )


def _follows(node: Node) -> bool:
    return node.op in _FOLLOWERS or OPERATORS[node.op].kind == "elementwise"


def _layout(
    graph: Graph,
    types: dict[str, TensorType],
    node: Node,
    value: str,
    lanes: int,
    anchored: tuple[frozenset[str], frozenset[str]],
) -> Layout:
    """The layout of one value, from those of the values before it."""
    kind = types[value]
    maps, rows = anchored
    if meets_extern(graph, value):
        return Layout.row_major(kind.rank)
    wanted: Layout | None = None
    if value in maps:
        wanted = Layout.channels_last(kind.rank, lanes if kind.shape[1] >= lanes else 1)
    elif kind.rank in (1, 2):
        wanted = _rounded(graph, types, node, value, lanes)
    elif value in rows:
        wanted = _for_its_reader(graph, value, maps, lanes) or Layout.row_major(kind.rank)
    view = _view_layout(graph, types, node, wanted, lanes)
    if view is not None:
        return view
    return wanted or Layout(tuple(_kept_order(graph, types, node) or range(kind.rank)))


def _for_its_reader(graph: Graph, value: str, maps: frozenset[str], lanes: int) -> Layout | None:
    """The layout of rows that are read only as other rows, so that reading them moves nothing.

    Elements that are neighbours stay so, and rows are whole vectors: they are written as such.
    """
    readers, kind = graph.consumers(value), graph.types[value]
    if len(readers) != 1 or not OPERATORS[readers[0].op].permutes or value in graph.outputs:
        return None
    (reader,) = readers
    if reader.output in maps or kind.shape[-1] % lanes:
        return None
    plain = {v: replace(graph.types[v], layout=None) for v in (value, reader.output)}
    layout = layout_before(plain, reader)
    kept = layout is not None and layout.within is None and layout.order[-1] == kind.rank - 1
    return layout if kept else None


def _view_layout(
    graph: Graph,
    types: dict[str, TensorType],
    node: Node,
    wanted: Layout | None,
    lanes: int,
) -> Layout | None:
    """The layout that makes a node a view; None if there is none as good as the one wanted.

    It has the same order, and whole vectors where its contiguous axis is a part of a wider one.
    """
    kind = types[node.output]
    if node.op not in VIEWING or node.inputs[0] in graph.params:
        return None
    if wanted is not None:
        if views_input({**types, node.output: replace(kind, layout=wanted)}, node):
            return wanted
        if node.op != "Slice":
            return None
    view = view_layout(types, node)
    if view is None or (wanted is not None and _long(view, kind) != _long(wanted, kind)):
        return None
    return view if _is_whole(view, kind, lanes) else None


def _is_whole(layout: Layout, kind: TensorType, lanes: int) -> bool:
    """Whether a tensor within another is made of whole vectors, if it is a part of each row."""
    part = layout.within
    inner = _long(layout, kind)[-1:]
    return part is None or part.axis not in inner or kind.shape[part.axis] % lanes == 0


def _long(layout: Layout, kind: TensorType) -> list[int]:
    """The order of the axes that are longer than 1."""
    return [axis for axis in layout.order if kind.shape[axis] > 1]


def _rounded(
    graph: Graph, types: dict[str, TensorType], node: Node, value: str, lanes: int
) -> Layout:
    """Row-major with whole vectors, unless that costs a view."""
    kind = types[value]
    plain, rounded = (Layout.row_major(kind.rank, n) for n in (1, lanes))
    if any(n.op == "Reshape" for n in graph.consumers(value)):
        return plain
    shown = {**types, value: replace(kind, layout=rounded)}
    return plain if node.op == "Reshape" and not views_input(shown, node) else rounded


def _kept_order(graph: Graph, types: dict[str, TensorType], node: Node) -> Sequence[int] | None:
    """The order in which the result lies as the node's largest input does, if axes are the same."""
    made = [types[v] for v in node.inputs if v and v not in graph.params]
    source = max(made, key=lambda kind: (kind.rank, kind.size), default=None)
    if source is None or not _follows(node) or source.rank != node.type.rank:
        return None
    return (source.layout or Layout.row_major(source.rank)).order


def _place_inputs(graph: Graph, types: dict[str, TensorType], node: Node, lanes: int) -> None:
    """Let the inputs of a Concat lie in its output, so that it costs nothing, where they may.

    They may if its result is no output of the graph, and each input is made by a node for this
    Concat once and lies nowhere else yet. Along the contiguous axis they must be made of whole
    vectors: a rounded store would run into its neighbour.
    """
    slots = concat_slots(types, node)
    free = (
        bool(slots)
        and len(set(node.inputs)) == len(node.inputs)
        and all(
            may_lie_elsewhere(graph, value)
            and (layout := types[value].layout) is not None
            and layout.order == slot.order
            and layout.within is None
            and _is_whole(slot, types[value], lanes)
            for value, slot in zip(node.inputs, slots, strict=True)
        )
    )
    if free:
        for value, slot in zip(node.inputs, slots, strict=True):
            types[value] = replace(types[value], layout=slot)
