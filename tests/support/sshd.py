"""An ssh server of a test's own: on loopback, an unprivileged port, with keys made for it."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from ago.runtime.ssh import SshTransport

SSHD = shutil.which("sshd") or ("/usr/sbin/sshd" if Path("/usr/sbin/sshd").exists() else None)
_SEPARATION = Path("/run/sshd")


class Server:
    """Start it, kill it with all its connections, start it again."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = _free_port()
        for name in ("host", "user"):
            key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / name]
            subprocess.run(key, check=True)
        (directory / "config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {directory}/host\n"
            f"AuthorizedKeysFile {directory}/user.pub\nPidFile {directory}/pid\n"
            "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n"
        )
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [SSHD, "-D", "-f", self.directory / "config", "-E", self.directory / "log"]
        self.process = subprocess.Popen(command, start_new_session=True)
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.02)
        pytest.fail(f"sshd did not start: {(self.directory / 'log').read_text()}")

    def kill(self) -> None:
        """End the server and its connections; what they had started runs on."""
        assert self.process is not None
        for pid in [*_descendants(self.process.pid, "sshd"), self.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def transport(self, **settings) -> SshTransport:
        options = ["-p", str(self.port), "-i", str(self.directory / "user"), "-F", "/dev/null"]
        options += ["-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR"]
        options += ["-o", f"UserKnownHostsFile={self.directory}/known"]
        settings = {"parent": str(self.directory), "connect_seconds": 10.0} | settings
        return SshTransport("127.0.0.1", options, **settings)


def start_server(directory: Path) -> Server:
    if SSHD is None or shutil.which("ssh") is None:
        pytest.skip("needs sshd and ssh: apt install openssh-server")
    if os.getuid() == 0 and not _SEPARATION.is_dir():
        _SEPARATION.mkdir()  # where sshd, run by root, wants an empty directory
    server = Server(directory)
    server.start()
    return server


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _descendants(pid: int, name: str) -> list[int]:
    """Processes of one name below a process."""
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if name in Path(f"/proc/{child}/comm").read_text():
            found += [*_descendants(int(child), name), int(child)]
    return found
