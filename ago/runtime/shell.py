"""Devices that are reached through a shell: what ssh and adb have in common.

Read `ShellTransport` first. A program is run by a small script that tells when it begins and with
what code it ended; so it does not matter what the client itself makes of a lost connection.
"""

from __future__ import annotations

import abc
import hashlib
import re
import shlex
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ago.errors import DeviceError
from ago.runtime.transport import Finished

_BEGIN = re.compile(r"^ago-begin\s*?\n", re.MULTILINE)
_END = re.compile(r"^ago-end (\d+)\s*$", re.MULTILINE)
_SIGNALLED = 128  # what a shell adds to the number of the signal that ended a program
_PID = "ago.pid"


class ShellTransport(abc.ABC):
    """A device with a shell; a directory of its own there.

    Args:
        name: The device, for people.
        parent: Directory on the device in which that directory is made.
        launcher: Command put in front of every program, such as `QEMU_AARCH64`.
        copy_seconds: Wall time that copying a file may take.
        connect_seconds: Wall time that a short command may take.
    """

    def __init__(
        self,
        name: str,
        parent: str,
        launcher: Sequence[str] = (),
        copy_seconds: float = 300.0,
        connect_seconds: float = 15.0,
    ) -> None:
        self._name = name
        self._launcher = tuple(launcher)
        self._copy_seconds = copy_seconds
        self._connect_seconds = connect_seconds
        self._directory = f"{parent.rstrip('/')}/ago-{uuid.uuid4().hex[:12]}"
        self._made = False
        self._pushed: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The device; see `Transport.name`."""
        return self._name

    @abc.abstractmethod
    def shell(self, script: str, timeout_seconds: float) -> Finished:
        """Run a script in the device's shell.

        Returns:
            What became of the client: its code is the script's only if the device was not lost.

        Raises:
            DeviceError: The client cannot be started.
        """

    @abc.abstractmethod
    def _copy_to(self, path: Path, there: str, timeout_seconds: float) -> Finished:
        """Copy a file to an absolute path on the device."""

    @abc.abstractmethod
    def _copy_from(self, there: str, path: Path, timeout_seconds: float) -> Finished:
        """Copy a file from an absolute path on the device."""

    def reachable(self) -> bool:
        """Whether the device answers; see `Transport.reachable`."""
        try:
            return self._ask("true").code == 0
        except DeviceError:
            return False

    def push(self, files: Mapping[str, Path]) -> None:
        """Copy files that are not there yet; see `Transport.push`."""
        digests = {name: _digest(path) for name, path in files.items()}
        if self._made and all(self._pushed.get(name) == digest for name, digest in digests.items()):
            return
        self._require(self._ask(f"mkdir -p {self._quoted()}"), f"make {self._quoted()}")
        if self._made and not self._pushed:
            self._kill()  # what a broken connection left behind
        self._made = True
        for name, path in files.items():
            self._pushed.pop(name, None)
            fresh = f"{name}.new"  # a program that runs cannot be written to, but replaced
            copied = self._copy_to(path, self._path(fresh), self._copy_seconds)
            self._require(copied, f"push {name}")
            new, place = self._quoted(fresh), self._quoted(name)
            self._require(self._ask(f"chmod 755 {new} && mv -f {new} {place}"), f"push {name}")
            self._pushed[name] = digests[name]

    def run(self, command: Sequence[str], timeout_seconds: float) -> Finished:
        """Run a program that was pushed; see `Transport.run`."""
        program = shlex.join([*self._launcher, f"./{command[0]}", *command[1:]])
        script = (
            f"cd {self._quoted()} || exit 1; echo $$ > {_PID}; echo ago-begin; "
            f"{program}; code=$?; echo; echo ago-end $code"
        )
        done = self.shell(script, timeout_seconds)
        begun = _BEGIN.search(done.stdout)
        if begun is None:
            self._pushed.clear()
            raise DeviceError(f"{self.name}: {_complaint(done)}")
        said = done.stdout[begun.end() :]
        ended = _END.search(said)
        if ended is not None:
            return Finished(_code(int(ended[1])), said[: ended.start()], done.stderr)
        self._pushed.clear()  # a device that was lost may have forgotten all
        if done.timed_out:
            self._kill()
            return replace(done, stdout=said)
        return Finished(None, said, done.stderr, f"{self.name} was lost: {_complaint(done)}")

    def fetch(self, name: str, to: Path) -> None:
        """Copy a file from the device; see `Transport.fetch`."""
        done = self._copy_from(self._path(name), to, self._copy_seconds)
        self._require(done, f"fetch {name}")

    def remove(self, names: Sequence[str]) -> None:
        """Delete files; see `Transport.remove`."""
        for name in names:
            self._pushed.pop(name, None)
            self._ask(f"rm -f {self._quoted(name)}")

    def read(self, path: str) -> str:
        """The text of files; see `Transport.read`."""
        return self._ask(f"cat {path} 2>/dev/null").stdout

    def close(self) -> None:
        """Delete the directory on the device, as far as it answers."""
        if self._made:
            self._ask(f"rm -rf {self._quoted()}")
            self._made = False
            self._pushed.clear()

    def _path(self, name: str) -> str:
        return f"{self._directory}/{name}"

    def _quoted(self, name: str = "") -> str:
        return shlex.quote(self._path(name) if name else self._directory)

    def _ask(self, script: str) -> Finished:
        """Run a short script."""
        return self.shell(script, self._connect_seconds)

    def _kill(self) -> None:
        """End what runs on the device: its shell leads its process group, and works in here."""
        self._ask(
            f"cd {self._quoted()} && pid=$(cat {_PID}) && "
            '[ "$(readlink /proc/$pid/cwd)" = "$(pwd -P)" ] && '
            "{ kill -9 -- -$pid || kill -9 $pid; }"
        )

    def _require(self, done: Finished, doing: str) -> None:
        if done.code != 0:
            self._pushed.clear()
            raise DeviceError(f"{self.name}: cannot {doing}: {_complaint(done)}")


def _complaint(done: Finished) -> str:
    """Why a client failed, in one line."""
    said = done.stderr.strip().splitlines()
    return done.reason or (said[-1] if said else f"exit code {done.code}")


def _code(code: int) -> int:
    """What a program's exit code is here: negative where a signal ended it."""
    return _SIGNALLED - code if code > _SIGNALLED else code


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()
