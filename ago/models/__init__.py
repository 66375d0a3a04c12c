"""Networks written with the graph builder, with random weights.

Read `MODELS` first: every network by name. Invariant: the same arguments give the same graph, bit
for bit.
"""

from collections.abc import Callable

from ago.ir.graph import Graph
from ago.models.mobilenet_v2 import mobilenet_v2, tiny_mobilenet

__all__ = ["MODELS", "mobilenet_v2", "tiny_mobilenet"]

MODELS: dict[str, Callable[..., Graph]] = {
    "mobilenet_v2": mobilenet_v2,
    "tiny_mobilenet": tiny_mobilenet,
}
