"""Small and random dependency graphs, and views of partitions for checks with NetworkX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import networkx as nx
from hypothesis import strategies as st

from ago.partition.dependency import DependencyGraph, Edge, Vertex

KINDS = ("complex", "elementwise", "reduction", "movement", "extern")


def dag(
    edges: Sequence[tuple[int, int]],
    weights: Sequence[float],
    *,
    nbytes: Mapping[tuple[int, int], int] | None = None,
    names: Sequence[str] | None = None,
) -> DependencyGraph:
    """A graph with a tensor of its own for each edge, of 4 bytes unless `nbytes` says otherwise."""
    sizes = nbytes or {}
    called = names or [f"v{number:03d}" for number in range(len(weights))]
    vertices = tuple(
        Vertex(name, "Op", "movement" if weight == 0 else "complex", float(weight), 4)
        for name, weight in zip(called, weights, strict=True)
    )
    return DependencyGraph(
        vertices,
        tuple(Edge(a, b, f"{called[a]}>{called[b]}", sizes.get((a, b), 4)) for a, b in edges),
    )


def chain(length: int, weight: float = 1.0) -> DependencyGraph:
    """A path of equal operators."""
    return dag([(n, n + 1) for n in range(length - 1)], [weight] * length)


@st.composite
def dags(draw: st.DrawFn, max_vertices: int = 200) -> DependencyGraph:
    """Graphs of many shapes: sparse and dense, near and far edges, shared tensors, lone parts.

    Weights are whole numbers, so that sums are exact.
    """
    count = draw(st.integers(1, max_vertices))
    rng = Random(draw(st.integers(0, 2**32)))
    reach = draw(st.sampled_from([1, 2, 4, 16, max_vertices]))
    fan_in = draw(st.sampled_from([1, 2, 3, 6]))
    heaviest = draw(st.sampled_from([0, 1, 3, 12]))
    names = [f"n{number}" for number in range(count)]
    rng.shuffle(names)
    vertices = tuple(_random_vertex(name, rng, heaviest) for name in names)
    edges = []
    for consumer in range(1, count):
        window = range(max(0, consumer - reach), consumer)
        for producer in sorted(rng.sample(window, min(len(window), rng.randint(0, fan_in)))):
            value = f"{names[producer]}:{rng.randint(0, 1)}"  # of two results, each read by some
            edges.append(Edge(producer, consumer, value, vertices[producer].nbytes))
    outputs = frozenset(edge.value for edge in edges if rng.random() < 0.1)
    return DependencyGraph(vertices, tuple(edges), outputs)


def _random_vertex(name: str, rng: Random, heaviest: int) -> Vertex:
    kind = rng.choice(KINDS)
    op = "Pad" if kind == "movement" and rng.random() < 0.5 else "Op"
    return Vertex(name, op, kind, float(rng.randint(0, heaviest)), rng.choice([4, 8]))


def reordered(graph: DependencyGraph, rng: Random) -> DependencyGraph:
    """The same graph with its vertices in another topological order and its edges in any."""
    waits = [len(edges) for edges in graph.incoming]
    free = [number for number, count in enumerate(waits) if not count]
    order: list[int] = []
    while free:
        number = free.pop(rng.randrange(len(free)))
        order.append(number)
        for edge in graph.outgoing[number]:
            waits[edge.consumer] -= 1
            if not waits[edge.consumer]:
                free.append(edge.consumer)
    place = {old: new for new, old in enumerate(order)}
    edges = [Edge(place[e.producer], place[e.consumer], e.value, e.nbytes) for e in graph.edges]
    rng.shuffle(edges)
    return DependencyGraph(tuple(graph.vertices[n] for n in order), tuple(edges), graph.outputs)


def subgraphs(graph: DependencyGraph, groups: Sequence[int]) -> set[frozenset[str]]:
    """A partition as sets of names."""
    members: dict[int, set[str]] = {}
    for vertex, group in zip(graph.vertices, groups, strict=True):
        members.setdefault(group, set()).add(vertex.name)
    return {frozenset(names) for names in members.values()}


def quotient(graph: DependencyGraph, groups: Sequence[int]) -> nx.DiGraph:
    """The graph of subgraphs, with `weight` of each, as NetworkX sees it."""
    view = nx.DiGraph()
    for vertex, group in zip(graph.vertices, groups, strict=True):
        view.add_node(group)
        view.nodes[group]["weight"] = view.nodes[group].get("weight", 0.0) + vertex.weight
    view.add_edges_from(
        (groups[e.producer], groups[e.consumer])
        for e in graph.edges
        if groups[e.producer] != groups[e.consumer]
    )
    return view
