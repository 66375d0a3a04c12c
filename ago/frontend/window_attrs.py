"""Attributes of operators with a window, from what a person gives for all axes or for each.

Read `PerAxis` first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ago.ir.ops.operator import Attrs

PerAxis: TypeAlias = int | Sequence[int]


def per_axis(value: PerAxis, count: int) -> tuple[int, ...]:
    """A number for each of `count` axes or ends, from one for all or one for each."""
    return (value,) * count if isinstance(value, int) else tuple(int(item) for item in value)


def pool_attrs(
    rank: int,
    kernel: PerAxis,
    strides: PerAxis,
    pads: PerAxis,
    dilations: PerAxis,
    ceil_mode: bool,
) -> Attrs:
    """The attributes of a pool over maps of `rank` spatial axes."""
    return {
        "kernel_shape": per_axis(kernel, rank),
        "strides": per_axis(strides, rank),
        "pads": per_axis(pads, 2 * rank),
        "dilations": per_axis(dilations, rank),
        "ceil_mode": int(ceil_mode),
    }
