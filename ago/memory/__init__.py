"""Memory of an inference: in which order steps run, and where each tensor lies.

Read `plan_workspace` first, then `lowest_peak`. Plain numbers only: nothing here knows a graph.
"""

from ago.memory.order import Task, lowest_peak, peak_of
from ago.memory.packing import (
    ALIGNMENT,
    Tensor,
    WorkspacePlan,
    aligned,
    greedy_by_size,
    plan_workspace,
)

__all__ = [
    "ALIGNMENT",
    "Task",
    "Tensor",
    "WorkspacePlan",
    "aligned",
    "greedy_by_size",
    "lowest_peak",
    "peak_of",
    "plan_workspace",
]
