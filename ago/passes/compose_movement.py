"""Chains of reshapes and transposes as one operator each, and channel shuffles as interleavings.

Read `compose_movement` first. Invariant: an element moves once where it moved several times, and no
value that someone else reads is made anew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ago.ir.attributes import read_int, read_ints
from ago.ir.graph import Graph, Node
from ago.ir.ops import OPERATORS
from ago.ir.ops.rearrange import digit_groups
from ago.passes.draft import Draft
from ago.passes.eliminate_identities import eliminate_identities


def compose_movement(graph: Graph) -> Graph:
    """Let a run of `Reshape` and `Transpose` be one node, and fold it into its neighbours.

    A run that splits one axis in two, swaps these and joins them again is a channel shuffle: after
    a Concat of as many parts it takes one element of each part in turn, which is an `Interleave`.
    A Slice along the axis of an Interleave takes fewer of them, where it takes the same number of
    each.

    Args:
        graph: Any graph.

    Returns:
        An equivalent graph.
    """
    draft = Draft(graph)
    for node in graph.nodes:
        draft.append(_composed(draft, node) or node)
    joined = eliminate_identities(draft.finish())
    draft = Draft(joined)
    for node in joined.nodes:
        draft.append(_interleaved(draft, node) or _fewer(draft, node) or node)
    return eliminate_identities(draft.finish())


@dataclass(frozen=True, slots=True)
class Move:
    """Where the elements of a tensor go: a reshape, a transpose and another reshape.

    Attributes:
        split: Digits of an element's row-major number before, slowest first; none is 1.
        perm: Digit `perm[d]` is the `d`-th one afterwards.
        shape: The result's extents, each a product of neighbouring digits.
    """

    split: tuple[int, ...]
    perm: tuple[int, ...]
    shape: tuple[int, ...]

    @staticmethod
    def of(node: Node, source: Sequence[int]) -> Move | None:
        """What a node does to a tensor of shape `source`; None if it is no such node."""
        if not OPERATORS[node.op].permutes or 0 in source:
            return None
        if node.op == "Rearrange":
            split, perm, shape = (read_ints(node.attrs, key) for key in ("split", "perm", "shape"))
            return Move(split, perm, shape)
        digits = tuple(extent for extent in source if extent > 1)
        same = Move(digits, tuple(range(len(digits))), tuple(source))
        if node.op == "Transpose":
            return same.transposed(read_ints(node.attrs, "perm"))
        return same.reshaped(read_ints(node.attrs, "shape"))

    def transposed(self, perm: Sequence[int]) -> Move:
        """This, and then a transpose."""
        groups = digit_groups(self._moved, self.shape)
        assert groups is not None, f"{self} has an axis that is no run of digits"
        order = tuple(self.perm[digit] for axis in perm for digit in groups[axis])
        return Move(self.split, order, tuple(self.shape[axis] for axis in perm))

    def reshaped(self, shape: Sequence[int]) -> Move | None:
        """This, and then a reshape; None where an axis begins inside a digit."""
        parts: dict[int, list[int]] = {digit: [] for digit in self.perm}
        targets = [extent for extent in shape if extent > 1]
        for digit in self.perm:
            rest = self.split[digit]
            while rest > 1:
                part = math.gcd(rest, targets[0])
                if part == 1:
                    return None
                parts[digit].append(part)
                rest, targets[0] = rest // part, targets[0] // part
                if targets[0] == 1:
                    targets.pop(0)
                elif rest > 1:
                    return None
        return self._refined(parts, tuple(shape))

    def then(self, node: Node) -> Move | None:
        """This, and then a node; None where the two are not one move."""
        if node.op == "Transpose":
            return self.transposed(read_ints(node.attrs, "perm"))
        return self.reshaped(read_ints(node.attrs, "shape")) if node.op == "Reshape" else None

    @property
    def _moved(self) -> tuple[int, ...]:
        return tuple(self.split[digit] for digit in self.perm)

    def _refined(self, parts: dict[int, list[int]], shape: tuple[int, ...]) -> Move:
        first: dict[int, int] = {}
        split: list[int] = []
        for digit in range(len(self.split)):
            first[digit] = len(split)
            split += parts[digit]
        perm = [first[d] + p for d in self.perm for p in range(len(parts[d]))]
        return Move(tuple(split), tuple(perm), shape)

    def joined(self, source: Sequence[int]) -> Move:
        """The same with digits made one that stay neighbours inside an axis of both tensors."""
        before = _starts(digit_groups(self.split, tuple(source)))
        after = {self.perm[p] for p in _starts(digit_groups(self._moved, self.shape))}
        heads = [
            d
            for place, d in enumerate(self.perm)
            if d in before or d in after or place == 0 or self.perm[place - 1] != d - 1
        ]
        runs = {head: [head] for head in sorted(heads)}
        for digit in range(len(self.split)):
            if digit not in runs:
                head = max(h for h in runs if h < digit)
                runs[head].append(digit)
        number = {head: place for place, head in enumerate(runs)}
        split = tuple(math.prod(self.split[d] for d in run) for run in runs.values())
        return Move(split, tuple(number[head] for head in heads), self.shape)


def _starts(groups: Sequence[Sequence[int]] | None) -> set[int]:
    assert groups is not None, "an axis is no run of digits"
    return {group[0] for group in groups if group}


def _composed(draft: Draft, node: Node) -> Node | None:
    """A node that does what it and the run before it do; None where there is no run."""
    before = draft.producer(node.inputs[0]) if OPERATORS[node.op].permutes else None
    if before is None or not (
        OPERATORS[before.op].permutes and draft.is_private(before.output, node)
    ):
        return None
    source = draft.graph.types[before.inputs[0]].shape
    first = Move.of(before, source)
    both = None if first is None else first.then(node)
    return None if both is None else _move_node(node, before.inputs, source, both)


def _move_node(node: Node, inputs: tuple[str, ...], source: Sequence[int], move: Move) -> Node:
    """The simplest node that makes the move."""
    move = move.joined(source)
    if list(move.perm) == sorted(move.perm):
        return replace(node, op="Reshape", inputs=inputs, attrs={"shape": move.shape})
    attrs = {"split": move.split, "perm": move.perm, "shape": move.shape}
    return replace(node, op="Rearrange", inputs=inputs, attrs=attrs)


def _interleaved(draft: Draft, node: Node) -> Node | None:
    """A channel shuffle of a Concat of as many equal parts, as an Interleave."""
    before = draft.producer(node.inputs[0]) if node.op == "Rearrange" else None
    if before is None or before.op != "Concat" or not draft.is_private(before.output, node):
        return None
    parts = [draft.graph.types[value].shape for value in before.inputs]
    axis = read_int(before.attrs, "axis")
    swapped = Move.of(node, before.type.shape)
    wanted = _swap(before.type.shape, axis, len(parts))
    if swapped != wanted or any(shape != parts[0] for shape in parts):
        return None
    attrs = {"axis": axis, "start": 0, "count": parts[0][axis]}
    return replace(node, op="Interleave", inputs=before.inputs, attrs=attrs)


def _swap(shape: tuple[int, ...], axis: int, count: int) -> Move | None:
    """What splits an axis in `count` parts and takes an element of each in turn."""
    extent = shape[axis] // count
    split = (*shape[:axis], count, extent, *shape[axis + 1 :])
    order = [*range(axis), axis + 1, axis, *range(axis + 2, len(split))]
    whole = Move.of(Node("", "Reshape", (), (), {"shape": split}, ()), shape)
    same = None if whole is None else whole.transposed(order).reshaped(shape)
    return None if same is None else same.joined(shape)


def _fewer(draft: Draft, node: Node) -> Node | None:
    """A Slice of an Interleave that only slices read, as an Interleave of fewer elements."""
    before = draft.producer(node.inputs[0]) if node.op == "Slice" else None
    if before is None or before.op != "Interleave" or before.output in draft.graph.outputs:
        return None
    if any(reader.op != "Slice" for reader in draft.graph.consumers(before.output)):
        return None
    axis, first = (read_int(before.attrs, key) for key in ("axis", "start"))
    starts, steps, shape = (read_ints(node.attrs, key) for key in ("starts", "steps", "shape"))
    parts = len(before.inputs)
    along = (starts[axis], shape[axis])
    kept = [d for d in range(len(shape)) if d != axis]
    whole = all(starts[d] == 0 and shape[d] == before.type.shape[d] for d in kept)
    if not whole or set(steps) != {1} or 0 in shape or any(n % parts for n in along):
        return None
    attrs = {"axis": axis, "start": first + along[0] // parts, "count": along[1] // parts}
    return replace(node, op="Interleave", inputs=before.inputs, attrs=attrs)
