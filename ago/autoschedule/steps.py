"""How many steps of a reduction become straight-line code."""

from __future__ import annotations


def unroll_factor(extent: int, room: int) -> int:
    """Steps of a long loop to unroll: many where they divide it, four of any for the lane form.

    Args:
        extent: Iterations of the loop.
        room: Most steps.
    """
    if room >= 8 and extent % 8 == 0:
        return 8
    return next((factor for factor in (4, 2) if factor <= room), 1)
