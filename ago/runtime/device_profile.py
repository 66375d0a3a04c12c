"""Where a compiled model's time goes on a device.

Read `profile_on` first. The device runs the benchmark program; nothing but that is put on it.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ago.errors import InputError
from ago.ir.work import Work
from ago.runtime.anatomy import Anatomy
from ago.runtime.artifact import Artifact
from ago.runtime.build import build
from ago.runtime.condition import Condition, Visit
from ago.runtime.device import run_program
from ago.runtime.devices import KINDS, open_device
from ago.runtime.profile import Profile, step_profiles
from ago.runtime.transport import Transport
from ago.target import Target

_WARM_RUNS = 3
_SHORTEST = 1e-9  # seconds; a clock may show none


def profile_on(
    runner: str | Transport,
    artifact: Artifact,
    anatomy: Anatomy,
    feeds: Mapping[str, npt.NDArray[Any]],
    rounds: int,
) -> Profile:
    """Time the steps of a model on a device.

    Args:
        runner: The device, or its name as `open_device` takes it.
        artifact: The model, compiled for the device's CPU.
        anatomy: Its inside.
        feeds: Arrays by input name, in the model's types and shapes.
        rounds: How often the whole model, and then all steps, run.

    Returns:
        The fastest time of each step, and what the device was like.

    Raises:
        InputError: No device has such a name.
        DeviceError: The device cannot be reached, or cannot run the program.
        ToolchainError: There is no compiler for the target, or it failed.
    """
    if not isinstance(runner, str | Transport):
        raise InputError(f"runner={runner!r}: expected a device: {KINDS}, or a Transport")
    with contextlib.ExitStack() as stack:
        device = runner
        if isinstance(device, str):
            device = stack.enter_context(contextlib.closing(open_device(device)))
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="ago-profile-"))
        program = build(artifact, "executable", Path(directory) / f"{artifact.name}_bench")
        run_program(artifact, program, feeds, device, runs=_WARM_RUNS)  # now its clock is up
        before = Condition.of(device)
        done = run_program(
            artifact, program, feeds, device, runs=rounds, warmup=_WARM_RUNS, passes=rounds
        )
        visit = Visit(device.name, before, Condition.of(device), done.drift)
    seconds = [max(taken, _SHORTEST) for taken in done.step_seconds]
    steps = step_profiles(anatomy, seconds, lambda work: _least(work, artifact.target, before))
    return Profile(artifact.name, artifact.target.name, rounds, steps, visit)


def _least(work: Work, target: Target, condition: Condition) -> float | None:
    """Seconds that the arithmetic alone takes at the device's clock, if that is known."""
    if condition.megahertz is None:
        return None
    return work.flop / (2 * target.lanes * target.fma_pipes * 1e6 * condition.megahertz)
