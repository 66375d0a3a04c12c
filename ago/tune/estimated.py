"""Tuning for a CPU that is not there: candidates are compiled for it, emulated, and estimated.

Read `EstimatedRunner` first. A candidate's instructions are counted exactly, what they cost is an
estimate (`ago.cost_model.static`), to which the analytic model adds what caches cost. Outcomes are
marked by the runner's host, which says that nothing was measured.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ago.autoschedule.space import Space
from ago.cost_model.static import StaticCost, StaticModel, basic_blocks
from ago.errors import AgoError, DeviceError, ToolchainError
from ago.ir.nest import Buffer
from ago.ir.tensor import numpy_dtype
from ago.runtime.artifact import ALIGNMENT
from ago.runtime.elf import Image, load_image
from ago.runtime.machine import IMAGE_BASE, Machine, import_unicorn
from ago.runtime.toolchain import Toolchain, find_toolchain
from ago.target import Target
from ago.tune.candidate import Made, make_candidate
from ago.tune.emulated import build_library
from ago.tune.record import TaskKey
from ago.tune.source import entry_name
from ago.tune.task import Task
from ago.tune.trial import Job, Outcome

HERTZ = 2e9
"""Clock that cycles are turned into seconds with."""

_SECONDS = 120.0


class EstimatedRunner:
    """Estimates candidates for an AArch64 CPU.

    Args:
        target: The CPU; all jobs must be for it.
        toolchain: By default whatever `find_toolchain` finds for the target.
        seconds: Wall time after which the emulation of a candidate is given up.

    Raises:
        DeviceError: unicorn is missing, or the target is no AArch64 CPU.
        ToolchainError: llvm-mca or a compiler is missing.
    """

    def __init__(
        self, target: Target, *, toolchain: Toolchain | None = None, seconds: float = _SECONDS
    ) -> None:
        if target.arch != "aarch64":
            raise DeviceError(
                f"cycles are estimated for AArch64 CPUs, not for {target.name}: measure it instead"
            )
        import_unicorn()
        self._target = target
        self._model = StaticModel(target)
        self._toolchain = toolchain or find_toolchain(target)
        self._seconds = seconds
        self._spaces: dict[TaskKey, Space] = {}

    @property
    def host(self) -> str:
        """See `Runner.host`."""
        return f"estimated for {self._target.name} at {HERTZ / 1e9:g} GHz"

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Build, emulate and estimate jobs; see `Runner.run`.

        Raises:
            DeviceError: No host compiler is there to build the counter of instructions.
        """
        made = [make_candidate(job) for job in jobs]
        distinct = {m.candidate.function.key: m for m in made if isinstance(m, Made)}
        found = self._estimate(list(distinct.values()))
        costs = dict(zip(distinct, found, strict=True))
        return [
            self._outcome(job.task, one, costs[one.candidate.function.key])
            if isinstance(one, Made)
            else one
            for job, one in zip(jobs, made, strict=True)
        ]

    def cost(self, job: Job) -> StaticCost:
        """What a job's code costs with its data in L1.

        Raises:
            DeviceError: It cannot be built, or did not return.
        """
        made = make_candidate(job)
        if not isinstance(made, Made):
            raise DeviceError(made.reason)
        (found,) = self._estimate([made])
        if isinstance(found, AgoError):
            raise DeviceError(str(found)) from found
        return found

    def _outcome(self, task: Task, made: Made, cost: StaticCost | AgoError) -> Outcome:
        if isinstance(cost, AgoError):
            return made.failed("build" if isinstance(cost, ToolchainError) else "crash", str(cost))
        if task.key not in self._spaces:
            self._spaces[task.key] = Space(task.program, task.target, intensive=task.intensive)
        memory = self._spaces[task.key].memory_cycles(made.decisions)
        return Outcome(made.decisions, made.trace, "ok", (cost.cycles + memory) / HERTZ)

    def _estimate(self, made: Sequence[Made]) -> list[StaticCost | AgoError]:
        """The cost of each candidate, or why it did not end well."""
        if not made:
            return []
        with tempfile.TemporaryDirectory(prefix="ago-estimate-") as name:
            try:
                library = build_library(made, self._target, self._toolchain, Path(name))
            except ToolchainError as error:
                if len(made) == 1:
                    return [error]
                return [found for one in made for found in self._estimate([one])]
            code = self._model.disassemble(library)
            image = load_image(library.read_bytes(), IMAGE_BASE)
        return [self._emulate(image, code, one, number) for number, one in enumerate(made)]

    def _emulate(
        self, image: Image, code: Mapping[int, str], made: Made, number: int
    ) -> StaticCost | AgoError:
        """Run one candidate of a library once."""
        machine = Machine(image)
        parts = [segment for segment in image.segments if segment.is_executable]
        start = min(segment.address for segment in parts)
        end = max(segment.address + len(segment.data) for segment in parts)
        counts = machine.watch(start, end - start)
        program, names = made.candidate.program, made.candidate.function.parameters
        places = [_place(machine, program.buffer(name)) for name in names]
        table = machine.place("the arguments", np.array(places, np.uint64), 8)
        entry = image.symbols[entry_name(number)]
        try:
            machine.call(entry, [table], self._seconds, None)
        except DeviceError as error:
            return error
        return self._model.cost(basic_blocks(code, start - IMAGE_BASE, counts()))


def _place(machine: Machine, buffer: Buffer) -> int:
    """Memory for a buffer: how often code is executed depends on no float; integers are places."""
    dtype = numpy_dtype(buffer.dtype)
    value = 0.5 if dtype.kind == "f" else 0
    content = np.full(buffer.nbytes // dtype.itemsize, value, dtype)
    return machine.place(buffer.name, content, ALIGNMENT, writable=True)
