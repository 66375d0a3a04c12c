"""Runners by the names that command lines and `ago.optimize` take.

Read `open_runner` first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from ago.runtime.devices import KINDS, open_device
from ago.target import Target
from ago.tune.device_runner import DeviceRunner
from ago.tune.emulated import EmulatedRunner
from ago.tune.estimated import EstimatedRunner
from ago.tune.hosts import HostsRunner
from ago.tune.local import LocalRunner
from ago.tune.trial import Runner

ESTIMATED = "estimated"
"""The runner that needs no device."""

EMULATED = "emulated"
"""The runner that counts instructions."""

RUNNERS = f"{ESTIMATED}, {EMULATED}, {KINDS}"
"""What `open_runner` understands."""


@contextlib.contextmanager
def open_runner(names: Sequence[str], target: Target) -> Iterator[Runner]:
    """The runner of some devices.

    Args:
        names: `estimated`; `emulated`, which counts instructions; or devices as `open_device` names
            them; by default this machine. Several devices share the work and must be of one kind.
        target: Their CPU.

    Raises:
        InputError: A name is of no such form.
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
        runners = [DeviceRunner(open_device(name)) for name in names]
        if len(runners) == 1:
            with contextlib.closing(runners[0]) as one:
                yield one
        else:
            with contextlib.closing(HostsRunner(runners)) as several:
                yield several
