"""This machine as a device: programs run apart, and die with what they started."""

import os
import signal
import time
from pathlib import Path

import pytest

from ago.errors import DeviceError
from ago.runtime.transport import LocalTransport


@pytest.fixture
def here():
    transport = LocalTransport()
    yield transport
    transport.close()


def program(directory: Path, text: str) -> dict[str, Path]:
    path = directory / "source"
    path.write_text(f"#!/bin/sh\n{text}\n")
    return {"go": path}


def test_push_run_fetch_and_remove(tmp_path, here):
    here.push(program(tmp_path, 'echo "$1"; echo no >&2; echo kept > out; exit 5'))
    done = here.run(["go", "a b"], 10)
    assert (done.code, done.stdout, done.stderr, done.reason) == (5, "a b\n", "no\n", "")
    here.fetch("out", tmp_path / "back")
    assert (tmp_path / "back").read_text() == "kept\n"
    here.remove(["out", "never"])
    with pytest.raises(DeviceError, match="cannot fetch out"):
        here.fetch("out", tmp_path / "back")
    assert here.reachable()


def test_a_signal_is_a_negative_code(tmp_path, here):
    here.push(program(tmp_path, "kill -9 $$"))
    assert here.run(["go"], 10).code == -9


def test_time_runs_out_for_a_program_and_its_children(tmp_path, here):
    here.push(program(tmp_path, f"echo begun; sleep 60 & echo $! > {tmp_path}/pid; wait"))
    done = here.run(["go"], 0.5)
    assert (done.code, done.timed_out, done.stdout) == (None, True, "begun\n")
    assert "did not end in 0.5 s" in done.reason
    child = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    for _ in range(100):
        if not child.exists() or ") Z " in child.read_text():
            return
        time.sleep(0.02)
    pytest.fail("its child still runs")


def test_time_runs_out_though_another_session_holds_the_pipe(tmp_path, here):
    here.push(program(tmp_path, f"echo begun; setsid sleep 9 & echo $! > {tmp_path}/pid; wait"))
    assert here.run(["go"], 0.3).timed_out
    holder = int((tmp_path / "pid").read_text())
    os.kill(holder, signal.SIGKILL)  # it is still there: nobody waited for it


def test_what_is_not_there_cannot_run(tmp_path, here):
    with pytest.raises(DeviceError, match="cannot run"):
        here.run(["nothing"], 1)
    with pytest.raises(DeviceError, match="cannot copy"):
        here.push({"go": tmp_path / "nothing"})


def test_the_directory_goes_with_the_transport(tmp_path):
    transport = LocalTransport()
    transport.push(program(tmp_path, "pwd"))
    directory = Path(transport.run(["go"], 10).stdout.strip())
    assert directory.is_dir()
    transport.close()
    assert not directory.exists()
