"""The partitioners by name.

Read `find_partitioner` first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ago.errors import InputError
from ago.ir.graph import Graph
from ago.partition.affix import DEFAULT_THRESHOLD, affix_partition, exact_partition
from ago.partition.partition import Partition
from ago.partition.relay import relay_style

Partitioner = Callable[[Graph], Partition]
"""Cuts a graph, after all passes, into subgraphs."""

DEFAULT_PARTITIONER = "affix"
"""What `ago.optimize` uses unless told otherwise."""

PARTITIONERS: Mapping[str, Callable[[Graph, float], Partition]] = {
    "affix": affix_partition,
    "exact": exact_partition,
    "relay": lambda graph, weight_threshold: relay_style(graph),
}
"""Each partitioner, with the weight threshold as its second argument."""


def find_partitioner(
    partitioner: str | Partitioner, weight_threshold: float | None = None
) -> Partitioner:
    """The partitioner of a name, bound to a threshold.

    Args:
        partitioner: A key of `PARTITIONERS`, or a function, which is returned as it is.
        weight_threshold: Most weight of a subgraph; by default `DEFAULT_THRESHOLD`. Only `"affix"`
            and `"exact"` take one.

    Raises:
        InputError: The name is unknown, or the threshold is negative, no number, or of no use.
    """
    if weight_threshold is not None and partitioner not in ("affix", "exact"):
        raise InputError('weight_threshold goes with the partitioners "affix" and "exact" only')
    threshold = DEFAULT_THRESHOLD if weight_threshold is None else weight_threshold
    if not isinstance(threshold, int | float) or math.isnan(threshold) or threshold < 0:
        raise InputError(f"weight_threshold is {threshold!r}, expected a number from 0")
    if callable(partitioner):
        return partitioner
    if partitioner not in PARTITIONERS:
        known = ", ".join(PARTITIONERS)
        raise InputError(f"no partitioner is called {partitioner!r}; there are {known}")
    chosen = PARTITIONERS[partitioner]
    return lambda graph: chosen(graph, threshold)
