"""Timing single kernels of compiled models, beside the machine's peak.

Read `Model` and `time_steps` first. A kernel runs inside its model, on the model's own weights and
workspace: one call warms the caches, then a batch of calls is timed. Sweeps over all kernels are
repeated, and each batch is followed by a batch of bare multiply-adds, so that a share of the peak
compares what the machine did at the same moment.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ago.ir.workload import workload_key
from ago.pipeline import Compilation
from ago.runtime.build import build_cached
from ago.runtime.library import Library, aligned_array, aligned_bytes
from ago.runtime.native import load_native
from ago.runtime.verify import random_inputs
from ago.tune.machine import PeakProbe, batch_size
from benchmarks.workloads import Workload, workload_of

_REPEAT_FILE = Path(__file__).parent / "c" / "repeat.c"
_ROUNDS = 12
_SWEEPS = 3

_REPEAT = "int32_t ago_repeat(void *, int64_t, void *, int32_t, void **, void **);"


@dataclass(frozen=True, slots=True)
class Timing:
    """One kernel's time.

    Attributes:
        workload: What it computes.
        count: How many steps of the model share this kernel.
        seconds: The fastest batch's time a call.
        share: Its speed over that of the multiply-adds timed beside it; the median sweep's.
    """

    workload: Workload
    count: int
    seconds: float
    share: float


class Model:
    """A compiled model, loaded for timing its steps.

    Args:
        compilation: Of this machine's target.

    Attributes:
        compilation: As given.
    """

    def __init__(self, compilation: Compilation) -> None:
        self.compilation = compilation
        artifact = compilation.artifact
        path = build_cached(artifact)
        ffi, native = load_native(_REPEAT_FILE, _REPEAT, artifact.target)
        library = Library(path, artifact.name)
        self._step = ffi.cast("void *", library.address(library.step_entry))
        self._repeat = native.ago_repeat
        rng = np.random.default_rng(0)
        weights = aligned_bytes(artifact.weights_image)
        workspace = aligned_array(max(artifact.workspace_bytes // 4, 1))
        workspace[:] = rng.standard_normal(workspace.shape)  # no denormals, no zero pages
        inputs = list(random_inputs(artifact.inputs, 0).values())
        outputs = [aligned_array(info.shape) for info in artifact.outputs]
        context = library.context(weights, workspace.view(np.uint8))
        self._held = (native, library, context, weights, workspace, inputs, outputs)
        self._context = ffi.cast("void *", library.address(context))
        self._tables = (
            ffi.new("void *[]", [ffi.cast("void *", a.ctypes.data) for a in inputs]),
            ffi.new("void *[]", [ffi.cast("void *", a.ctypes.data) for a in outputs]),
        )

    def repeat(self, step: int, times: int) -> None:
        """Run one step so many times."""
        code = self._repeat(self._step, times, self._context, step, *self._tables)
        assert code == 0, f"step {step} failed with code {code}"

    def sample(self, step: int, times: int) -> float:
        """Seconds of one of `times` calls of a step, after a call that warms the caches."""
        self.repeat(step, 1)
        begin = time.perf_counter()
        self.repeat(step, times)
        return (time.perf_counter() - begin) / times

    def distinct_steps(self) -> dict[int, int]:
        """For each distinct workload, its first step and how many steps share it."""
        first: dict[str, int] = {}
        counts: dict[int, int] = {}
        for number, kernel in enumerate(self.compilation.kernels):
            step = first.setdefault(workload_key(kernel.lowered.program), number)
            counts[step] = counts.get(step, 0) + 1
        return counts


def time_steps(jobs: Sequence[tuple[Model, int, int]], probe: PeakProbe) -> list[Timing]:
    """Time steps of models.

    Args:
        jobs: Model, step, and how many steps of the model share its kernel.
        probe: Multiply-adds of the same instruction set.

    Returns:
        One timing a job.
    """
    batches = [batch_size(functools.partial(model.repeat, step)) for model, step, _ in jobs]
    seconds: list[list[float]] = [[] for _ in jobs]
    shares: list[list[float]] = [[] for _ in jobs]
    workloads = [workload_of(m.compilation.graph, m.compilation.kernels[s]) for m, s, _ in jobs]
    for _ in range(_SWEEPS):
        for number, (model, step, _) in enumerate(jobs):
            best, peak = float("inf"), 0.0
            for _ in range(_ROUNDS):
                best = min(best, model.sample(step, batches[number]))
                peak = max(peak, probe.sample())
            seconds[number].append(best)
            shares[number].append(workloads[number].flop / best / peak)
    return [
        Timing(workloads[number], count, min(seconds[number]), statistics.median(shares[number]))
        for number, (_, _, count) in enumerate(jobs)
    ]
