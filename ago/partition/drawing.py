"""A drawing of a partitioned graph: plain SVG, one box an operator, one colour a subgraph.

Read `draw_partition` first. Operators stand in rows by level, in the rows' order of fewest
crossings that a few sweeps find. Long graphs continue in columns side by side, from left to right;
an edge to another column ends in a numbered mark at both ends.
"""

from __future__ import annotations

import colorsys
import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ago.partition.dependency import DependencyGraph, Vertex

_BOX = (104, 22)
_PITCH = (116, 38)
_COLUMN_GAP = 48
_MARGIN = 24
_TITLE = 28
_ROWS = 48
"""Most rows of a column."""

_SWEEPS = 4


@dataclass(frozen=True, slots=True)
class Place:
    """Where a box is: its column, and the middle of its upper edge, pixels."""

    column: int
    x: float
    y: float


def draw_partition(graph: DependencyGraph, groups: Sequence[int], title: str) -> str:
    """Draw a graph with its subgraphs coloured.

    Args:
        graph: The graph.
        groups: The number of each vertex's subgraph.
        title: Written above.

    Returns:
        The text of an SVG file. Each box has the subgraph's number, and name and weight as a
        tooltip; complex operators have a thick border.
    """
    places, width, height = _layout(_rows(graph))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{_MARGIN}" y="{_MARGIN}" font-size="15">{html.escape(title)}</text>',
        *_edges(graph, groups, places),
        *(
            _box(vertex, groups[number], places[number])
            for number, vertex in enumerate(graph.vertices)
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _rows(graph: DependencyGraph) -> list[list[int]]:
    """The vertices by level, each row ordered by the middle of its neighbours in the rows beside.

    Barycentre method of Sugiyama, Tagawa and Toda (1981).
    """
    import networkx as nx  # deferred: it takes as long to import as all of AGO

    view = nx.DiGraph()
    view.add_nodes_from(range(len(graph.vertices)))
    view.add_edges_from((edge.producer, edge.consumer) for edge in graph.edges)
    rows = [sorted(row) for row in nx.topological_generations(view)]
    for _ in range(_SWEEPS):
        _sweep(rows, view.pred)
        _sweep(rows[::-1], view.succ)
    return rows


def _sweep(rows: Sequence[list[int]], neighbours: Mapping[int, Mapping[int, object]]) -> None:
    place: dict[int, float] = {}
    for row in rows:
        wanted = {
            v: _mean([place[n] for n in neighbours[v] if n in place], (i + 0.5) / len(row))
            for i, v in enumerate(row)
        }
        row.sort(key=lambda v: (wanted[v], v))
        place.update((v, (i + 0.5) / len(row)) for i, v in enumerate(row))


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _layout(rows: Sequence[Sequence[int]]) -> tuple[dict[int, Place], int, int]:
    """The place of each vertex, and the drawing's width and height."""
    places: dict[int, Place] = {}
    left = float(_MARGIN)
    for column in range(0, len(rows), _ROWS):
        part = rows[column : column + _ROWS]
        width = max(len(row) for row in part) * _PITCH[0]
        for line, row in enumerate(part):
            start = left + (width - len(row) * _PITCH[0]) / 2
            y = _MARGIN + _TITLE + line * _PITCH[1]
            for i, vertex in enumerate(row):
                places[vertex] = Place(column // _ROWS, start + (i + 0.5) * _PITCH[0], y)
        left += width + _COLUMN_GAP
    lines = min(len(rows), _ROWS)
    height = 2 * _MARGIN + _TITLE + lines * _PITCH[1]
    return places, int(max(left - _COLUMN_GAP, 320) + _MARGIN), height


def _edges(
    graph: DependencyGraph, groups: Sequence[int], places: Mapping[int, Place]
) -> Iterator[str]:
    """Curves between boxes; those between subgraphs are dark, those inside one light."""
    marks: dict[str, int] = {}
    for edge in graph.edges:
        start, end = places[edge.producer], places[edge.consumer]
        colour = "#bbb" if groups[edge.producer] == groups[edge.consumer] else "#333"
        if start.column == end.column:
            yield _curve(start, end, colour)
            continue
        mark = marks.setdefault(edge.value, len(marks) + 1)
        yield _mark(start.x, start.y + _BOX[1], 10, mark, colour)
        yield _mark(end.x, end.y, -4, mark, colour)


def _curve(start: Place, end: Place, colour: str) -> str:
    y = start.y + _BOX[1]
    if end.y - y <= _PITCH[1]:
        path = f"M{start.x:g} {y:g} L{end.x:g} {end.y:g}"
    else:  # around the boxes between
        bend = (start.x + end.x) / 2 + _PITCH[0] * 0.55
        middle = (y + end.y) / 2
        path = (
            f"M{start.x:g} {y:g} Q{bend:g} {y + 8:g} {bend:g} {middle:g} "
            f"Q{bend:g} {end.y - 8:g} {end.x:g} {end.y:g}"
        )
    return f'<path d="{path}" fill="none" stroke="{colour}"/>'


def _mark(x: float, y: float, offset: int, number: int, colour: str) -> str:
    return (
        f'<text x="{x:g}" y="{y + offset:g}" font-size="9" fill="{colour}" '
        f'text-anchor="middle">▾{number}</text>'
    )


def _box(vertex: Vertex, group: int, place: Place) -> str:
    width, height = _BOX
    hue = group * 137.508 % 360  # the golden angle: neighbours differ
    border = 2.5 if vertex.kind == "complex" else 0.75
    tooltip = html.escape(f"{vertex.name}: weight {vertex.weight:.1f}, subgraph {group}")
    label = html.escape(vertex.op if len(vertex.op) <= 12 else f"{vertex.op[:11]}…")
    return (
        f"<g><title>{tooltip}</title>"
        f'<rect x="{place.x - width / 2:g}" y="{place.y:g}" width="{width}" height="{height}" '
        f'rx="4" fill="{_pastel(hue)}" stroke="#333" stroke-width="{border}"/>'
        f'<text x="{place.x:g}" y="{place.y + 15:g}" text-anchor="middle">{label} · {group}</text>'
        "</g>"
    )


def _pastel(hue: float) -> str:
    """A light colour as `#rrggbb`, which every viewer knows; `hue` in degrees."""
    channels = colorsys.hls_to_rgb(hue % 360 / 360, 0.8, 0.7)
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)
