"""Android devices, through the `adb` client of Android's platform tools.

Read `AdbTransport` first. Programs run in `/data/local/tmp`: there a device
lets its owner run them.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from ago.errors import DeviceError
from ago.runtime.shell import ShellTransport
from ago.runtime.transport import Finished, run_locally

_ADVICE = {
    "unauthorized": "unlock the device and allow debugging from this computer",
    "offline": "reconnect it, or run `adb reconnect`",
    "no devices": "connect one with USB debugging on; see `adb devices`",
    "more than one": "name one: --runner adb:SERIAL",
}


class AdbTransport(ShellTransport):
    """An Android device.

    Args:
        serial: As `adb devices` lists it; empty where there is only one device.
        parent: Directory on the device in which AGO makes one of its own.
        connect_seconds: Wall time that a short command may take.

    Raises:
        DeviceError: There is no `adb`.
    """

    def __init__(
        self, serial: str = "", *, parent: str = "/data/local/tmp", connect_seconds: float = 15.0
    ) -> None:
        if shutil.which("adb") is None:
            raise DeviceError("adb is not on PATH: install Android's platform tools")
        super().__init__(f"adb:{serial}" if serial else "adb", parent, (), 300.0, connect_seconds)
        self._command = ("adb", "-s", serial) if serial else ("adb",)

    def shell(self, script: str, timeout_seconds: float) -> Finished:
        """Run a script on the device; see `ShellTransport.shell`."""
        return _advised(run_locally([*self._command, "shell", script], timeout_seconds))

    def _copy_to(self, path: Path, there: str, timeout_seconds: float) -> Finished:
        return _advised(run_locally([*self._command, "push", str(path), there], timeout_seconds))

    def _copy_from(self, there: str, path: Path, timeout_seconds: float) -> Finished:
        return _advised(run_locally([*self._command, "pull", there, str(path)], timeout_seconds))


def _advised(done: Finished) -> Finished:
    """The client's complaint with what to do about it."""
    if done.code == 0:
        return done
    for words, advice in _ADVICE.items():
        if words in done.stderr:
            complaint = next(line for line in done.stderr.splitlines() if words in line)
            return replace(done, reason=f"{complaint.rstrip('.')}: {advice}")
    return done
