"""Running a compiled model away from this process: emulated, or as a program.

Read `DeviceRun` first. Both ways take the model's inputs by name and give its outputs by name, so
that a caller compares them with a reference in one way.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ago.errors import DeviceError, InputError
from ago.runtime.artifact import Artifact
from ago.runtime.emulator import Emulator

Array = npt.NDArray[Any]

QEMU_AARCH64 = ("qemu-aarch64", "-cpu", "cortex-a76")
"""Launches AArch64 Linux programs where qemu-user is installed."""


@dataclass(frozen=True, slots=True)
class DeviceRun:
    """What one inference on a device did.

    Attributes:
        outputs: By the model's names, in its order.
        instructions: Executed from entry to exit of the model's function; None where not counted.
        milliseconds: The fastest run's wall time. Under emulation it says nothing about a device.
    """

    outputs: Mapping[str, Array]
    instructions: int | None
    milliseconds: float


def run_emulated(
    artifact: Artifact,
    library: Path,
    feeds: Mapping[str, Array],
    progress: Callable[[int], None] | None = None,
) -> DeviceRun:
    """Run an AArch64 library once, in the emulator.

    Args:
        artifact: What the library was built from.
        library: The shared library.
        feeds: Arrays by input name, in the model's types and shapes.
        progress: Called a few times a second with the instructions executed so far.

    Raises:
        InputError: An input is missing, unknown or of another shape.
        DeviceError: The library cannot be emulated, or failed.
    """
    run = Emulator(library).run(
        artifact.name,
        _ordered(artifact, feeds),
        [info.shape for info in artifact.outputs],
        artifact.weights_image,
        artifact.workspace_bytes,
        output_dtypes=[info.dtype for info in artifact.outputs],
        progress=progress,
    )
    names = [info.name for info in artifact.outputs]
    outputs = dict(zip(names, run.outputs, strict=True))
    return DeviceRun(outputs, run.instructions, 1e3 * run.seconds)


def run_program(
    artifact: Artifact,
    program: Path,
    feeds: Mapping[str, Array],
    *,
    launcher: Sequence[str] = (),
    runs: int = 1,
    timeout_seconds: float = 600.0,
) -> DeviceRun:
    """Run a benchmark program with its weights inside.

    Args:
        artifact: What the program was built from.
        program: The executable.
        feeds: Arrays by input name, in the model's types and shapes.
        launcher: Command put in front of it, such as `QEMU_AARCH64`.
        runs: Inferences to time.
        timeout_seconds: Wall time after which it is killed.

    Raises:
        InputError: An input is missing, unknown or of another shape.
        DeviceError: The program or the launcher cannot be run, failed, or ran out of time.
    """
    inputs = _ordered(artifact, feeds)
    with tempfile.TemporaryDirectory(prefix="ago-run-") as name:
        directory = Path(name)
        command = [*launcher, str(program.resolve()), "--runs", str(runs), "--warmup", "0"]
        for index, array in enumerate(inputs):
            array.tofile(directory / f"input{index}")
            command += ["--input", str(directory / f"input{index}")]
        files = [directory / f"output{index}" for index in range(len(artifact.outputs))]
        for file in files:
            command += ["--output", str(file)]
        report = json.loads(_output_of(command, timeout_seconds).splitlines()[-1])
        outputs = {
            info.name: np.fromfile(file, info.numpy).reshape(info.shape)
            for info, file in zip(artifact.outputs, files, strict=True)
        }
    return DeviceRun(outputs, None, float(report["min_ms"]))


def max_error(got: Mapping[str, Array], expected: Mapping[str, Array]) -> float:
    """Largest absolute difference over largest absolute value, of the worst output.

    Args:
        got: Outputs by name.
        expected: What they should be; floats may be wider.

    Returns:
        0.0 for equal outputs; infinity where names, shapes or non-finite elements differ.
    """
    if got.keys() != expected.keys():
        return float("inf")
    return max((_array_error(got[name], expected[name]) for name in got), default=0.0)


def _array_error(got: Array, expected: Array) -> float:
    finite = np.isfinite(expected)
    if got.shape != expected.shape or not np.array_equal(
        got[~finite], expected[~finite].astype(np.float32), equal_nan=True
    ):
        return float("inf")
    if not np.isfinite(got[finite]).all():
        return float("inf")
    wanted = expected[finite].astype(np.float64)
    difference = np.abs(got[finite].astype(np.float64) - wanted).max(initial=0.0)
    scale = np.abs(wanted).max(initial=0.0)
    return float(difference / scale) if scale > 0 else float(difference)


def _ordered(artifact: Artifact, feeds: Mapping[str, Array]) -> list[Array]:
    """The inputs in the model's order, dense."""
    wanted = {info.name: info.shape for info in artifact.inputs}
    if feeds.keys() != wanted.keys():
        raise InputError(f"expected inputs {sorted(wanted)}, got {sorted(feeds)}")
    for name, shape in wanted.items():
        if np.shape(feeds[name]) != shape:
            raise InputError(f"input {name!r} must have shape {shape}, not {np.shape(feeds[name])}")
    return [
        np.ascontiguousarray(feeds[info.name], info.numpy).reshape(info.shape)
        for info in artifact.inputs
    ]


def _output_of(command: Sequence[str], timeout_seconds: float) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=timeout_seconds
        )
    except OSError as error:
        raise DeviceError(f"cannot run {command[0]}: {error}") from error
    except subprocess.TimeoutExpired as error:
        message = f"{shlex.join(command)} did not end in {timeout_seconds} seconds"
        raise DeviceError(message) from error
    if done.returncode != 0 or not done.stdout:
        raise DeviceError(
            f"{shlex.join(command)} failed with exit code {done.returncode}: {done.stderr.strip()}"
        )
    return done.stdout
