"""Puts the functions of a model together: places for all tensors, the weights, the C files.

Read `link_model` first. Each function's parameters become slots: a model input or output, or an
offset into the workspace or the weights.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ago.codegen.emit import Function
from ago.codegen.entry import (
    InputSlot,
    OutputSlot,
    Slot,
    Step,
    WeightsSlot,
    WorkspaceSlot,
    has_parts,
)
from ago.codegen.header import ModelInterface, Port
from ago.codegen.intrinsics import Intrinsics
from ago.codegen.model import emit_model
from ago.ir.graph import Graph
from ago.ir.lowering import LoweredProgram
from ago.ir.packing import pack_array
from ago.ir.program import Program
from ago.ir.tensor import numpy_dtype
from ago.memory import Tensor, WorkspacePlan, aligned, plan_workspace
from ago.partition import Subgraph
from ago.runtime.artifact import SHIPPED_LIBRARY_FILES, Artifact, TensorInfo
from ago.runtime.sources import extern_sources
from ago.schedule.trace import Trace
from ago.target import Target

_MOST_LETTERS = 80


class Linkable(Protocol):
    """A compiled subgraph, as far as linking needs to know it."""

    @property
    def subgraph(self) -> Subgraph:
        """Its nodes."""

    @property
    def lowered(self) -> LoweredProgram:
        """What its buffers are."""

    @property
    def scheduled(self) -> Program:
        """Its buffers."""

    @property
    def trace(self) -> Trace:
        """Its schedule, as data."""

    @property
    def function(self) -> Function:
        """Its code."""


@dataclass(frozen=True, slots=True)
class Linked:
    """A linked model.

    Attributes:
        artifact: C sources, weights and interface.
        places: Where each value is that a kernel reads or writes, by its name in the graph.
    """

    artifact: Artifact
    places: Mapping[str, Slot]


def link_model(
    graph: Graph,
    kernels: Sequence[Linkable],
    views: Mapping[str, str],
    intrinsics: Intrinsics,
    target: Target,
) -> Linked:
    """Link compiled subgraphs into a model.

    Args:
        graph: The graph after all passes.
        kernels: One a step, in order of execution.
        views: Value in whose memory each view lies.
        intrinsics: Table that the functions were printed with.
        target: The CPU.

    Returns:
        The artifact, and where each value of the graph is.
    """
    steps_of = [(kernel.subgraph, kernel.scheduled) for kernel in kernels]
    plan = plan_workspace(lifetimes(graph, steps_of, views))
    weights = bytearray()
    steps = [
        Step(kernel.function, tuple(_slots(graph, kernel, number, views, plan, weights)))
        for number, kernel in enumerate(kernels)
    ]
    interface = ModelInterface(
        c_identifier(graph.name),
        tuple(Port(name, graph.type_of(name)) for name in graph.inputs),
        tuple(Port(name, graph.type_of(name)) for name in graph.outputs),
        len(weights),
        plan.nbytes,
    )
    code = emit_model(interface, steps, intrinsics)
    artifact = Artifact(
        name=interface.name,
        sources={**code.files, **_shipped(steps)},
        weights=bytes(weights),
        workspace_bytes=plan.nbytes,
        inputs=_infos(graph, graph.inputs),
        outputs=_infos(graph, graph.outputs),
        target=target,
        steps=tuple(str(kernel.subgraph) for kernel in kernels),
        fingerprint=code.fingerprint,
        parallel=has_parts(steps),
        functions=code.functions,
        traces=tuple(kernel.trace.to_json() for kernel in kernels),
    )
    values = [v for kernel in kernels for v in kernel.subgraph.inputs + kernel.subgraph.outputs]
    return Linked(artifact, {v: _value_slot(graph, views.get(v, v), plan) for v in values})


def _shipped(steps: Sequence[Step]) -> dict[str, str]:
    """Headers and C files of `csrc/extern` that the functions call."""
    files = sorted({step.function.file for step in steps if step.function.file})
    return extern_sources(files, SHIPPED_LIBRARY_FILES)


def c_identifier(name: str) -> str:
    """A C identifier close to a model's name, short enough for a file.

    It names none of the runtime's files nor, on a disk of any kind, the example's `main.c`.
    """
    text = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:_MOST_LETTERS]
    usable = re.match(r"(?!ago(_|$)|main$)[a-z]", text, re.IGNORECASE)
    return text if usable else f"model_{text}".rstrip("_")


def _infos(graph: Graph, names: Sequence[str]) -> tuple[TensorInfo, ...]:
    return tuple(
        TensorInfo(name, graph.type_of(name).shape, graph.type_of(name).dtype) for name in names
    )


def lifetimes(
    graph: Graph, steps: Sequence[tuple[Subgraph, Program | None]], views: Mapping[str, str]
) -> list[Tensor]:
    """What needs workspace, and when: values that are neither inputs nor outputs, and scratch.

    Args:
        graph: The graph after all passes.
        steps: What runs, in order, and its program for the sake of its scratch buffers.
        views: Value in whose memory each view lies.

    Returns:
        Tensors whose moments are numbers of steps.
    """
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    tensors: list[Tensor] = []
    for number, (subgraph, program) in enumerate(steps):
        for value in subgraph.outputs:
            root = views.get(value, value)
            first.setdefault(root, number)
            last[root] = number
        for value in subgraph.inputs:
            last[views.get(value, value)] = number
        for buffer in () if program is None else program.buffers:
            if buffer.scope == "workspace":
                name = _scratch(number, buffer.name)
                tensors.append(Tensor(name, buffer.nbytes, number, number))
    tensors += [
        Tensor(value, graph.type_of(value).nbytes, step, last[value])
        for value, step in first.items()
        if value not in graph.outputs
    ]
    return tensors


def _scratch(step: int, buffer: str) -> str:
    """Name, in the plan, of a function's own scratch buffer; no value of a graph contains a NUL."""
    return f"{step}\0{buffer}"


def _slots(
    graph: Graph,
    kernel: Linkable,
    number: int,
    views: Mapping[str, str],
    plan: WorkspacePlan,
    weights: bytearray,
) -> list[Slot]:
    """Where each parameter of the kernel's function is; its constants are appended to `weights`."""
    program, values = kernel.scheduled, kernel.lowered.values
    params = {
        name: graph.params[value].reshape(program.buffer(name).shape)  # dimensions may be merged
        for name, value in values.items()
        if value in graph.params
    }
    slots: list[Slot] = []
    for name in kernel.function.parameters:
        buffer = program.buffer(name)
        if buffer.scope == "constant":
            array = np.ascontiguousarray(
                pack_array(program, name, params), numpy_dtype(buffer.dtype)
            )
            slots.append(WeightsSlot(len(weights)))
            weights += array.tobytes()
            weights += bytes(aligned(len(weights)) - len(weights))
        elif buffer.scope == "workspace":
            slots.append(WorkspaceSlot(plan.offsets[_scratch(number, name)]))
        else:
            slots.append(_value_slot(graph, views.get(values[name], values[name]), plan))
    return slots


def _value_slot(graph: Graph, value: str, plan: WorkspacePlan) -> Slot:
    if value in graph.inputs:
        return InputSlot(graph.inputs.index(value))
    if value in graph.outputs:
        return OutputSlot(graph.outputs.index(value))
    return WorkspaceSlot(plan.offsets[value])
