"""The ssh transport against a real server on loopback: what works, and what is lost."""

import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest

from ago.errors import DeviceError
from ago.runtime.transport import QEMU_AARCH64, run_locally
from ago.target import TARGETS, detect_host
from ago.tune import device_runner
from ago.tune.device_runner import DeviceRunner
from ago.tune.hosts import HostsRunner
from ago.tune.trial import Job
from ago.tune.trial_run import Limits
from tests.support.broken import job, make_broken, small_task
from tests.support.sshd import start_server

HOST = detect_host()
QUICK = Limits(seconds=0.5, rounds=5, batch_seconds=0.3, patience_seconds=10.0)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    # Names of sockets are short, and sshd wants a directory that others cannot write to.
    started = start_server(tmp_path_factory.mktemp("sshd"))
    yield started
    started.kill()


@pytest.fixture
def device(server):
    transport = server.transport()
    yield transport
    transport.close()


def script(directory: Path, name: str, text: str) -> dict[str, Path]:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    return {name: path}


def test_push_run_and_fetch(tmp_path, device):
    device.push(
        script(tmp_path, "go", 'echo "got $1"; echo bad >&2; printf "\\377\\0" > out; exit 3')
    )
    done = device.run(["go", "two words"], 10)
    assert (done.code, done.stdout, done.stderr) == (3, "got two words\n\n", "bad\n")
    device.fetch("out", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"\xff\0"
    device.remove(["out"])
    with pytest.raises(DeviceError, match="cannot fetch out"):
        device.fetch("out", tmp_path / "back")
    assert device.name == "127.0.0.1"
    assert device.read("/proc/version") == Path("/proc/version").read_text()
    assert device.read("/no/such/file") == ""


def test_a_signal_is_a_negative_code(tmp_path, device):
    device.push(script(tmp_path, "go", "kill -11 $$"))
    assert device.run(["go"], 10).code == -11


def test_a_program_that_hangs_is_killed_there_too(tmp_path, device):
    device.push(script(tmp_path, "go", f"echo $$ > {tmp_path}/pid; echo begun; sleep 60"))
    done = device.run(["go"], 1)
    assert (done.code, done.timed_out) == (None, True)
    assert done.stdout == "begun\n"
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            return
        time.sleep(0.02)
    pytest.fail(f"process {pid} is still there")


def test_a_host_that_is_not_there(tmp_path, server):
    away = server.transport()
    away._host = "127.0.0.2"
    assert not away.reachable()
    with pytest.raises(DeviceError, match=r"127\.0\.0\.1: cannot make .*refused"):
        away.push(script(tmp_path, "go", "true"))
    away.close()


def test_a_full_disk_is_told(tmp_path, server):
    full = tmp_path / "disk"
    full.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(full)]
    if os.getuid() != 0 or run_locally(mount, 10).code != 0:
        pytest.skip("needs the right to mount a small disk")
    try:
        device = server.transport(parent=str(full))
        runner = DeviceRunner(device, QUICK)
        outcomes = runner.run([Job(small_task(HOST), {}), Job(small_task(HOST, 48), {})])
        runner.close()
    finally:
        subprocess.run(["umount", full], check=True)
    for outcome in outcomes:
        assert outcome.status == "crash"
        assert "No space left on device" in outcome.reason


def test_trials_native(monkeypatch, device):
    monkeypatch.setattr(device_runner, "make_candidate", make_broken)
    runner = DeviceRunner(device, QUICK)
    task = small_task(HOST)
    kinds = ["", "hang", "wrong", "crash"]
    outcomes = runner.run([job(task, how, number) for number, how in enumerate(kinds)])
    assert [o.status for o in outcomes] == ["ok", "timeout", "wrong", "crash"]
    assert runner.host == "127.0.0.1"


@pytest.mark.skipif(shutil.which(QEMU_AARCH64[0]) is None, reason="needs qemu-aarch64")
def test_trials_aarch64(server):
    runner = DeviceRunner(server.transport(launcher=QEMU_AARCH64), Limits(rounds=2))
    (outcome,) = runner.run([Job(small_task(TARGETS["cortex-a76"]), {})])
    runner.close()
    assert outcome.status == "ok"


def test_a_server_killed_in_the_middle_costs_the_trial_that_ran(tmp_path, monkeypatch, server):
    monkeypatch.setattr(device_runner, "make_candidate", make_broken)
    transport = server.transport(parent=str(tmp_path), connect_seconds=4.0)
    limits = Limits(seconds=4.0, rounds=5, batch_seconds=0.3, patience_seconds=20.0)
    runner = DeviceRunner(transport, limits, jobs=1)
    task = small_task(HOST)
    killed = threading.Event()

    def reboot() -> None:
        while not list(tmp_path.glob("ago-*/ago.pid")):
            time.sleep(0.02)
        time.sleep(0.5)  # the first candidate is done, the second hangs
        server.kill()
        time.sleep(1.0)
        server.start()
        killed.set()

    thread = threading.Thread(target=reboot)
    thread.start()
    outcomes = runner.run([job(task), job(task, "hang", 1), job(task, number=2)])
    thread.join()
    runner.close()
    assert killed.is_set()
    assert [o.status for o in outcomes] == ["ok", "crash", "ok"], [o.reason for o in outcomes]
    assert "127.0.0.1 was lost" in outcomes[1].reason


def test_several_hosts_one_of_which_goes_away(server):
    good, gone = server.transport(), server.transport(connect_seconds=3.0)
    gone._host = "127.0.0.2"
    quick = Limits(rounds=4, batch_seconds=0.3, patience_seconds=0.0)
    runner = HostsRunner([DeviceRunner(gone, quick), DeviceRunner(good, quick)], batch=1)
    jobs = [Job(small_task(HOST, n), {}) for n in (32, 48, 64)]
    assert [o.status for o in runner.run(jobs)] == ["ok"] * 3
    runner.close()


def test_hosts_that_are_all_gone_are_an_error(server):
    gone = [server.transport(connect_seconds=3.0) for _ in range(2)]
    for transport in gone:
        transport._host = "127.0.0.2"
    quick = Limits(rounds=4, patience_seconds=0.0)
    runner = HostsRunner([DeviceRunner(transport, quick) for transport in gone], batch=1)
    with pytest.raises(DeviceError, match=r"127\.0\.0\.1|all devices are lost"):
        runner.run([Job(small_task(HOST, n), {}) for n in (32, 48, 64)])
    runner.close()
