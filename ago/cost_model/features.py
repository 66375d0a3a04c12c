"""The columns of a matrix of candidates: one row a candidate, the same columns for every workload.

Read `COLUMNS` first. Columns of the whole candidate come first, then those of its heaviest pieces,
heaviest first; a candidate with fewer pieces has zeros there. Whoever knows decisions fills the
matrix; models see numbers only.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

Features = npt.NDArray[np.float32]

SLOTS = 6
"""How many pieces have columns of their own."""

WHOLE = (
    "cycles",
    "tile_cycles",
    "traffic_cycles",
    "memory_cycles",
    "between",
    "gain_traffic",
    "gain_weights",
    "gain_tiles",
    "gain_rows",
    "gain_recompute",
    "saved_bytes",
    "working_l1",
    "working_l2",
    "recompute",
    "nests",
    "fused",
    "log_block",
    "pieces",
    "reductions",
    "log_work",
    "intensity",
    "lanes",
)
"""Of the whole candidate. Cycles are given as multiples of the arithmetic's at its peak: `cycles`
is what the analytic model thinks of it all, as a binary logarithm; `between` is the traffic of what
pieces pass on if they are apart, and `memory_cycles` all traffic beyond L1."""

PIECE = (
    "present",
    "share",
    "log_work",
    "intensity",
    "recompute",
    "rows",
    "vectors",
    "accumulators",
    "registers",
    "multiply",
    "load",
    "latency",
    "issue",
    "stream",
    "once",
    "bound",
    "waste",
    "sizes",
    "log_tiles",
    "log_steps",
    "window",
    "order",
    "row_block",
    "log_before",
    "log_after",
    "block_l1",
    "block_l2",
    "inputs_l1",
    "weights_l2",
    "unrolled",
    "straight",
    "whole_window",
    "tile_cycles",
    "traffic_cycles",
)
"""Of one piece. `multiply` to `once` are cycles a multiply-accumulate; `before` and `after` are the
iterations of the loops outside and inside of that over tiles along the lanes."""

COLUMNS = (*WHOLE, *(f"{slot}/{name}" for slot in range(SLOTS) for name in PIECE))
"""Every column, in order."""

COLUMN: Mapping[str, int] = MappingProxyType({name: n for n, name in enumerate(COLUMNS)})
"""The place of each column."""


def analytic_scores(features: Features) -> npt.NDArray[np.float32]:
    """What the analytic model thinks of candidates; the lower, the faster.

    Args:
        features: (n, len(COLUMNS)).

    Returns:
        (n,): binary logarithm of the cycles, which ranks candidates of one workload.
    """
    return features[:, COLUMN["cycles"]]
