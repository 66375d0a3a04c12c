"""A small model as an exported folder, and compilers to build it with."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ago.frontend import GraphBuilder
from ago.ir.graph import Graph
from ago.options import Options
from ago.pipeline import compile_graph
from ago.runtime.artifact import Artifact
from ago.runtime.export import WeightsForm, export_artifact
from ago.target import resolve_target

NAME = "little"
SIZE = 40  # enough work that threads share it
C_FLAGS = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic")
CXX_FLAGS = ("-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated")


def graph() -> Graph:
    """A convolution, a matrix product and a softmax: kernels, vector math, several steps."""
    rng = np.random.default_rng(0)

    def near(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    b = GraphBuilder(NAME)
    x = b.relu(b.conv(b.input("image", (1, 3, SIZE, SIZE)), near(8, 3, 3, 3), near(8), pads=1))
    y = b.gemm(b.reshape(x, (8, SIZE * SIZE)), near(SIZE * SIZE, 10), near(10))
    return b.build(b.apply("Softmax", y, axes=(1,)), y)


def strips_graph() -> Graph:
    """A convolution and a pool whose rows threads share in strips, each with a ring of its own."""
    rng = np.random.default_rng(0)
    b = GraphBuilder(NAME)
    filters = rng.standard_normal((32, 3, 3, 3)).astype(np.float32)
    x = b.max_pool(b.relu(b.conv(b.input("image", (1, 3, 97, 97)), filters)), 3, strides=2)
    y = b.conv(x, rng.standard_normal((16, 32, 1, 1)).astype(np.float32))
    mean = b.global_average_pool(b.relu(y))
    return b.build(mean, b.relu(mean))


def odd_graph() -> Graph:
    """Bools, integers, names that are words of C++, no weights."""
    b = GraphBuilder("namespace")
    left, right = (b.input(name, (3,), "bool") for name in ("class", "this"))
    whole = b.apply("Neg", b.input("template", (2, 2), "i64"), name="new")
    return b.build(b.apply("And", left, right, name="and"), whole)


@functools.cache
def artifact(target: str = "host", threads: int = 1) -> Artifact:
    """The compiled model."""
    return compile_graph(graph(), Options(resolve_target(target), threads=threads)).artifact


def export(
    directory: Path, weights: WeightsForm = "file", threads: int = 1, *, overwrite: bool = False
) -> Path:
    """The model's folder, for this machine."""
    made = artifact(threads=threads)
    export_artifact(made, directory, weights=weights, overwrite=overwrite)
    return directory


def compiler(*names: str) -> str:
    """The first of these compilers that is there; skips the test where none is."""
    for name in names:
        if shutil.which(name):
            return name
    pytest.skip(f"none of {', '.join(names)} is here")


CLANG, GCC = ("clang", "clang-19"), ("gcc",)
CLANGXX, GXX = ("clang++", "clang++-19"), ("g++",)


def run(command: Sequence[object], cwd: Path, **env: str) -> str:
    """Run a command that must succeed, in an environment of PATH alone; what it prints."""
    clean = {"PATH": os.environ["PATH"], **env}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def model_files(folder: Path) -> list[str]:
    """The C files of the model itself, as libraries without libc have them."""
    extra = {"main.c", "ago_pool.c", f"{NAME}_weights.c"}
    return sorted(path.name for path in folder.glob("*.c") if path.name not in extra)


def kernel_flags(folder: Path) -> list[str]:
    """The flags of the CPU, as the Makefile has them."""
    text = (folder / "Makefile").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("CPU =")]
    return line.removeprefix("CPU =").split()
