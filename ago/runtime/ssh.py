"""Devices that are reached by ssh, through the system's OpenSSH client.

Read `SshTransport` first. All that a user's `~/.ssh/config` says holds: names, keys, jump hosts.
One connection is kept open; where it breaks, the next command opens another.
"""

from __future__ import annotations

import shlex
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path

from ago.runtime.shell import ShellTransport
from ago.runtime.transport import Finished, run_locally

_KEPT_SECONDS = 120  # how long an idle connection stays open
_ALIVE_SECONDS = 5  # after three such spans without an answer a device is lost
_MOST_ALIVE = 3


class SshTransport(ShellTransport):
    """A host that runs programs, and needs no more than a shell.

    Args:
        host: As `ssh` takes it: `pi`, `user@192.168.1.7`, `ssh://pi:2222`.
        options: More options of `ssh`, such as `("-i", "key")`.
        parent: Directory on the host in which AGO makes one of its own.
        launcher: Command put in front of every program on the host.
        connect_seconds: Wall time that connecting, or a short command, may take.
    """

    def __init__(
        self,
        host: str,
        options: Sequence[str] = (),
        *,
        parent: str = "/tmp",
        launcher: Sequence[str] = (),
        connect_seconds: float = 15.0,
    ) -> None:
        super().__init__(host, parent, launcher, connect_seconds=connect_seconds)
        # Sockets have short names at most, and a directory under TMPDIR may be deep.
        sockets = Path(tempfile.mkdtemp(prefix="ago-ssh-", dir="/tmp"))
        wait = max(1, int(connect_seconds / 2))
        settings = {
            "BatchMode": "yes",
            "ControlMaster": "auto",
            "ControlPath": f"{sockets}/%C",
            "ControlPersist": _KEPT_SECONDS,
            "ConnectTimeout": wait,
            "ServerAliveInterval": _ALIVE_SECONDS,
            "ServerAliveCountMax": _MOST_ALIVE,
        }
        given = [text for name, value in settings.items() for text in ("-o", f"{name}={value}")]
        self._command = ("ssh", *given, *options)
        self._host = host
        self._hang_up = weakref.finalize(self, _hang_up, self._command, host, sockets)

    def shell(self, script: str, timeout_seconds: float) -> Finished:
        """Run a script on the host; see `ShellTransport.shell`."""
        return run_locally([*self._command, self._host, script], timeout_seconds)

    def close(self) -> None:
        """Delete what was pushed and hang up."""
        super().close()
        self._hang_up()

    def _copy_to(self, path: Path, there: str, timeout_seconds: float) -> Finished:
        command = [*self._command, self._host, f"cat > {shlex.quote(there)}"]
        return run_locally(command, timeout_seconds, stdin=path)

    def _copy_from(self, there: str, path: Path, timeout_seconds: float) -> Finished:
        command = [*self._command, self._host, f"cat {shlex.quote(there)}"]
        return run_locally(command, timeout_seconds, stdout=path)


def _hang_up(command: Sequence[str], host: str, sockets: Path) -> None:
    if any(sockets.iterdir()):
        run_locally([*command, "-O", "exit", host], _ALIVE_SECONDS)
    shutil.rmtree(sockets, ignore_errors=True)
