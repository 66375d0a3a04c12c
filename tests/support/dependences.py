"""The oracle of fusion: dependences enumerated element by element, at small extents.

Read `Needs` first. It knows nothing of spans or steps: for every iteration of the shared loop it
lists which positions of each producer are read, by running over all loops of all readers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import networkx as nx

from ago.fuse.pieces import Piece
from ago.fuse.plan import Nest
from ago.fuse.shape import stage_loads
from ago.ir.index import evaluate, variables
from ago.ir.nest import For, If, Stage, Stmt, leaves
from ago.ir.program import Program

Positions = tuple[range, ...]
"""The positions along each dimension: a box."""


class Needs:
    """What each iteration of a nest's shared loop reads of its producers.

    Args:
        program: A naive program after `find_pieces`.
        pieces: The nest's pieces in its order.
        nest: The nest.
        outer: Axes of the last piece that stay outside, at their first position.
        clip: Whether positions outside of a domain, which guards keep from being read, count not.
    """

    def __init__(
        self,
        program: Program,
        pieces: Sequence[Piece],
        nest: Nest,
        outer: Sequence[str],
        *,
        clip: bool,
    ) -> None:
        self._program, self._clip = program, clip
        output = program.stage(nest.output)
        extent = output.axis(nest.axis).extent
        self.boxes: dict[str, list[Positions | None]] = {p.stage: [] for p in nest.producers}
        for start in range(0, extent, nest.block):
            share = Fraction(start, extent), Fraction(start + nest.block, extent)
            results = (nest.output, *nest.beside)
            self._iterate(pieces, {r: self._result(r, nest.axis, outer, share) for r in results})

    def _result(
        self, name: str, axis: str, outer: Sequence[str], share: tuple[Fraction, Fraction]
    ) -> dict[str, range]:
        """The loops of a result in an iteration, which computes a share of its axis."""
        stage = self._program.stage(name)
        ranges = {stage.loop(a.name): range(a.extent) for a in stage.axes}
        ranges.update({stage.loop(a): range(1) for a in outer})
        first, end = (int(stage.axis(axis).extent * part) for part in share)
        ranges[stage.loop(axis)] = range(first, end)
        return ranges

    def _iterate(self, pieces: Sequence[Piece], known: dict[str, dict[str, range]]) -> None:
        for piece in reversed(pieces):
            for name in (
                [piece.output] if piece.reduction is None else [piece.output, piece.reduction]
            ):
                stage = self._program.stage(name)
                if name in known:
                    continue
                box = self._box(stage, known)
                if name in self.boxes:
                    self.boxes[name].append(box)
                known[name] = {} if box is None else self._ranges(stage, box)

    def _box(self, stage: Stage, known: dict[str, dict[str, range]]) -> Positions | None:
        """The box of positions of a stage's result that its readers touch, guarded or not."""
        found: list[set[int]] = [set() for _ in self._program.buffer(stage.buffer).shape]
        for name, ranges in known.items():
            for load in stage_loads(self._program.stage(name)) if ranges else ():
                if load.buffer == stage.buffer:
                    for place, index in zip(found, load.index, strict=True):
                        names = sorted(variables(index))
                        for values in itertools.product(*(ranges[n] for n in names)):
                            place.add(evaluate(index, dict(zip(names, values, strict=True))))
        if not all(found):
            return None
        return tuple(range(min(p), max(p) + 1) for p in found)

    def _ranges(self, stage: Stage, box: Positions) -> dict[str, range]:
        ranges = {stage.loop(a.name): range(a.extent) for a in stage.axes}
        for index, positions in zip(stage.index, box, strict=True):
            for name in variables(index):
                first, last = positions.start - index.const, positions.stop - index.const
                if self._clip:
                    first, last = max(first, 0), min(last, len(ranges[name]))
                ranges[name] = range(first, last)
        return ranges

    def moving(self, stage: str) -> list[int]:
        """The dimensions along which the boxes of a producer differ."""
        boxes = self.boxes[stage]
        return [d for d in range(len(boxes[0] or ())) if len({box[d] for box in boxes if box}) > 1]

    def falls(self, stage: str, dimension: int) -> bool:
        """Whether an iteration reads a position before those that an earlier one reads."""
        boxes = [box[dimension] for box in self.boxes[stage] if box]
        return any(b.start < a.start or b.stop < a.stop for a, b in itertools.pairwise(boxes))

    def window(self, stage: str, dimension: int) -> int:
        """The most positions along a dimension that one iteration reads."""
        return max(len(box[dimension]) for box in self.boxes[stage] if box)


def piece_graph(program: Program, pieces: Sequence[Piece]) -> nx.DiGraph:
    """Which piece reads which, by the names of their outputs."""
    graph = nx.DiGraph()
    graph.add_nodes_from(piece.output for piece in pieces)
    for reader in pieces:
        for name in {reader.output, reader.reduction} - {None}:
            for load in stage_loads(program.stage(str(name))):
                for piece in pieces:
                    made = program.stage(piece.output).buffer
                    if load.buffer == made and piece is not reader:
                        graph.add_edge(piece.output, reader.output)
    return graph


def is_convex(graph: nx.DiGraph, inside: set[str]) -> bool:
    """Whether no path between two members runs through others."""
    for outside in set(graph) - inside:
        before = nx.ancestors(graph, outside) & inside
        after = nx.descendants(graph, outside) & inside
        if before and after:
            return False
    return True


def stores_of(program: Program, stage: str) -> int:
    """How often a program stores an element on behalf of a stage, by running its loops."""
    return sum(_count(stmt, stage, {}) for stmt in program.body)


def _count(stmt: Stmt, stage: str, values: dict[str, int]) -> int:
    match stmt:
        case For() if any(leaf.stage == stage for leaf in leaves(stmt.body)):
            span = range(evaluate(stmt.lo, values), evaluate(stmt.hi, values))
            bodies = itertools.product(span, stmt.body)
            return sum(_count(s, stage, {**values, stmt.name: v}) for v, s in bodies)
        case If(condition, body) if all(evaluate(c, values) >= 0 for c in condition):
            return sum(_count(s, stage, values) for s in body)
        case For() | If():
            return 0
        case _:
            return int(getattr(stmt, "stage", "") == stage)


def divisors(extent: int) -> Iterator[int]:
    """Whole blocks of an extent."""
    return (n for n in range(1, extent + 1) if extent % n == 0)


def elements(program: Program, stage: str) -> int:
    """How many elements a stage's result has."""
    return math.prod(program.buffer(program.stage(stage).buffer).shape)
