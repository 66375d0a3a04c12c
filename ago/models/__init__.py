"""Networks written with the graph builder, with random weights.

Read `MODELS` first: every network by name. Invariant: the same arguments give the same graph, bit
for bit.
"""

from collections.abc import Callable

from ago.ir.graph import Graph
from ago.models.bert import bert_tiny
from ago.models.mnasnet import mnasnet1_0
from ago.models.mobilenet_v2 import mobilenet_v2, tiny_mobilenet
from ago.models.mobilevit import mobilevit_s, mobilevit_xxs
from ago.models.shufflenet_v2 import shufflenet_v2_x1_0
from ago.models.squeezenet import squeezenet1_1

__all__ = [
    "MODELS",
    "bert_tiny",
    "mnasnet1_0",
    "mobilenet_v2",
    "mobilevit_s",
    "mobilevit_xxs",
    "shufflenet_v2_x1_0",
    "squeezenet1_1",
    "tiny_mobilenet",
]

MODELS: dict[str, Callable[..., Graph]] = {
    "bert_tiny": bert_tiny,
    "mnasnet1_0": mnasnet1_0,
    "mobilenet_v2": mobilenet_v2,
    "mobilevit_s": mobilevit_s,
    "mobilevit_xxs": mobilevit_xxs,
    "shufflenet_v2_x1_0": shufflenet_v2_x1_0,
    "squeezenet1_1": squeezenet1_1,
    "tiny_mobilenet": tiny_mobilenet,
}
