"""Timing many candidate functions of one workload on this machine.

Read `measure_candidates` first, then `run_candidate`. All candidates are compiled in one file and
loaded as one library; they share their buffers, and of two calls in a row the second is timed, so
that no candidate pays for the cache that another left behind.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ago.codegen.emit import Function
from ago.codegen.intrinsics import Intrinsics
from ago.ir.program import Program
from ago.runtime.library import Array, aligned_array
from ago.runtime.sources import csrc_path
from ago.runtime.toolchain import Toolchain, find_toolchain
from ago.target import Target
from ago.tune.source import candidates_text, entry_name

DEFAULT_ROUNDS = 9
"""Timed calls of each candidate, of which the fastest counts."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One scheduled program with its code.

    Attributes:
        program: The scheduled program; its buffers are the function's parameters.
        function: The C function generated from it.
    """

    program: Program
    function: Function


def measure_candidates(
    candidates: Sequence[Candidate],
    target: Target,
    intrinsics: Intrinsics,
    *,
    rounds: int = DEFAULT_ROUNDS,
    seed: int = 0,
    toolchain: Toolchain | None = None,
) -> list[float]:
    """Time candidates of one workload side by side.

    Candidates of equal code are measured once. In each round every candidate is called twice and
    the second call is timed; the order rotates, so that a drifting clock hits all alike.

    Args:
        candidates: Schedules of one workload.
        target: The CPU; this machine must run its code.
        intrinsics: Table that the functions were generated with.
        rounds: Timed calls of each.
        seed: Seed of the operands' random values.
        toolchain: By default whatever `find_toolchain` finds for the target.

    Returns:
        Seconds of the fastest timed call of each candidate.

    Raises:
        ToolchainError: No compiler was found, or it failed.
    """
    distinct = {c.function.key: c for c in candidates}
    arrays = _operands(list(distinct.values()), seed)
    with tempfile.TemporaryDirectory(prefix="ago-measure-") as name:
        compiler = toolchain or find_toolchain(target)
        library = _build(list(distinct.values()), target, intrinsics, compiler, Path(name))
        calls = _bind(library, list(distinct.values()), arrays)
        best = dict(zip(distinct, _time_all(calls, rounds), strict=True))
    return [best[c.function.key] for c in candidates]


def run_candidate(
    candidate: Candidate,
    arrays: Mapping[str, Array],
    target: Target,
    intrinsics: Intrinsics,
    *,
    toolchain: Toolchain | None = None,
) -> None:
    """Call a candidate once.

    Args:
        candidate: What to run.
        arrays: A dense array for each parameter of its function, by buffer; outputs and workspace
            are written.
        target: The CPU; this machine must run its code.
        intrinsics: Table that the function was generated with.
        toolchain: By default whatever `find_toolchain` finds for the target.

    Raises:
        ToolchainError: No compiler was found, or it failed.
    """
    with tempfile.TemporaryDirectory(prefix="ago-run-") as name:
        compiler = toolchain or find_toolchain(target)
        library = _build([candidate], target, intrinsics, compiler, Path(name))
        (call,) = _bind(library, [candidate], arrays)
        call()


def _operands(candidates: Sequence[Candidate], seed: int) -> dict[str, Array]:
    """One array for each buffer name, as long as the longest candidate needs it.

    Its elements are floats, whatever type the buffer has.
    """
    sizes: dict[str, int] = {}
    for candidate in candidates:
        for name in candidate.function.parameters:
            size = -(-candidate.program.buffer(name).nbytes // 4)
            sizes[name] = max(sizes.get(name, 1), size)
    rng = np.random.default_rng(seed)
    arrays: dict[str, Array] = {}
    for name, size in sizes.items():
        arrays[name] = aligned_array(size)
        arrays[name][:] = rng.standard_normal(size, np.float32)
    return arrays


def _build(
    candidates: Sequence[Candidate],
    target: Target,
    intrinsics: Intrinsics,
    compiler: Toolchain,
    directory: Path,
) -> Path:
    functions = {k: c.function for k, c in enumerate(candidates)}
    source = directory / "candidates.c"
    source.write_text(candidates_text(functions, intrinsics), encoding="utf-8")
    headers = csrc_path("ago_runtime.h").parent
    objects = compiler.compile_objects(
        [source, csrc_path("ago_mem.c")], directory, target, include=[headers], jobs=1
    )
    return compiler.link_shared(objects, directory / "candidates.so", target)


def _bind(
    library: Path, candidates: Sequence[Candidate], arrays: Mapping[str, Array]
) -> list[Callable[[], None]]:
    """A call without arguments for each candidate; they keep library and arrays alive."""
    import cffi  # deferred: only running code needs it

    ffi = cffi.FFI()
    for k in range(len(candidates)):
        ffi.cdef(f"void {entry_name(k)}(void *const *a);")
    loaded = ffi.dlopen(str(library))

    def bind(k: int, candidate: Candidate) -> Callable[[], None]:
        held = [ffi.from_buffer("float[]", arrays[n]) for n in candidate.function.parameters]
        pointers = ffi.new("void *[]", held)
        run = getattr(loaded, entry_name(k))

        def call(_held: object = (held, loaded)) -> None:
            run(pointers)

        return call

    return [bind(k, candidate) for k, candidate in enumerate(candidates)]


def _time_all(calls: Sequence[Callable[[], None]], rounds: int) -> list[float]:
    best = [math.inf] * len(calls)
    for number in range(rounds):
        for k in range(len(calls)):
            turn = (k + number) % len(calls)
            best[turn] = min(best[turn], _second_call(calls[turn]))
    return best


def _second_call(call: Callable[[], None]) -> float:
    call()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
