"""What the candidates of a workload must compute.

Read `reference_of` first. Operands are random but the same for the same seed, and what comes of
them is computed by the naive nest in portable C, once for each workload; it runs in a process of
its own, as everything generated does here.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ago.backends import INTRINSICS
from ago.codegen.emit import emit_function
from ago.errors import DeviceError
from ago.ir.program import Program
from ago.ir.tensor import numpy_dtype
from ago.runtime.toolchain import find_toolchain
from ago.runtime.transport import LocalTransport
from ago.target import TARGETS
from ago.tune.measure import Candidate
from ago.tune.trial_data import Trial
from ago.tune.trial_program import DATA, PROGRAM, Compiler, build_trials

Array = npt.NDArray[Any]

_SCALE = 0.1  # of random floats: sums of a thousand products stay near 1, exponentials finite
_SECONDS = 600.0
_OUTPUT = "outputs"


@dataclass(frozen=True, slots=True)
class Reference:
    """Operands of a workload and its result.

    Attributes:
        operands: Arrays of inputs and unpacked constants, by buffer.
        expected: Arrays of outputs, by buffer.
    """

    operands: Mapping[str, Array]
    expected: Mapping[str, Array]


def reference_of(program: Program, seed: int = 0) -> Reference:
    """Compute a naive program on random operands.

    Args:
        program: Naive.
        seed: Of the operands.

    Raises:
        DeviceError: It failed, for instance for want of memory.
        ToolchainError: No compiler was found, or it failed.
    """
    rng = np.random.default_rng(seed)
    operands = {
        b.name: _random(rng, b.shape, numpy_dtype(b.dtype))
        for b in program.buffers
        if b.scope in ("input", "constant") and b.packing is None
    }
    outputs = [b for b in program.buffers if b.scope == "output"]
    empty = {b.name: np.zeros(b.shape, numpy_dtype(b.dtype)) for b in outputs}
    target = TARGETS["portable"]
    candidate = Candidate(program, emit_function(program, target, INTRINSICS[target.isa]))
    with tempfile.TemporaryDirectory(prefix="ago-reference-") as name:
        compiler = Compiler(target, find_toolchain(target))
        built = build_trials([Trial(candidate, operands, empty)], compiler, Path(name))
        if built.failures:
            raise DeviceError(f"{program.name}: its naive nest does not compile: {built.failures}")
        content = _run(built.files, program.name)
    arrays = {}
    sizes = [empty[n].nbytes for n in candidate.function.parameters if n in empty]
    names = [n for n in candidate.function.parameters if n in empty]
    for name, start in zip(names, itertools.accumulate(sizes, initial=0), strict=False):
        part = content[start : start + empty[name].nbytes]
        arrays[name] = np.frombuffer(part, empty[name].dtype).reshape(empty[name].shape)
    return Reference(operands, arrays)


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Small floats; of other types 0 and 1, which serve as indices, masks and divisors' parts."""
    if dtype.kind == "f":
        return (_SCALE * rng.standard_normal(shape, np.float32)).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)


def _run(files: Mapping[str, Path], what: str) -> bytes:
    transport = LocalTransport()
    try:
        transport.push(files)
        milliseconds = str(round(1e3 * _SECONDS))
        command = [PROGRAM, "--data", DATA, "--total", milliseconds, "--output", _OUTPUT]
        done = transport.run(command, _SECONDS)
        if done.code != 0:
            why = done.reason or done.stderr.strip() or f"exit code {done.code}"
            raise DeviceError(f"{what}: its naive nest failed: {why}")
        to = files[PROGRAM].with_name(_OUTPUT)
        transport.fetch(_OUTPUT, to)
        return to.read_bytes()
    finally:
        transport.close()
