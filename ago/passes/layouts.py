"""The order in which activations lie in memory.

Read `choose_layouts` first. Invariant: inputs, outputs and parameters of the graph stay row-major,
and no layout changes what a node computes; a tensor that lies within another is written before
the Concat that joins them, or is a Slice of what was written before.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from ago.ir.attributes import read_ints
from ago.ir.graph import Graph, Layout, Node, TensorType
from ago.ir.ops import OPERATORS
from ago.ir.tensor import Slice
from ago.passes.memory_views import concat_slots, may_lie_elsewhere, meets_extern, views_input

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

_ALONG_ROWS = frozenset(("LayerNormalization", "LogSoftmax", "RMSNormalization", "Softmax"))
"""Operators that usually go along the last axis, of their input and of their result."""

_FOLLOWERS = frozenset(("Concat", "Expand", "Pad", "Slice", "Take", "Tile", "Trilu"))
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
    if node.op == "Slice":
        inside = _slice_layout(types, node, lanes)
        if inside is not None:
            return inside
    if value in maps:
        return Layout.channels_last(kind.rank, lanes if kind.shape[1] >= lanes else 1)
    if kind.rank in (1, 2):
        return _rounded(graph, types, node, value, lanes)
    order = None if value in rows else _kept_order(graph, types, node)
    return Layout.row_major(kind.rank) if order is None else Layout(tuple(order))


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


def _slice_layout(types: dict[str, TensorType], node: Node, lanes: int) -> Layout | None:
    """The layout of a Slice that is a view of whole vectors of its input; None if it is none."""
    source, kind = types[node.inputs[0]], types[node.output]
    layout = source.layout or Layout.row_major(source.rank)
    if not layout.order or source.rank < 2:
        return None
    axis = layout.order[-1]
    start, count = read_ints(node.attrs, "starts")[axis], kind.shape[axis]
    wide = layout.physical_shape(source.shape)[-1]
    inside = Layout(layout.order, 1, Slice(layout.offset + start, wide))
    whole = start % lanes == 0 and count % lanes == 0 and wide % lanes == 0
    shown = {**types, node.output: replace(kind, layout=inside)}
    return inside if whole and views_input(shown, node) else None


def _kept_order(graph: Graph, types: dict[str, TensorType], node: Node) -> Sequence[int] | None:
    """The order in which the result of a Reshape, Transpose or alike lies as its input does."""
    made = [v for v in node.inputs if v and graph.params.get(v) is None]
    if not made:
        return None
    source = max((types[value] for value in made), key=lambda kind: (kind.rank, kind.size))
    order = (source.layout or Layout.row_major(source.rank)).order
    if node.op == "Transpose":
        return [read_ints(node.attrs, "perm").index(axis) for axis in order]
    if node.op == "Reshape":
        return _reshaped_order(order, source.shape, node.type.shape)
    return order if _follows(node) and source.rank == node.type.rank else None


def _reshaped_order(
    order: Sequence[int], shape: Sequence[int], target: Sequence[int]
) -> Sequence[int] | None:
    """The target's axes in the order of the axes they are parts of; None where axes are merged."""
    parts: list[list[int]] = []
    place = 0
    for extent in shape:
        part: list[int] = []
        rest = extent
        while place < len(target) and target[place] and rest % target[place] == 0:
            if rest == 1 and (target[place] != 1 or part):
                break
            rest //= target[place]
            part.append(place)
            place += 1
        if rest != 1:
            return None
        parts.append(part)
    if not parts:
        return None
    parts[-1] += range(place, len(target))
    ordered = list(itertools.chain.from_iterable(parts[axis] for axis in order))
    return ordered if len(ordered) == len(target) else None


def _place_inputs(graph: Graph, types: dict[str, TensorType], node: Node, lanes: int) -> None:
    """Let the inputs of a Concat lie in its output, so that it costs nothing, where they may.

    They may if it concatenates along the contiguous axis of a tensor that is no output of the
    graph, and each input is made by a node for this Concat once, lies nowhere else yet, and is made
    of whole vectors: a rounded store would run into its neighbour.
    """
    slots = concat_slots(types, node)
    free = (
        bool(slots)
        and len(set(node.inputs)) == len(node.inputs)
        and all(
            may_lie_elsewhere(graph, value)
            and (layout := types[value].layout) is not None
            and layout.order == slots[0].order
            and layout.within is None
            and types[value].shape[slots[0].order[-1]] % lanes == 0
            for value in node.inputs
        )
    )
    if free:
        for value, slot in zip(node.inputs, slots, strict=True):
            types[value] = replace(types[value], layout=slot)
