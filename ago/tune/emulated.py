"""Trials without a device: AArch64 candidates are emulated, checked, their instructions counted.

Read `EmulatedRunner` first. Counts are exact and the same everywhere, and need no more than pip's
unicorn; they say what a candidate executes, not how long that takes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ago.backends import INTRINSICS
from ago.errors import DeviceError, ToolchainError
from ago.ir.packing import pack_array
from ago.ir.tensor import numpy_dtype
from ago.runtime.artifact import ALIGNMENT
from ago.runtime.elf import Image, load_image
from ago.runtime.machine import IMAGE_BASE, Machine, import_unicorn
from ago.runtime.sources import csrc_path
from ago.runtime.toolchain import Toolchain, find_toolchain
from ago.target import Target
from ago.tune.candidate import Made, make_candidate
from ago.tune.record import TaskKey
from ago.tune.reference import Reference, reference_of
from ago.tune.source import candidates_text, entry_name
from ago.tune.task import Task
from ago.tune.trial import Job, Outcome
from ago.tune.trial_run import Limits

Array = npt.NDArray[Any]

INSTRUCTIONS_A_SECOND = 1e9
"""What counts are turned into seconds with: a billion is one."""

_SECONDS = 120.0


class EmulatedRunner:
    """Counts the instructions of candidates for AArch64.

    Args:
        target: The CPU; all jobs must be for it.
        limits: Memory and tolerance of a trial; its wall time is `seconds`.
        toolchain: By default whatever `find_toolchain` finds for the target.
        seconds: Wall time after which the emulation of a candidate is given up.
        seed: Of the operands.

    Raises:
        DeviceError: unicorn is missing, or the target is no AArch64 CPU.
    """

    def __init__(
        self,
        target: Target,
        limits: Limits | None = None,
        *,
        toolchain: Toolchain | None = None,
        seconds: float = _SECONDS,
        seed: int = 0,
    ) -> None:
        if target.arch != "aarch64":
            raise DeviceError(f"emulated are AArch64 CPUs, not {target.name}: measure it instead")
        import_unicorn()
        self._target = target
        self._limits = limits or Limits()
        self._toolchain = toolchain or find_toolchain(target)
        self._seconds = seconds
        self._seed = seed
        self._references: dict[TaskKey, Reference] = {}

    @property
    def host(self) -> str:
        """See `Runner.host`."""
        return f"instructions for {self._target.name}, emulated"

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Build, emulate and check jobs; see `Runner.run`."""
        made = [make_candidate(job) for job in jobs]
        distinct = {
            one.candidate.function.key: (job.task, one)
            for job, one in zip(jobs, made, strict=True)
            if isinstance(one, Made)
        }
        found = {key: self._measured(task, one) for key, (task, one) in distinct.items()}
        return [_told(one, found) if isinstance(one, Made) else one for one in made]

    def _measured(self, task: Task, made: Made) -> Outcome:
        with tempfile.TemporaryDirectory(prefix="ago-emulated-") as name:
            try:
                library = build_library([made], self._target, self._toolchain, Path(name))
            except ToolchainError as error:
                return made.failed("build", str(error))
            image = load_image(library.read_bytes(), IMAGE_BASE)
        if task.key not in self._references:
            self._references[task.key] = reference_of(task.program, self._seed)
        return self._emulated(image, made, self._references[task.key])

    def _emulated(self, image: Image, made: Made, reference: Reference) -> Outcome:
        machine = Machine(image)
        program, places = made.candidate.program, {}
        for name in made.candidate.function.parameters:
            buffer = program.buffer(name)
            if buffer.scope in ("input", "constant"):
                content = pack_array(program, name, reference.operands)
            else:
                content = np.full(buffer.nbytes, 0xFF, np.uint8)  # all ones is a NaN
            writable = buffer.scope not in ("input", "constant")
            places[name] = machine.place(name, content, ALIGNMENT, writable=writable)
        table = machine.place("the arguments", np.array(list(places.values()), np.uint64), 8)
        try:
            machine.call(image.symbols[entry_name(0)], [table], self._seconds, None)
        except DeviceError as error:
            return made.failed("timeout" if "did not end" in str(error) else "crash", str(error))
        for name, wanted in reference.expected.items():
            dtype = numpy_dtype(program.buffer(name).dtype)
            got = np.frombuffer(machine.read(places[name], wanted.nbytes), dtype)
            error_share = relative_error(got, wanted.reshape(-1))
            if error_share > self._limits.tolerance:
                return made.failed("wrong", f"off by {error_share:.2g} of the largest value")
        if machine.instructions is None:
            raise DeviceError("instructions are not counted: the counter needs a host compiler")
        seconds = machine.instructions / INSTRUCTIONS_A_SECOND
        return Outcome(made.decisions, made.trace, "ok", seconds)


def build_library(
    made: Sequence[Made], target: Target, toolchain: Toolchain, directory: Path
) -> Path:
    """A library of candidates, each called through its `entry_name`.

    Raises:
        ToolchainError: The compiler failed.
    """
    functions = {number: one.candidate.function for number, one in enumerate(made)}
    source = directory / "candidates.c"
    source.write_text(candidates_text(functions, INTRINSICS[target.isa]), encoding="utf-8")
    headers = csrc_path("ago_runtime.h").parent
    objects = toolchain.compile_objects(
        [source, csrc_path("ago_mem.c")], directory, target, include=[headers], jobs=1
    )
    return toolchain.link_shared(objects, directory / "candidates.so", target)


def relative_error(got: Array, wanted: Array) -> float:
    """The largest difference over the largest value, as the trial program computes it.

    Args:
        got: What a candidate wrote.
        wanted: What it should be; floats that the reference left unwritten are all ones.

    Returns:
        0.0 for equal arrays; infinity where other types, NaNs or infinities differ.
    """
    if wanted.dtype.kind != "f":
        return 0.0 if np.array_equal(got, wanted) else float("inf")
    bits = wanted.view(np.dtype(f"u{wanted.itemsize}"))
    written = bits != np.iinfo(bits.dtype).max
    got, wanted = got[written].astype(np.float64), wanted[written].astype(np.float64)
    finite = np.isfinite(wanted)
    if not np.array_equal(got[~finite], wanted[~finite], equal_nan=True):
        return float("inf")
    if not np.isfinite(got[finite]).all():
        return float("inf")
    worst = np.abs(got[finite] - wanted[finite]).max(initial=0.0)
    scale = np.abs(wanted[finite]).max(initial=0.0)
    return float(worst / scale) if scale > 0 else float(worst)


def _told(made: Made, found: Mapping[str, Outcome]) -> Outcome:
    """The outcome of equal code, with the candidate's own decisions."""
    outcome = found[made.candidate.function.key]
    if outcome.seconds is None:
        return made.failed(outcome.status, outcome.reason)
    return Outcome(made.decisions, made.trace, "ok", outcome.seconds)
