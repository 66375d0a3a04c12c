"""Running a trial program on a device, whatever happens to the device.

Read `run_trials` first. The program tells how each candidate ended, and before it calls one, which:
so when program or device are lost, the candidate that ran is known; it has failed, and the program
starts again without it.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ago.errors import DeviceError
from ago.runtime.transport import Finished, Transport
from ago.tune.record import Status
from ago.tune.trial_program import DATA, PROGRAM, TrialProgram

_GRACE_SECONDS = 30.0  # to start a program and to read its data
_TIMED_CALLS = 3  # calls of a candidate in one process, each of which may hang
_POLL_SECONDS = 0.25
_MOST_MEMORY = 0.75  # of its limit: who died with so much in use was refused more
_ATTEMPTS = 3

Tell = Callable[[str], None]
"""Told in words what people should know while they wait."""


def tell_nobody(message: str) -> None:
    """Says nothing: the default."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a trial may take.

    Attributes:
        seconds: Wall time of one call of the function on the device.
        compile_seconds: Wall time of compiling it.
        memory_bytes: Memory for operands, outputs and workspace, and for what else a candidate
            asks of the system; its process gets no more.
        rounds: Timed calls of each candidate at most, up to 64.
        batch_seconds: Wall time after which a batch is timed no further.
        tolerance: Largest error that is not wrong, over the largest value of the output.
        patience_seconds: How long to wait for a device that cannot be reached.
    """

    seconds: float = 5.0
    compile_seconds: float = 60.0
    memory_bytes: int = 2 << 30
    rounds: int = 24
    batch_seconds: float = 10.0
    tolerance: float = 1e-4
    patience_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How a candidate ended on the device.

    Attributes:
        status: `"ok"`, or how it failed.
        reason: Why; empty if it did not.
        times: Of repeated calls, seconds; empty unless it is ok.
    """

    status: Status
    reason: str = ""
    times: tuple[float, ...] = ()


def run_trials(
    program: TrialProgram,
    transport: Transport,
    limits: Limits,
    cpu: int | None = None,
    tell: Tell = tell_nobody,
) -> list[Ending]:
    """Run a program until each of its candidates has an ending.

    Args:
        program: What to run, not empty.
        transport: The device.
        limits: What a trial may take.
        cpu: CPU of the device to run on; by default any.
        tell: Told when the device is waited for, and why.

    Returns:
        An ending for each candidate that the program holds, in its order.

    Raises:
        DeviceError: The device could not be reached for too long.
    """
    count = len(program.numbers)
    lost: dict[int, Ending] = {}
    failures = 0
    while len(lost) < count:
        try:
            transport.push(program.files)
            finished = transport.run(
                _command(limits, count, lost, cpu), _total_seconds(limits, count) + _GRACE_SECONDS
            )
        except DeviceError as error:
            failures += 1
            _wait_for(transport, limits.patience_seconds, error, tell)
            if failures == _ATTEMPTS:
                return [lost.get(k, Ending("crash", str(error))) for k in range(count)]
            continue
        begun, endings = _read(finished.stdout, limits)
        if len(endings) == count:
            return [lost.get(k, ending) for k, ending in enumerate(endings)]
        why = _why(finished)
        if begun is None:
            return [lost.get(k, why) for k in range(count)]
        lost[begun] = why
    return [lost[k] for k in range(count)]


def _command(
    limits: Limits, count: int, skipped: Collection[int], cpu: int | None
) -> tuple[str, ...]:
    options: dict[str, object] = {
        "data": DATA,
        "limit": round(1e3 * limits.seconds),
        "budget": round(1e3 * limits.batch_seconds),
        "total": round(1e3 * _total_seconds(limits, count)),
        "rounds": limits.rounds,
        "memory": limits.memory_bytes,
        "tolerance": round(1e9 * limits.tolerance),
    }
    if cpu is not None:
        options["cpu"] = cpu
    given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    skips = [text for number in sorted(skipped) for text in ("--skip", str(number))]
    return (PROGRAM, *given, *skips)


def _total_seconds(limits: Limits, count: int) -> float:
    """When a program ends itself, whatever it does: more than any that works needs."""
    return _GRACE_SECONDS + limits.batch_seconds + _TIMED_CALLS * limits.seconds * count


def _wait_for(transport: Transport, seconds: float, error: DeviceError, tell: Tell) -> None:
    """Wait until a device answers.

    Raises:
        DeviceError: It does not in time.
    """
    end = time.monotonic() + seconds
    tell(f"waiting for {transport.name}: {error}")
    while not transport.reachable():
        if time.monotonic() > end:
            raise DeviceError(
                f"{transport.name} could not be reached for {seconds:g} s: {error}"
            ) from error
        time.sleep(_POLL_SECONDS)


def _read(stdout: str, limits: Limits) -> tuple[int | None, list[Ending]]:
    """The candidate that was called last, and the endings, from what a program printed."""
    begun: int | None = None
    endings: list[Ending] = []
    for text in stdout.splitlines():
        try:
            line: Mapping[str, Any] = json.loads(text)
        except json.JSONDecodeError:
            continue  # cut off where the device was lost, or what a shell has to say
        if "begin" in line:
            begun = int(line["begin"])
        elif "state" in line:
            endings.append(_ending(line, limits))
    return begun, endings


def _ending(line: Mapping[str, Any], limits: Limits) -> Ending:
    """How a candidate ended, by its line."""
    number = int(line["signal"])
    match line["state"]:
        case "ok" if line["times"]:
            return Ending("ok", times=tuple(1e-9 * max(1, int(t)) for t in line["times"]))
        case "wrong":
            error = 1e-9 * int(line["error"])
            return Ending("wrong", f"off by {error:.2g} of the largest value")
        case "memory":
            return Ending("memory", "the device has no memory for its operands")
        case "died" if number == signal.SIGALRM:
            return Ending("timeout", f"did not end in {limits.seconds:g} s")
        case "died" if number == signal.SIGKILL:
            return Ending("memory", "killed by the system, as when memory runs out")
        case "died" if int(line.get("peak", 0)) > _MOST_MEMORY * limits.memory_bytes:
            used, most = int(line["peak"]), limits.memory_bytes
            return Ending("memory", f"died with {used:,} B in use; {most:,} B are allowed")
    return Ending("crash", _signal_name(number) if number else "ended its process")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _why(finished: Finished) -> Ending:
    """Why a program ended without a report."""
    if finished.code is None:
        return Ending("timeout" if finished.timed_out else "crash", finished.reason)
    said = finished.stderr.strip().splitlines()
    if said:
        status: Status = "memory" if "out of memory" in said[-1] else "crash"
        return Ending(status, said[-1])
    return Ending("crash", f"the trial program ended with code {finished.code}")
