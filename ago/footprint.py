"""Where a compiled model's memory goes, and what other ways to run it would need.

Read `memory_figures` first. Nothing is compiled for it: sizes and lifetimes of tensors suffice.
"""

from __future__ import annotations

from collections.abc import Sequence

from ago.linking import lifetimes
from ago.memory import Tensor, aligned, greedy_by_size, plan_workspace
from ago.partition import one_by_one, strip_views
from ago.pipeline import Compilation, Kernel
from ago.runtime.memory import MemoryFigures, StepMemory, WorkspaceFigures


def memory_figures(compilation: Compilation) -> MemoryFigures:
    """The memory of each step, and the workspace of other orders and partitions.

    Args:
        compilation: A compiled model.

    Returns:
        The figures, bytes.
    """
    graph, kernels = compilation.graph, compilation.kernels
    whole = strip_views(graph, compilation.partition)
    place = {part.outputs: number for number, part in enumerate(whole.subgraphs)}
    given = sorted(kernels, key=lambda kernel: place[kernel.subgraph.outputs])
    apart = strip_views(graph, one_by_one(graph))
    tensors = lifetimes(graph, [(k.subgraph, k.scheduled) for k in kernels], whole.views)
    ordered = lifetimes(graph, [(k.subgraph, k.scheduled) for k in given], whole.views)
    unfused = lifetimes(graph, [(part, None) for part in apart.subgraphs], apart.views)
    names = compilation.artifact.functions
    steps = tuple(
        _step(kernel, names[number], number, tensors) for number, kernel in enumerate(kernels)
    )
    return MemoryFigures(steps, _figures(tensors), _figures(ordered), _figures(unfused))


def _figures(tensors: Sequence[Tensor]) -> WorkspaceFigures:
    plan = plan_workspace(tensors)
    return WorkspaceFigures(plan.nbytes, plan.lower_bound, greedy_by_size(tensors))


def _step(kernel: Kernel, function: str, number: int, tensors: Sequence[Tensor]) -> StepMemory:
    buffers = [kernel.scheduled.buffer(name) for name in kernel.function.parameters]
    scratch = [b.nbytes for b in kernel.scheduled.buffers if b.scope == "workspace"]
    return StepMemory(
        label=str(kernel.subgraph),
        function=function,
        weights=sum(aligned(b.nbytes) for b in buffers if b.scope == "constant"),
        scratch=sum(map(aligned, scratch)),
        live=sum(aligned(t.nbytes) for t in tensors if t.first <= number <= t.last),
    )
