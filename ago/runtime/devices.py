"""Devices by the names that command lines and `net.profile` take."""

from __future__ import annotations

from ago.errors import InputError
from ago.runtime.adb import AdbTransport
from ago.runtime.ssh import SshTransport
from ago.runtime.transport import LocalTransport, Transport

KINDS = "local, qemu, ssh:HOST, adb, adb:SERIAL"
"""What `open_device` understands."""


def open_device(name: str) -> Transport:
    """A device by name.

    Args:
        name: `local` for this machine, `qemu` for an emulated AArch64 Linux, `ssh:HOST`, `adb` for
            the only Android device, `adb:SERIAL` for one of several.

    Raises:
        InputError: The name is of no such form.
        DeviceError: The client or the emulator is not installed.
    """
    kind, _, rest = name.partition(":")
    match kind, rest:
        case "local", "":
            return LocalTransport()
        case "qemu", "":
            return LocalTransport.qemu()
        case "ssh", host if host and not host.startswith("-"):
            return SshTransport(host)
        case "adb", serial:
            return AdbTransport(serial)
    raise InputError(f"{name!r} names no device: expected one of {KINDS}")
