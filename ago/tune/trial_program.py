"""Building the program that checks and times candidates on a device.

Read `build_trials` first. The program holds candidates of one workload and runs without Python and
libc. A candidate whose code does not compile is left out with its reason; the others go on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ago.backends import INTRINSICS
from ago.codegen.emit import Function
from ago.errors import ToolchainError
from ago.runtime.cache import Cache
from ago.runtime.sources import csrc_path
from ago.runtime.toolchain import Toolchain
from ago.target import Target
from ago.tune.source import candidates_text
from ago.tune.trial_data import Trial, TrialData

PROGRAM = "ago_trial"
"""File name of the program."""

DATA = "ago_trial.data"
"""File name of its data."""

_HEADERS = ("ago_trial.h", "ago_program.h", "ago_sys.h", "ago_runtime.h")


@dataclass(frozen=True, slots=True)
class Compiler:
    """How candidates are compiled.

    Attributes:
        target: The device's CPU.
        toolchain: A compiler for it.
        jobs: Compilers run at once.
        seconds: Wall time that one candidate may take; None for any.
    """

    target: Target
    toolchain: Toolchain
    jobs: int = 1
    seconds: float | None = None

    def compile_objects(self, sources: Sequence[Path], directory: Path, count: int) -> list[Path]:
        """Compile C files that together hold so many candidates."""
        return self.toolchain.compile_objects(
            sources,
            directory,
            self.target,
            include=[csrc_path("ago_runtime.h").parent],
            jobs=1,
            timeout_seconds=None if self.seconds is None else self.seconds * count,
        )


@dataclass(frozen=True, slots=True)
class TrialProgram:
    """A built program.

    Attributes:
        numbers: Which of the given trials it holds, in its own order.
        failures: Why the others could not be built, by number.
        files: What a device needs, by the name it has there; nothing if it holds no trial.
        memory_bytes: What data and operands take.
    """

    numbers: tuple[int, ...]
    failures: Mapping[int, str]
    files: Mapping[str, Path]
    memory_bytes: int


def build_trials(trials: Sequence[Trial], compiler: Compiler, directory: Path) -> TrialProgram:
    """Build a program of candidates.

    Args:
        trials: Of one workload.
        compiler: Who compiles.
        directory: Receives the program, its data, and what is between.

    Raises:
        ToolchainError: The compiler fails at what is not a candidate's code.
    """
    functions = {number: trial.candidate.function for number, trial in enumerate(trials)}
    objects, failures = _compile_functions(functions, compiler, directory)
    held = {k: trial for k, trial in enumerate(trials) if k not in failures}
    data = TrialData(held)
    memory_bytes = data.arena_bytes + data.data_bytes
    if not held:
        return TrialProgram((), failures, {}, memory_bytes)
    files = {PROGRAM: directory / PROGRAM, DATA: directory / DATA}
    data.write(files[DATA])
    table = directory / "ago_trials.c"
    table.write_text(data.table_text(), encoding="utf-8")
    objects += compiler.compile_objects([table], directory, len(held))
    objects += _main_objects(compiler)
    compiler.toolchain.link_executable(objects, files[PROGRAM], compiler.target)
    return TrialProgram(tuple(held), failures, files, memory_bytes)


_Compiled = tuple[list[Path], dict[int, str]]


def _compile_functions(
    functions: Mapping[int, Function], compiler: Compiler, directory: Path
) -> _Compiled:
    """Compile in as many files as compilers run at once; where one fails, one by one.

    Returns:
        Objects, and what the compiler said of the functions that are in none.
    """

    def compile_group(group: Sequence[int]) -> _Compiled:
        members = {number: functions[number] for number in group}
        source = directory / f"candidates_{group[0]}_{len(group)}.c"
        text = candidates_text(members, INTRINSICS[compiler.target.isa], "AGO_HIDDEN")
        source.write_text(text, encoding="utf-8")
        try:
            return compiler.compile_objects([source], directory, len(group)), {}
        except ToolchainError as error:
            if len(group) == 1:
                return [], {group[0]: str(error)}
        return _joined(compile_group([number]) for number in group)

    numbers = list(functions)
    groups = [numbers[first :: compiler.jobs] for first in range(compiler.jobs)]
    with ThreadPoolExecutor(max_workers=compiler.jobs) as pool:
        return _joined(pool.map(compile_group, filter(None, groups)))


def _joined(parts: Iterable[_Compiled]) -> _Compiled:
    objects: list[Path] = []
    failures: dict[int, str] = {}
    for found, failed in parts:
        objects += found
        failures |= failed
    return objects, failures


def _main_objects(compiler: Compiler) -> list[Path]:
    """What every program is linked with, compiled once for each target and compiler."""
    system = (
        "ago_sys_linux.c"
        if compiler.toolchain.needs_no_libc(compiler.target)
        else "ago_sys_posix.c"
    )
    sources = [csrc_path(name) for name in ("ago_trial_main.c", system, "ago_mem.c")]
    digest = hashlib.sha256(compiler.toolchain.fingerprint(compiler.target).encode())
    for path in [*sources, *map(csrc_path, _HEADERS)]:
        digest.update(path.read_bytes())

    def build(directory: Path) -> None:
        compiler.compile_objects(sources, directory, len(sources))

    entry = Cache().get_or_build(digest.hexdigest(), build)
    return [entry / f"{source.name}.o" for source in sources]
