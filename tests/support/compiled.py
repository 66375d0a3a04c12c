"""Runs programs as compiled C: on this machine, or emulated for AArch64."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ago.backend_neon.neon import NEON
from ago.backend_x86.avx2 import AVX2
from ago.backend_x86.avx512 import AVX512
from ago.codegen.ctext import HELPERS, used_helpers
from ago.codegen.element_helpers import ELEMENT_HELPERS
from ago.codegen.emit import Function, emit_function, parameters
from ago.codegen.entry import (
    InputSlot,
    OutputSlot,
    Slot,
    Step,
    WeightsSlot,
    WorkspaceSlot,
)
from ago.codegen.header import ModelInterface, Port
from ago.codegen.intrinsics import Intrinsics
from ago.codegen.model import emit_model
from ago.codegen.portable import PORTABLE
from ago.ir.nest import Buffer
from ago.ir.program import Program
from ago.ir.tensor import TensorType
from ago.runtime.artifact import Artifact, TensorInfo
from ago.runtime.build import build, library_suffix
from ago.runtime.emulator import Emulator
from ago.runtime.library import Library, aligned_array, aligned_bytes
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


def ports(infos: Sequence[TensorInfo]) -> tuple[Port, ...]:
    """Inputs or outputs as the code generator takes them."""
    return tuple(Port(info.name, TensorType(info.shape, info.dtype)) for info in infos)


def body_artifact(
    body: str, target: str, inputs: Sequence[TensorInfo], outputs: Sequence[TensorInfo]
) -> Artifact:
    """A model of one function with a body in C, in which arrays go by the names of the tensors."""
    table = TABLES[target]
    parameters = [f"const float *restrict {info.name}" for info in inputs]
    parameters += [f"float *restrict {info.name}" for info in outputs]
    signature = f"void body({', '.join(parameters)})"
    known = HELPERS.keys() | ELEMENT_HELPERS.keys() | table.helpers.keys()
    function = Function(
        name="body",
        parameters=tuple(info.name for info in (*inputs, *outputs)),
        types=("const float",) * len(inputs) + ("float",) * len(outputs),
        signature=signature,
        text=f"{signature} {{\n{body}\n}}\n",
        helpers=tuple(used_helpers(body, known)),
        key=body,
    )
    slots = (*map(InputSlot, range(len(inputs))), *map(OutputSlot, range(len(outputs))))
    interface = ModelInterface("m", ports(inputs), ports(outputs), 0, 0)
    code = emit_model(interface, [Step(function, slots)], table)
    return Artifact(
        name="m",
        sources=code.files,
        weights=b"",
        workspace_bytes=0,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        target=TARGETS[target],
        steps=("body",),
        fingerprint=code.fingerprint,
    )


class _Assembly:
    """Collects programs into one model, a step each, so that one compiler run serves them all."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.steps: list[Step] = []
        self.inputs: list[TensorInfo] = []
        self.outputs: list[TensorInfo] = []
        self.feeds: list[np.ndarray] = []
        self.weights = b""
        self.workspace = 0

    def add(self, program: Program, arrays: Arrays) -> None:
        function = emit(program, self.target)
        slots = tuple(self._slot(buffer, arrays) for buffer in parameters(program))
        self.steps.append(Step(function, slots))

    def _slot(self, buffer: Buffer, arrays: Arrays) -> Slot:
        info = TensorInfo(buffer.name, buffer.shape, buffer.dtype)
        if buffer.scope == "output":
            self.outputs.append(info)
            return OutputSlot(len(self.outputs) - 1)
        if buffer.scope == "workspace":
            offset = self.workspace
            self.workspace += -(-info.bytes // 64) * 64
            return WorkspaceSlot(offset)
        array = np.ascontiguousarray(arrays[buffer.name], info.numpy)
        if buffer.scope == "input":
            self.inputs.append(info)
            self.feeds.append(array)
            return InputSlot(len(self.inputs) - 1)
        self.weights += b"\0" * (-len(self.weights) % 64)
        self.weights += array.tobytes()
        return WeightsSlot(len(self.weights) - array.nbytes)

    def artifact(self) -> Artifact:
        inputs, outputs = ports(self.inputs), ports(self.outputs)
        interface = ModelInterface("m", inputs, outputs, len(self.weights), self.workspace)
        code = emit_model(interface, self.steps, TABLES[self.target])
        return Artifact(
            name="m",
            sources=code.files,
            weights=self.weights,
            workspace_bytes=self.workspace,
            inputs=tuple(self.inputs),
            outputs=tuple(self.outputs),
            target=TARGETS[self.target],
            steps=tuple(step.function.name for step in self.steps),
            fingerprint=code.fingerprint,
        )


def run_compiled(programs: Sequence[tuple[Program, Arrays]], target: str) -> list[np.ndarray]:
    """Outputs of programs with one output each, natively where this machine can.

    Args:
        programs: Each with the arrays of its inputs and constants, by buffer.
        target: A key of `TABLES`.
    """
    assembly = _Assembly(target)
    for program, arrays in programs:
        assembly.add(program, arrays)
    model = assembly.artifact()
    with tempfile.TemporaryDirectory() as directory:
        path = build(model, "shared", Path(directory) / f"m{library_suffix()}")
        return call(model, path, assembly.feeds)


def call(model: Artifact, path: Path, feeds: list[np.ndarray]) -> list[np.ndarray]:
    """Run a library of `model`: its outputs, which are NaN or -1 where it wrote nothing."""
    if not runs_on_host(model.target):
        run = Emulator(path).run(
            model.name,
            feeds,
            [info.shape for info in model.outputs],
            model.weights_image,
            model.workspace_bytes,
            output_dtypes=[info.dtype for info in model.outputs],
        )
        return list(run.outputs)
    outputs = [info.unwritten() for info in model.outputs]
    weights = aligned_bytes(model.weights_image)
    workspace = aligned_array(max(1, model.workspace_bytes), np.uint8)
    workspace[:] = 0xFF
    Library(path, model.name).run(feeds, outputs, weights, workspace)
    return outputs
