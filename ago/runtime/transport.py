"""Getting programs onto a device and running them there.

Read `Transport` first. Every device is a directory that files are pushed to, where programs run
under a time limit, and from which files are fetched. `LocalTransport` is this machine, by itself or
behind a launcher such as qemu; ssh and adb have modules of their own.
"""

from __future__ import annotations

import contextlib
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
from typing import Protocol, runtime_checkable

from ago.errors import DeviceError

QEMU_AARCH64 = ("qemu-aarch64", "-cpu", "cortex-a76")
"""Launches AArch64 Linux programs where qemu-user is installed."""

_CLOSING_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program on a device ended.

    Attributes:
        code: Its exit code, negative where a signal ended it; None where nobody knows, since time
            ran out or the device was lost.
        stdout: What it wrote, as far as it arrived.
        stderr: Likewise.
        reason: Why there is no code; empty if there is one.
        timed_out: Whether time ran out.
    """

    code: int | None
    stdout: str
    stderr: str
    reason: str = ""
    timed_out: bool = False


@runtime_checkable
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

    def read(self, path: str) -> str:
        """The text of files of the device's system, such as those in `/sys`.

        Args:
            path: A path, in which `*` stands for any name.

        Returns:
            The texts one after the other; nothing where there is no such file.
        """

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

    def read(self, path: str) -> str:
        """The text of files; see `Transport.read`."""
        texts = []
        for found in sorted(Path("/").glob(path.lstrip("/"))):
            with contextlib.suppress(OSError):
                texts.append(found.read_text(errors="replace"))
        return "".join(texts)

    def close(self) -> None:
        """Delete the directory."""
        self._cleanup()


def run_locally(
    command: Sequence[str],
    timeout_seconds: float,
    directory: Path | None = None,
    *,
    stdin: Path | None = None,
    stdout: Path | None = None,
) -> Finished:
    """Run a command of this machine; when time runs out, it dies with all that it started.

    Args:
        command: Program and arguments.
        timeout_seconds: Wall time.
        directory: Where it runs; by default here.
        stdin: File that it reads; by default nothing.
        stdout: File that gets its output, which the result then lacks.

    Raises:
        DeviceError: It cannot be started.
    """
    with contextlib.ExitStack() as files:
        try:
            source = files.enter_context(stdin.open("rb")) if stdin else subprocess.DEVNULL
            sink = files.enter_context(stdout.open("wb")) if stdout else subprocess.PIPE
            process = subprocess.Popen(
                command,
                cwd=directory,
                stdin=source,
                stdout=sink,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise DeviceError(f"cannot run {command[0]}: {error}") from error
        return _end_of(process, timeout_seconds, Path(command[0]).name)


def _end_of(process: subprocess.Popen[bytes], timeout_seconds: float, name: str) -> Finished:
    code: int | None = None
    reason = ""
    out: bytes | None
    err: bytes | None
    try:
        out, err = process.communicate(timeout=timeout_seconds)
        code = process.returncode
    except subprocess.TimeoutExpired:
        reason = f"{name} did not end in {timeout_seconds:g} s"
        _kill_group(process)
        out, err = _what_arrived(process)
    except BaseException:
        _kill_group(process)
        process.communicate()
        raise
    said, complained = ((text or b"").decode(errors="replace") for text in (out, err))
    return Finished(code, said, complained, reason, timed_out=code is None)


def _what_arrived(process: subprocess.Popen[bytes]) -> tuple[bytes | None, bytes | None]:
    """The output of a killed process, though another one may still hold its pipes open."""
    try:
        return process.communicate(timeout=_CLOSING_SECONDS)
    except subprocess.TimeoutExpired as error:
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()
        return error.stdout, error.stderr


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()  # does nothing to one that has ended
