"""Running a compiled model away from this process: emulated, or as a program on a device.

Read `DeviceRun` first. Both ways take the model's inputs by name and give its outputs by name, so
that a caller compares them with a reference in one way.
"""

from __future__ import annotations

import contextlib
import json
import shlex
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
from ago.runtime.transport import Finished, LocalTransport, Transport

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class DeviceRun:
    """What one inference on a device did.

    Attributes:
        outputs: By the model's names, in its order.
        instructions: Executed from entry to exit of the model's function; None where not counted.
        milliseconds: The fastest run's wall time. Under emulation it says nothing about a device.
        step_seconds: The fastest time of each step; empty where they were not timed.
        drift: How much slower the last runs were than the first ones; 1 for as fast.
    """

    outputs: Mapping[str, Array]
    instructions: int | None
    milliseconds: float
    step_seconds: tuple[float, ...] = ()
    drift: float = 1.0


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
    device: Transport | None = None,
    *,
    runs: int = 1,
    warmup: int = 0,
    passes: int = 0,
    timeout_seconds: float = 600.0,
) -> DeviceRun:
    """Run a benchmark program with its weights inside.

    Args:
        artifact: What the program was built from.
        program: The executable.
        feeds: Arrays by input name, in the model's types and shapes.
        device: Where it runs; by default here.
        runs: Inferences to time.
        warmup: Inferences before.
        passes: How often each step is timed.
        timeout_seconds: Wall time after which it is killed.

    Raises:
        InputError: An input is missing, unknown or of another shape.
        DeviceError: The program cannot be run, failed, or ran out of time.
    """
    inputs = _ordered(artifact, feeds)
    options = {"runs": runs, "warmup": warmup, "passes": passes}
    command = [program.name, *(str(t) for o, n in options.items() for t in (f"--{o}", n))]
    with contextlib.ExitStack() as stack:
        if device is None:
            device = stack.enter_context(contextlib.closing(LocalTransport()))
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ago-run-")))
        files = {program.name: program}
        for index, array in enumerate(inputs):
            files[f"input{index}"] = directory / f"input{index}"
            array.tofile(files[f"input{index}"])
            command += ["--input", f"input{index}"]
        results = [f"output{index}" for index in range(len(artifact.outputs))]
        command += [text for name in results for text in ("--output", name)]
        device.push(files)
        said = _require(device.run(command, timeout_seconds), command)
        outputs = {}
        for info, name in zip(artifact.outputs, results, strict=True):
            device.fetch(name, directory / name)
            outputs[info.name] = np.fromfile(directory / name, info.numpy).reshape(info.shape)
    *steps, report = map(json.loads, said)
    return DeviceRun(
        outputs,
        None,
        float(report["min_ms"]),
        tuple(1e-3 * float(step["min_ms"]) for step in steps),
        float(report["late_ms"]) / max(float(report["early_ms"]), 1e-6),
    )


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


def _require(done: Finished, command: Sequence[str]) -> list[str]:
    """The lines that a program printed.

    Raises:
        DeviceError: It failed, or did not end.
    """
    lines = done.stdout.split("\n")
    said = [line for line in lines if line.startswith("{")]
    if done.code is None:
        raise DeviceError(f"{shlex.join(command)}: {done.reason}")
    if done.code != 0 or not said:
        raise DeviceError(
            f"{shlex.join(command)} failed with exit code {done.code}: {done.stderr.strip()}"
        )
    return said
