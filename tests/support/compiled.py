"""Runs programs as compiled C: on this machine, or emulated for AArch64."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ago.backend_neon.neon import NEON
from ago.backend_x86.avx2 import AVX2
from ago.backend_x86.avx512 import AVX512
from ago.codegen.emit import Function, emit_function, parameters
from ago.codegen.intrinsics import Intrinsics
from ago.codegen.model import (
    InputSlot,
    ModelInterface,
    OutputSlot,
    Slot,
    Step,
    WeightsSlot,
    WorkspaceSlot,
    emit_model,
)
from ago.codegen.portable import PORTABLE
from ago.ir.program import Program
from ago.runtime.artifact import Artifact, TensorInfo
from ago.runtime.build import build, library_suffix
from ago.runtime.emulator import Emulator
from ago.runtime.library import Library, aligned_array
from ago.target import TARGETS, runs_on_host

TABLES: Mapping[str, Intrinsics] = {
    "portable": PORTABLE,
    "x86-64-v3": AVX2,
    "x86-64-v4": AVX512,
    "cortex-a76": NEON,
}
"""A target of each instruction set, and its table."""

HOST_TARGETS = [name for name in TABLES if runs_on_host(TARGETS[name])]
"""Those that this machine runs itself."""

Arrays = Mapping[str, np.ndarray]


def emit(program: Program, target: str) -> Function:
    isa = TARGETS[target].isa
    table = next(table for table in TABLES.values() if table.isa == isa)
    return emit_function(program, TARGETS[target], table)


def artifact(program: Program, target: str, arrays: Arrays) -> Artifact:
    """A model of one step whose inputs and outputs are the program's."""
    function = emit(program, target)
    inputs = [b for b in program.buffers if b.scope == "input"]
    outputs = [b for b in program.buffers if b.scope == "output"]
    weights = b""
    workspace = 0
    slots: list[Slot] = []
    for buffer in parameters(program):
        size = 4 * int(np.prod(buffer.shape, dtype=np.int64))
        if buffer.scope == "input":
            slots.append(InputSlot(inputs.index(buffer)))
        elif buffer.scope == "output":
            slots.append(OutputSlot(outputs.index(buffer)))
        elif buffer.scope == "constant":
            weights += b"\0" * (-len(weights) % 64)
            slots.append(WeightsSlot(len(weights)))
            weights += np.ascontiguousarray(arrays[buffer.name], np.float32).tobytes()
        else:
            slots.append(WorkspaceSlot(workspace))
            workspace += -(-size // 64) * 64
    interface = ModelInterface(
        "m",
        tuple(b.name for b in inputs),
        tuple(b.name for b in outputs),
        len(weights),
        workspace,
    )
    return Artifact(
        name="m",
        sources=emit_model(interface, [Step(function, tuple(slots))], TABLES[target]),
        weights=weights,
        workspace_bytes=workspace,
        inputs=tuple(TensorInfo(b.name, b.shape) for b in inputs),
        outputs=tuple(TensorInfo(b.name, b.shape) for b in outputs),
        target=TARGETS[target],
        steps=(program.name,),
    )


def run_compiled(program: Program, target: str, arrays: Arrays) -> dict[str, np.ndarray]:
    """The outputs of a program compiled for `target`, natively where this machine can."""
    model = artifact(program, target, arrays)
    feeds = [np.ascontiguousarray(arrays[info.name], np.float32) for info in model.inputs]
    with tempfile.TemporaryDirectory() as directory:
        path = build(model, "shared", Path(directory) / f"m{library_suffix()}")
        results = call(model, path, feeds)
    return {info.name: result for info, result in zip(model.outputs, results, strict=True)}


def call(model: Artifact, path: Path, feeds: list[np.ndarray]) -> list[np.ndarray]:
    """Run a library of `model`: its outputs, which are NaN where it wrote nothing."""
    shapes = [info.shape for info in model.outputs]
    if not runs_on_host(model.target):
        run = Emulator(path).call(
            f"{model.name}_run", feeds, shapes, model.weights, model.workspace_bytes
        )
        return list(run.outputs)
    outputs = [np.full(shape, np.nan, np.float32) for shape in shapes]
    weights = aligned_array(max(1, len(model.weights)), np.uint8)
    weights[: len(model.weights)] = np.frombuffer(model.weights, np.uint8)
    workspace = aligned_array(max(1, model.workspace_bytes), np.uint8)
    workspace[:] = 0xFF
    Library(path, model.name).run(feeds, outputs, weights, workspace)
    return outputs
