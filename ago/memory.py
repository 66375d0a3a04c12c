"""Where each tensor lives while the model runs: the workspace plan.

Read `plan_workspace` first. Tensors that are never live at the same time share bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ALIGNMENT = 64
"""Bytes to which every tensor is aligned."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor that needs memory.

    Attributes:
        name: Unique in the plan.
        nbytes: Its size, bytes.
        first: Step that writes it.
        last: Last step that reads it; at least `first`.
    """

    name: str
    nbytes: int
    first: int
    last: int

    def overlaps(self, other: Tensor) -> bool:
        """Whether both are live during some step."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class WorkspacePlan:
    """Offsets of all tensors.

    Attributes:
        offsets: First byte of each tensor, by name.
        nbytes: Size of the workspace, bytes.
        lower_bound: Most bytes live during any one step; no plan in this order needs less.
    """

    offsets: Mapping[str, int]
    nbytes: int
    lower_bound: int


def plan_workspace(tensors: Sequence[Tensor]) -> WorkspacePlan:
    """Give each tensor an offset so that no two live ones overlap.

    Tensors are placed from the largest down, each at the lowest gap between those already placed
    that are live with it (greedy by size, as in Pisarchyk and Lee 2020, arXiv 2001.03288).

    Args:
        tensors: Sizes and lifetimes.

    Returns:
        The plan; the same for any order of `tensors`.
    """
    placed: list[tuple[int, int, Tensor]] = []
    offsets: dict[str, int] = {}
    for tensor in sorted(tensors, key=lambda t: (-t.nbytes, t.first, t.name)):
        size = aligned(tensor.nbytes)
        live = sorted((start, end) for start, end, other in placed if tensor.overlaps(other))
        at = 0
        for start, end in live:
            if at + size <= start:
                break
            at = max(at, end)
        offsets[tensor.name] = at
        placed.append((at, at + size, tensor))
    total = max((end for _, end, _ in placed), default=0)
    steps = {t.first for t in tensors}
    bound = max(
        (sum(aligned(t.nbytes) for t in tensors if t.first <= s <= t.last) for s in steps),
        default=0,
    )
    return WorkspacePlan(offsets, total, bound)


def aligned(nbytes: int) -> int:
    """`nbytes` rounded up to the alignment."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
