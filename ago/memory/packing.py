"""Where each tensor lives while the model runs: the workspace plan.

Read `plan_workspace` first. Invariant: tensors that are live at the same time share no byte.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

ALIGNMENT = 64
"""Bytes to which every tensor is aligned."""

_TRIES = 200
"""Orders of placement tried where the simple ones miss the lower bound."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor that needs memory.

    Attributes:
        name: Unique in the plan.
        nbytes: Its size, bytes.
        first: Moment at which it is written first.
        last: Moment at which it is used last; at least `first`.
    """

    name: str
    nbytes: int
    first: int
    last: int

    def overlaps(self, other: Tensor) -> bool:
        """Whether both are live at some moment."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class WorkspacePlan:
    """Offsets of all tensors.

    Attributes:
        offsets: First byte of each tensor, by name.
        nbytes: Size of the workspace, bytes.
        lower_bound: Most bytes live at any one moment; no plan for these lifetimes needs less.
    """

    offsets: Mapping[str, int]
    nbytes: int
    lower_bound: int


def plan_workspace(tensors: Sequence[Tensor]) -> WorkspacePlan:
    """Give each tensor an offset so that no two live ones overlap.

    Tensors are placed one after another, each at the lowest gap between those already placed that
    are live with it. Several orders are tried and the best kept, among them the largest first,
    which is greedy by size as in Pisarchyk and Lee 2020 (arXiv 2001.03288); where none of them
    meets the lower bound, tensors that ended highest are placed earlier, again and again.

    Args:
        tensors: Sizes and lifetimes.

    Returns:
        The plan; the same for any order of `tensors`.
    """
    listed = sorted(tensors, key=lambda t: t.name)
    bound = _most_live(listed)
    best, order = _Placement.of([]), listed
    for number, key in enumerate(_ORDERS):
        candidate = sorted(listed, key=key)
        placement = _Placement.of(candidate)
        if number == 0 or placement.nbytes < best.nbytes:
            best, order = placement, candidate
        if best.nbytes == bound:
            break
    if best.nbytes > bound:
        best = _improved(best, order, bound)
    return WorkspacePlan(best.offsets, best.nbytes, bound)


def greedy_by_size(tensors: Sequence[Tensor]) -> int:
    """Bytes of the plan that places the largest tensor first, as Pisarchyk and Lee 2020 do.

    Args:
        tensors: Sizes and lifetimes.
    """
    return _Placement.of(sorted(tensors, key=_ORDERS[0])).nbytes


def aligned(nbytes: int) -> int:
    """`nbytes` rounded up to the alignment."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


_ORDERS: tuple[Callable[[Tensor], tuple[int | str, ...]], ...] = (
    lambda t: (-t.nbytes, t.first, t.name),
    lambda t: (-t.nbytes * (t.last - t.first + 1), t.first, t.name),
    lambda t: (t.first - t.last, -t.nbytes, t.first, t.name),
    lambda t: (t.first, -t.last, -t.nbytes, t.name),
)
"""Largest first, largest area first, longest first, in order of time."""


@dataclass(frozen=True, slots=True)
class _Placement:
    offsets: Mapping[str, int]
    nbytes: int

    @classmethod
    def of(cls, order: Sequence[Tensor]) -> _Placement:
        """Place tensors in this order, each at its lowest gap."""
        placed: list[tuple[int, int, Tensor]] = []
        offsets: dict[str, int] = {}
        for tensor in order:
            size = aligned(tensor.nbytes)
            live = sorted((start, end) for start, end, other in placed if tensor.overlaps(other))
            at = 0
            for start, end in live:
                if at + size <= start:
                    break
                at = max(at, end)
            offsets[tensor.name] = at
            placed.append((at, at + size, tensor))
        return cls(offsets, max((end for _, end, _ in placed), default=0))


def _improved(best: _Placement, order: Sequence[Tensor], bound: int) -> _Placement:
    """Move tensors at the top of the workspace, and some by chance, forward in the order."""
    chance = random.Random(0)
    current = list(order)
    for _ in range(_TRIES):
        trial = list(current)
        top = [
            position
            for position, tensor in enumerate(trial)
            if best.offsets[tensor.name] + aligned(tensor.nbytes) == best.nbytes and position > 0
        ]
        position = chance.choice(top) if top else chance.randrange(len(trial))
        moved = trial.pop(position)
        trial.insert(chance.randrange(position) if position else 0, moved)
        if chance.random() < 0.5:
            trial.insert(chance.randrange(len(trial)), trial.pop(chance.randrange(len(trial))))
        placement = _Placement.of(trial)
        if placement.nbytes <= best.nbytes:
            best, current = placement, trial
        if best.nbytes == bound:
            break
    return best


def _most_live(tensors: Sequence[Tensor]) -> int:
    return max(
        (
            sum(aligned(t.nbytes) for t in tensors if t.first <= moment <= t.last)
            for moment in {t.first for t in tensors}
        ),
        default=0,
    )
