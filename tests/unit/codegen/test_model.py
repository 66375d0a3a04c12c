"""A model of several steps: sharing, splitting, the interface."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from ago.codegen import model as model_module
from ago.codegen.entry import (
    InputSlot,
    OutputSlot,
    Step,
    WeightsSlot,
    WorkspaceSlot,
)
from ago.codegen.header import ModelInterface, Port
from ago.codegen.model import emit_model
from ago.ir.index import var
from ago.ir.nest import Buffer, Store
from ago.ir.program import Program
from ago.ir.tensor import TensorType
from ago.ir.value import Load, add
from ago.runtime.artifact import Artifact, TensorInfo
from ago.runtime.build import build, library_suffix
from ago.target import TARGETS
from tests.support.compiled import HOST_TARGETS, TABLES, call, emit
from tests.support.kernels import loop, named, pointwise

SIZE = 20


def adder(name: str, prefix: str = "") -> Program:
    """`out = x + w`, its names starting with `prefix`."""
    i = var(f"{prefix}add.i")
    value = add(Load(f"{prefix}x", (i,)), Load(f"{prefix}w", (i,)))
    leaf = Store("add", f"{prefix}out", (i,), value)
    buffers = (
        Buffer(f"{prefix}x", (SIZE,), "input"),
        Buffer(f"{prefix}w", (SIZE,), "constant"),
        Buffer(f"{prefix}out", (SIZE,), "output"),
    )
    return Program(name, buffers, (), (loop(f"{prefix}add.i", SIZE, "vector", leaf),))


def interface(**sizes: int) -> ModelInterface:
    array = TensorType((SIZE,))
    return ModelInterface("net", (Port("x", array),), (Port("y", array),), **sizes)


def two_adds(target: str) -> Artifact:
    """`y = (x + w0) + w1` through the workspace, two subgraphs that differ in names only."""
    first, second = emit(adder("first"), target), emit(adder("second", "s."), target)
    steps = [
        Step(first, (InputSlot(0), WeightsSlot(0), WorkspaceSlot(64))),
        Step(second, (WorkspaceSlot(64), WeightsSlot(128), OutputSlot(0))),
    ]
    weights = np.zeros(64, np.float32)
    weights[:SIZE], weights[32 : 32 + SIZE] = 1.0, np.arange(SIZE)
    code = emit_model(interface(constant_bytes=256, workspace_bytes=192), steps, TABLES[target])
    return Artifact(
        name="net",
        sources=code.files,
        weights=weights.tobytes(),
        workspace_bytes=192,
        inputs=(TensorInfo("x", (SIZE,)),),
        outputs=(TensorInfo("y", (SIZE,)),),
        target=TARGETS[target],
        steps=("first", "second"),
        fingerprint=code.fingerprint,
    )


@pytest.mark.parametrize("target", sorted({*HOST_TARGETS, "cortex-a76"}))
def test_steps_pass_values_through_the_workspace(target):
    model = two_adds(target)
    x = np.linspace(-1, 1, SIZE, dtype=np.float32)
    with tempfile.TemporaryDirectory() as directory:
        path = build(model, "shared", Path(directory) / f"net{library_suffix()}")
        (y,) = call(model, path, [x])
    np.testing.assert_array_equal(y, (x + np.float32(1)) + np.arange(SIZE, dtype=np.float32))


def test_functions_that_differ_in_names_only_are_shared():
    files = two_adds("portable").sources
    kernels = "".join(text for name, text in files.items() if name.startswith("net_kernels_"))
    assert kernels.count("void net_") == 1
    assert "also computes second" in kernels
    assert files["net.c"].count("net_first(") == 2


def test_functions_that_differ_get_their_own_names():
    programs = [adder("same"), named(pointwise(1, 2, 4, 8, 2, 1, 8), "same")]
    functions = [emit(program, "x86-64-v3") for program in programs]
    steps = [Step(function, (InputSlot(0),) * len(function.parameters)) for function in functions]
    files = emit_model(
        interface(constant_bytes=0, workspace_bytes=0), steps, TABLES["x86-64-v3"]
    ).files
    assert "net_same(" in files["net.c"]
    assert "net_same_2(" in files["net.c"]


def test_kernels_are_spread_over_files_of_similar_size(monkeypatch):
    monkeypatch.setattr(model_module, "FILE_BYTES", 8000)
    programs = [named(pointwise(1, 2, 4, 8 * k, 2, 1, 8), f"k{k}") for k in range(1, 13)]
    functions = [emit(program, "x86-64-v3") for program in programs]
    steps = [Step(function, (InputSlot(0),) * 5) for function in functions]
    files = emit_model(
        interface(constant_bytes=0, workspace_bytes=0), steps, TABLES["x86-64-v3"]
    ).files
    sizes = [len(text) for name, text in files.items() if name.startswith("net_kernels_")]
    kernels = [size for size in sizes if size > 3000]
    assert len(kernels) > 1
    assert max(kernels) < 2 * min(kernels)


def test_header_documents_sizes_and_arrays():
    header = two_adds("portable").sources["net.h"]
    for text in (
        "#define NET_WORKSPACE_BYTES 192u",
        "#define NET_WEIGHTS_BYTES 320u",
        "#define NET_STEPS 2",
        "#define NET_ALIGNMENT 64",
        "#define NET_INPUTS 1",
        "/* inputs[0]: x, float[20], dense and row-major. */",
        '#define NET_INPUT_0_NAME "x"',
        "#define NET_INPUT_0_SHAPE {20}",
        "#define NET_OUTPUT_0_BYTES 80u",
    ):
        assert text in header
