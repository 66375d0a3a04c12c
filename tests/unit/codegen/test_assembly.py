"""What compilers make of the register tiles: no access to the stack in an inner loop."""

import re
import subprocess

import numpy as np
import pytest

from ago.autoschedule import schedule_program
from ago.codegen.model import helper_text
from ago.frontend import GraphBuilder
from ago.runtime.toolchain import Toolchain
from ago.target import TARGETS
from tests.support.compiled import TABLES, emit
from tests.support.fused import AVX2, program_of
from tests.support.kernels import Kernel, depthwise, pointwise
from tests.support.toolchains import toolchains


def one_block(rows: int, vectors: int) -> Kernel:
    """A reduction of 16 channels, unrolled as a whole inside the loop over filters."""
    return pointwise(4, 2 * rows, 16, 4 * vectors * 8, rows, vectors, 8, unroll=16)


# Kernel, target, and instructions of the inner loop for each of its FMAs.
TILES = {
    "avx2 6x2": (lambda: pointwise(4, 12, 24, 32, 6, 2, 8), "x86-64-v3", 1.9),
    "avx2 3x4": (lambda: pointwise(4, 12, 24, 64, 3, 4, 8), "x86-64-v3", 1.8),
    "avx2 6x2, 16 channels": (lambda: one_block(6, 2), "x86-64-v3", 2.1),
    "avx512 14x2": (lambda: pointwise(4, 28, 24, 64, 14, 2, 16), "x86-64-v4", 1.7),
    "neon 7x3 a55": (lambda: pointwise(4, 14, 24, 24, 7, 3, 4), "cortex-a55", 1.25),
    "neon 7x3 a76": (lambda: pointwise(4, 14, 24, 24, 7, 3, 4), "cortex-a76", 1.25),
    "neon 6x4 a76": (lambda: pointwise(4, 12, 24, 32, 6, 4, 4), "cortex-a76", 1.25),
}

_FMA = re.compile(r"^\s*(vfmadd|fmla)")
_STACK = re.compile(r"%rsp|\[sp|\[x29")  # no frame pointer is kept: x86 needs %rbp for data
_BRANCH = re.compile(r"^\s*(?:j\w+|b\.\w+|cbn?z|tbn?z)\s.*?(\.L\w+)\s*$")


def assembly(kernel: Kernel, target: str, toolchain: Toolchain, directory) -> list[str]:
    table = TABLES[next(n for n in TABLES if TARGETS[n].isa == TARGETS[target].isa)]
    function = emit(kernel.program, target)
    includes = "".join(f"#include {header}\n" for header in ("<stdint.h>", *table.headers))
    source, result = directory / "k.c", directory / "k.s"
    source.write_text(f"{includes}{helper_text(function.helpers, table)}{function.text}")
    flags = toolchain._target_flags(TARGETS[target])
    options = ["-O3", "-ffreestanding", "-ffp-contract=off", "-fomit-frame-pointer", "-S"]
    command = [*toolchain.command, *flags, *options, str(source), "-o", str(result)]
    subprocess.run(command, check=True, capture_output=True)
    return result.read_text().splitlines()


def inner_loops(lines: list[str]) -> list[list[str]]:
    """Bodies of the loops that contain FMAs and no other loop."""
    labels = {line.split(":")[0]: k for k, line in enumerate(lines) if re.match(r"\.L\w+:", line)}
    spans = []
    for end, line in enumerate(lines):
        branch = _BRANCH.match(line)
        if branch and labels.get(branch[1], end) < end:
            spans.append((labels[branch[1]], end))
    inner = [s for s in spans if not any(s != t and s[0] <= t[0] and t[1] <= s[1] for t in spans)]
    bodies = [[text for text in lines[a:b] if re.match(r"\s+[a-z]", text)] for a, b in inner]
    return [body for body in bodies if any(map(_FMA.match, body))]


@pytest.mark.parametrize("toolchain", toolchains(), ids=lambda toolchain: toolchain.kind)
@pytest.mark.parametrize("name", sorted(TILES))
def test_no_spill_in_the_inner_loop(name, toolchain, tmp_path):
    make, target, ratio = TILES[name]
    loops = inner_loops(assembly(make(), target, toolchain, tmp_path))
    assert loops
    for body in loops:
        assert not [line for line in body if _STACK.search(line)]
        assert len(body) <= ratio * sum(bool(_FMA.match(line)) for line in body)


@pytest.mark.parametrize("target", ["x86-64-v3", "cortex-a55"])
def test_no_spill_in_a_depthwise_row(target, tmp_path):
    kernel = depthwise(28, 2 * TARGETS[target].lanes, 3, 4, TARGETS[target].lanes, "shift")
    (toolchain, *_) = toolchains()
    loops = inner_loops(assembly(kernel, target, toolchain, tmp_path))
    assert loops
    assert not [line for body in loops for line in body if _STACK.search(line)]


def test_constants_are_fetched_where_a_tile_fills_the_registers():
    b = GraphBuilder("tile")
    y = b.conv(b.input("x", (1, 16, 8, 8)), np.ones((24, 16, 1, 1), np.float32))
    program = schedule_program(program_of(b.build(b.relu(y))), AVX2).program
    text = emit(program, "x86-64-v3").text
    assert "static const float numbers[] = {0.0f};" in text
    assert "_mm256_broadcast_ss(ago_opaque(numbers))" in text
    assert "_mm256_set1_ps" not in text
