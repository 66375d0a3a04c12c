"""Getting programs onto a device and running them there.

Read `Transport` first. Every device is a directory that files are pushed to, where programs run
under a time limit, and from which files are fetched. `LocalTransport` is this machine, by itself or
behind a launcher such as qemu; ssh and adb have modules of their own.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ago.errors import DeviceError
from ago.runtime.device import QEMU_AARCH64


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program on a device ended.

    Attributes:
        code: Its exit code, negative where a signal ended it; None where nobody knows, since time
            ran out or the device was lost.
        stdout: What it wrote, as far as it arrived.
        stderr: Likewise.
        reason: Why there is no code; empty if there is one.
    """

    code: int | None
    stdout: str
    stderr: str
    reason: str = ""


class Transport(Protocol):
    """A device that runs programs."""

    @property
    def name(self) -> str:
        """The device, for people and for the database."""

    def reachable(self) -> bool:
        """Whether the device answers."""

    def push(self, files: Mapping[str, Path]) -> None:
        """Copy files to the device; they may be executed there.

        Args:
            files: By their name there, a plain file name.

        Raises:
            DeviceError: They could not be copied: says why.
        """

    def run(self, command: Sequence[str], timeout_seconds: float) -> Finished:
        """Run a program that was pushed.

        Args:
            command: Its name there, and its arguments.
            timeout_seconds: Wall time after which it is killed.

        Raises:
            DeviceError: It could not be started: the device cannot be reached or refuses.
        """

    def fetch(self, name: str, to: Path) -> None:
        """Copy a file from the device.

        Raises:
            DeviceError: It is not there, or the device cannot be reached.
        """

    def remove(self, names: Sequence[str]) -> None:
        """Delete files on the device; what cannot be deleted stays."""

    def close(self) -> None:
        """Let go of the device and of what was pushed to it."""


class LocalTransport:
    """This machine: files are copied to a temporary directory.

    Args:
        launcher: Command put in front of every program, such as `QEMU_AARCH64`.
    """

    def __init__(self, launcher: Sequence[str] = ()) -> None:
        self._launcher = tuple(launcher)
        self._directory = Path(tempfile.mkdtemp(prefix="ago-device-"))
        self._cleanup = weakref.finalize(self, shutil.rmtree, self._directory, ignore_errors=True)

    @classmethod
    def qemu(cls) -> LocalTransport:
        """AArch64 Linux programs under qemu-user.

        Raises:
            DeviceError: It is not installed.
        """
        if shutil.which(QEMU_AARCH64[0]) is None:
            raise DeviceError(f"{QEMU_AARCH64[0]} is not on PATH: `apt install qemu-user`")
        return cls(QEMU_AARCH64)

    @property
    def name(self) -> str:
        """The host's name, and what emulates."""
        host = platform.node() or "localhost"
        return f"{host} {Path(self._launcher[0]).name}" if self._launcher else host

    def reachable(self) -> bool:
        """Always; see `Transport.reachable`."""
        return True

    def push(self, files: Mapping[str, Path]) -> None:
        """Copy files; see `Transport.push`."""
        try:
            for name, path in files.items():
                there = self._directory / name
                shutil.copyfile(path, there)
                there.chmod(0o755)
        except OSError as error:
            raise DeviceError(f"cannot copy {path} to {there}: {error}") from error

    def run(self, command: Sequence[str], timeout_seconds: float) -> Finished:
        """Run a program in a process group of its own; see `Transport.run`."""
        program = str(self._directory / command[0])
        return run_locally(
            [*self._launcher, program, *command[1:]], timeout_seconds, self._directory
        )

    def fetch(self, name: str, to: Path) -> None:
        """Copy a file back; see `Transport.fetch`."""
        try:
            shutil.copyfile((self._directory / name), to)
        except OSError as error:
            raise DeviceError(f"cannot fetch {name}: {error}") from error

    def remove(self, names: Sequence[str]) -> None:
        """Delete files; see `Transport.remove`."""
        for name in names:
            (self._directory / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Delete the directory."""
        self._cleanup()


def run_locally(
    command: Sequence[str],
    timeout_seconds: float,
    directory: Path | None = None,
    stdin: bytes = b"",
) -> Finished:
    """Run a command of this machine; when time runs out, it dies with all that it started.

    Args:
        command: Program and arguments.
        timeout_seconds: Wall time.
        directory: Where it runs; by default here.
        stdin: What it reads.

    Raises:
        DeviceError: It cannot be started.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise DeviceError(f"cannot run {command[0]}: {error}") from error
    code: int | None = None
    reason = ""
    try:
        stdout, stderr = process.communicate(stdin, timeout=timeout_seconds)
        code = process.returncode
    except subprocess.TimeoutExpired:
        reason = f"{Path(command[0]).name} did not end in {timeout_seconds:g} seconds"
        _kill_group(process)
        stdout, stderr = process.communicate()
    except BaseException:
        _kill_group(process)
        process.communicate()
        raise
    return Finished(code, stdout.decode(errors="replace"), stderr.decode(errors="replace"), reason)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()  # does nothing to one that has ended
