"""Object code of the default schedules: no stack access, no scalar tail, mostly multiply-adds."""

import functools
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ago import Graph, GraphBuilder
from ago.options import Options
from ago.partition import relay_style
from ago.pipeline import Compilation, compile_graph
from ago.runtime.toolchain import find_toolchain
from ago.target import TARGETS, Target
from tests.support.object_code import Loop, hot_loops

ISAS = {"avx2": "x86-64-v3", "avx512": "x86-64-v4", "neon": "cortex-a76"}


def weights(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def conv(channels: int, filters: int, size: int, kernel: int, group: int = 1, **attrs) -> Graph:
    """A convolution between other layers, so that it reads and writes the layouts of a model."""
    b = GraphBuilder("net")
    x = b.relu(b.input("x", (1, channels, size, size)))
    w = weights(filters, channels // group, kernel, kernel)
    y = b.conv(x, w, weights(filters), group=group, pads=kernel // 2, **attrs)
    return b.build(b.global_average_pool(b.relu6(y)))


def gemm(rows: int, depth: int, columns: int) -> Graph:
    b = GraphBuilder("net")
    x = b.relu(b.input("x", (rows, depth)))
    return b.build(b.reduce_mean(b.gemm(x, weights(depth, columns), weights(columns)), 1))


# Graph, and the least share of multiply-adds among a hot loop's instructions by instruction set.
# On x86 each value that all lanes share costs an instruction (AVX-512 takes some from memory); on
# NEON a load brings four.
KERNELS: dict[str, tuple[Callable[[], Graph], dict[str, float]]] = {
    "pointwise": (lambda: conv(64, 96, 14, 1), {"avx2": 0.58, "avx512": 0.60, "neon": 0.80}),
    "pointwise 7x7": (lambda: conv(160, 120, 7, 1), {"avx2": 0.54, "avx512": 0.56, "neon": 0.75}),
    "five vectors": (lambda: conv(64, 40, 14, 1), {"avx2": 0.54, "avx512": 0.54, "neon": 0.75}),
    "pointwise, few channels": (
        lambda: conv(16, 64, 14, 1),
        {"avx2": 0.50, "avx512": 0.50, "neon": 0.60},
    ),
    "3x3": (lambda: conv(64, 64, 14, 3), {"avx2": 0.54, "avx512": 0.56, "neon": 0.75}),
    "depthwise 3x3": (
        lambda: conv(64, 64, 14, 3, group=64),
        {"avx2": 0.48, "avx512": 0.52, "neon": 0.50},
    ),
    "depthwise 3x3, wide": (
        lambda: conv(32, 32, 56, 3, group=32),
        {"avx2": 0.48, "avx512": 0.52, "neon": 0.50},
    ),
    "depthwise 3x3 /2": (
        lambda: conv(64, 64, 14, 3, group=64, strides=2),
        {"avx2": 0.45, "avx512": 0.45, "neon": 0.45},
    ),
    "depthwise 5x5": (
        lambda: conv(64, 64, 14, 5, group=64),
        {"avx2": 0.50, "avx512": 0.60, "neon": 0.60},
    ),
    "depthwise 5x5, wide": (
        lambda: conv(40, 40, 28, 5, group=40),
        {"avx2": 0.50, "avx512": 0.60, "neon": 0.60},
    ),
    "depthwise times 2": (
        lambda: conv(58, 116, 13, 3, group=58),
        {"avx2": 0.45, "avx512": 0.50, "neon": 0.50},
    ),
    "groups of 4": (
        lambda: conv(64, 64, 13, 3, group=16),
        {"avx2": 0.58, "avx512": 0.60, "neon": 0.80},
    ),
    "first layer": (
        lambda: conv(3, 32, 32, 3, strides=2),
        {"avx2": 0.48, "avx512": 0.50, "neon": 0.65},
    ),
    "odd channels": (lambda: conv(58, 58, 13, 3), {"avx2": 0.50, "avx512": 0.50, "neon": 0.60}),
    "gemm": (lambda: gemm(48, 128, 192), {"avx2": 0.58, "avx512": 0.60, "neon": 0.78}),
    "gemv": (lambda: gemm(1, 256, 400), {"avx2": 0.50, "avx512": 0.50, "neon": 0.50}),
}


def compile_loops(graph: Graph, target: Target) -> tuple[Compilation, list[Loop]]:
    """Compile a graph of one complex operator; the hot loops of its function."""
    compilation = compile_graph(graph, Options(target), relay_style)
    artifact = compilation.artifact
    (kernel,) = [k for k in compilation.kernels if k.subgraph.complex_nodes]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        artifact.write(directory)
        sources = [directory / file for file in artifact.c_files]
        objects = find_toolchain(target).compile_objects(sources, directory, target)
        return compilation, hot_loops(objects, f"{artifact.name}_{kernel.function.name}")


@functools.cache
def compiled(kernel: str, isa: str) -> tuple[int, list[Loop]]:
    """Multiply-adds of a kernel's register tile in one step of the reduction, and its hot loops."""
    make, _ = KERNELS[kernel]
    compilation, loops = compile_loops(make(), TARGETS[ISAS[isa]])
    (trace,) = [k.trace for k in compilation.kernels if k.subgraph.complex_nodes]
    (tile,) = [value for key, value in trace.decisions if key.endswith("/tile")]
    rows, vectors = tile
    return rows * vectors, loops


every_kernel = pytest.mark.parametrize("kernel", sorted(KERNELS))
every_isa = pytest.mark.parametrize("isa", sorted(ISAS))


@every_isa
@every_kernel
def test_no_stack_access_in_a_hot_loop(kernel, isa):
    _, loops = compiled(kernel, isa)
    assert loops
    for loop in loops:
        assert not loop.stack_accesses, str(loop)


@every_isa
@every_kernel
def test_no_scalar_arithmetic_in_a_hot_loop(kernel, isa):
    _, loops = compiled(kernel, isa)
    for loop in loops:
        assert not loop.scalar_multiplies, str(loop)


@every_isa
@every_kernel
def test_loops_hold_whole_tiles_and_little_else(kernel, isa):
    tile, loops = compiled(kernel, isa)
    floor = KERNELS[kernel][1][isa]
    largest = max(loop.fmas for loop in loops)
    assert largest % tile == 0
    for loop in loops:
        if loop.fmas == largest:
            assert loop.fma_share >= floor, str(loop)


@every_isa
def test_too_many_accumulators_are_seen_to_spill(isa):
    """A schedule for a core of four times the registers: the check finds what it is there for."""
    real = TARGETS[ISAS[isa]]
    imagined = replace(real, vector_registers=4 * real.vector_registers)
    _, loops = compile_loops(KERNELS["pointwise"][0](), imagined)
    assert any(loop.stack_accesses for loop in loops)
