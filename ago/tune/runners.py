"""Runners by the names that command lines and `ago.optimize` take.

Read `open_runner` first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from ago.errors import InputError
from ago.runtime.devices import KINDS, open_device
from ago.runtime.transport import Transport
from ago.target import Target
from ago.tune.device_runner import DeviceRunner
from ago.tune.emulated import EmulatedRunner
from ago.tune.estimated import EstimatedRunner
from ago.tune.hosts import HostsRunner
from ago.tune.local import LocalRunner
from ago.tune.trial import Runner
from ago.tune.trial_run import Tell, tell_nobody

ESTIMATED = "estimated"
"""The runner that needs no device."""

EMULATED = "emulated"
"""The runner that counts instructions."""

RUNNERS = f"{ESTIMATED}, {EMULATED}, {KINDS}"
"""What `open_runner` understands."""


@contextlib.contextmanager
def open_runner(names: Sequence[str], target: Target, tell: Tell = tell_nobody) -> Iterator[Runner]:
    """The runner of some devices.

    Args:
        names: `estimated`; `emulated`, which counts instructions; or devices as `open_device` names
            them; by default this machine. Several devices share the work and must be of one kind.
        target: Their CPU.
        tell: Told when a device is waited for.

    Raises:
        InputError: A name is of no such form, or of what cannot share the work.
        DeviceError: A client, or what estimates, is not installed.
        ToolchainError: Likewise.
    """
    if not names:
        with contextlib.closing(LocalRunner()) as local:
            yield local
    elif tuple(names) == (ESTIMATED,):
        yield EstimatedRunner(target)
    elif tuple(names) == (EMULATED,):
        yield EmulatedRunner(target)
    else:
        runners = [DeviceRunner(_device(name), tell=tell) for name in names]
        if len(runners) == 1:
            with contextlib.closing(runners[0]) as one:
                yield one
        else:
            with contextlib.closing(HostsRunner(runners)) as several:
                yield several


def _device(name: str) -> Transport:
    """A device that measures, perhaps with others."""
    if name in (ESTIMATED, EMULATED):
        raise InputError(f"runner {name!r} shares no work: give it alone")
    try:
        return open_device(name)
    except InputError as error:
        raise InputError(f"{name!r} names no runner: expected one of {RUNNERS}") from error
