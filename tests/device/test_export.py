"""Exported models on devices: emulated from their folder; refused by CPUs that lack too much."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ago.errors import DeviceError
from ago.ir.evaluate import evaluate
from ago.ir.graph import Graph
from ago.models import MODELS
from ago.options import Options
from ago.pipeline import compile_graph
from ago.runtime.artifact import Artifact
from ago.runtime.build import build, library_suffix
from ago.runtime.device import DeviceRun, max_error, run_emulated
from ago.runtime.export import WeightsForm, cross_arguments, export_artifact
from ago.runtime.library import Library, aligned_array, aligned_bytes
from ago.runtime.verify import random_inputs
from ago.target import TARGETS, host_arch, runs_on_host
from tests.support.exported import CLANG, artifact, compiler, graph, run
from tests.support.small_model import small_artifact

QEMU = shutil.which("qemu-aarch64")
A76 = TARGETS["cortex-a76"]


def emulate(model: Artifact, directory: Path, weights: WeightsForm, feeds) -> DeviceRun:
    """Export, build the library by make, and run it in the emulator."""
    pytest.importorskip("unicorn")
    if shutil.which("make") is None or not (shutil.which("ld.lld") or shutil.which("ld.lld-19")):
        pytest.skip("needs make and lld")
    export_artifact(model, directory, weights=weights)
    compiler(*CLANG)
    run(["make", "-s", "-j2", "CFLAGS=-O2", *cross_arguments(model)], directory)
    return run_emulated(model, directory / f"lib{model.name}.so", feeds)


def check(net: Graph, model: Artifact, directory: Path, weights: WeightsForm = "file") -> None:
    feeds = random_inputs(model.inputs, 0)
    done = emulate(model, directory, weights, feeds)
    assert max_error(done.outputs, evaluate(net, feeds)) < 1e-5


@pytest.mark.parametrize("weights", ["file", "array"])
def test_the_folder_alone_makes_a_library_that_agrees(tmp_path, weights):
    check(graph(), artifact("cortex-a76"), tmp_path, weights)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mobilenet_v2", "mobilevit_xxs", "bert_tiny"])
def test_whole_networks_agree(tmp_path, name):
    net = MODELS[name]()
    check(net, compile_graph(net, Options(A76)).artifact, tmp_path)


@pytest.mark.skipif(QEMU is None, reason="needs qemu-aarch64")
@pytest.mark.parametrize(
    ("cpu", "code"), [("cortex-a76", 0), ("neoverse-n1", 0), ("cortex-a53", 3)]
)
def test_a_cpu_without_the_instructions_is_refused(tmp_path, cpu, code):
    program = build(small_artifact(A76), "executable", tmp_path / "bench")
    command = [QEMU, "-cpu", cpu, str(program), "--runs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code, done.stderr
    assert ("lacks instructions that the model was compiled for" in done.stderr) == (code != 0)


@pytest.mark.skipif(QEMU is None, reason="needs qemu-aarch64")
def test_what_every_cpu_of_the_architecture_has_is_not_asked_for(tmp_path):
    program = build(small_artifact(TARGETS["cortex-a72"]), "executable", tmp_path / "bench")
    command = [QEMU, "-cpu", "cortex-a53", str(program), "--runs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_wider_vectors_than_this_machine_has_are_refused(tmp_path):
    target = TARGETS["x86-64-v4"]
    if host_arch() != "x86_64" or runs_on_host(target):
        pytest.skip("needs an x86-64 CPU without AVX-512")
    model = small_artifact(target)
    path = build(model, "shared", tmp_path / f"small{library_suffix()}")
    library = Library(path, model.name)
    weights = aligned_bytes(model.weights_image)
    with pytest.raises(DeviceError, match="this CPU lacks instructions that the model was"):
        library.context(weights, aligned_array(model.workspace_bytes, np.uint8))
