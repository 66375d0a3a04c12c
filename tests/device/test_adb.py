"""The adb transport against a scripted client: no Android device is involved."""

import pytest

from ago.errors import DeviceError
from ago.runtime.adb import AdbTransport
from ago.target import detect_host
from ago.tune.device_runner import DeviceRunner
from ago.tune.trial import Job
from ago.tune.trial_run import Limits
from tests.support.broken import small_task
from tests.support.scripted_adb import ScriptedAdb

HOST = detect_host()
SERIAL = "FA7A1A0301"
QUICK = Limits(rounds=3, batch_seconds=0.2, patience_seconds=0.2)


@pytest.fixture
def adb(tmp_path, monkeypatch) -> ScriptedAdb:
    return ScriptedAdb(tmp_path, monkeypatch)


@pytest.fixture
def device(tmp_path, adb):
    transport = AdbTransport(SERIAL, parent=str(tmp_path))
    yield transport
    adb.become("ok")
    transport.close()


def program(directory, text: str) -> dict:
    path = directory / "source"
    path.write_text(f"#!/bin/sh\n{text}\n")
    return {"go": path}


def test_push_run_and_fetch(tmp_path, adb, device):
    device.push(program(tmp_path, 'echo "got $1"; printf "\\377" > out; exit 4'))
    done = device.run(["go", "two words"], 10)
    assert (done.code, done.stdout) == (4, "got two words\n\n")
    device.fetch("out", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"\xff"
    assert device.name == f"adb:{SERIAL}"
    assert f"['-s', '{SERIAL}', 'push'" in adb.log()


def test_trials(device):
    runner = DeviceRunner(device, QUICK)
    (outcome,) = runner.run([Job(small_task(HOST), {})])
    assert outcome.status == "ok"


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("offline", "device offline: reconnect it"),
        ("unauthorized", "device unauthorized: unlock the device and allow debugging"),
        ("none", "no devices/emulators found: connect one with USB debugging"),
        ("several", "more than one device/emulator: name one"),
    ],
)
def test_what_the_client_says_is_told_with_a_way_out(tmp_path, adb, device, state, message):
    adb.become(state)
    assert not device.reachable()
    with pytest.raises(DeviceError, match=message):
        device.push(program(tmp_path, "true"))


def test_an_unknown_serial(tmp_path, adb):
    with pytest.raises(DeviceError, match="'other' not found"):
        AdbTransport("other").push(program(tmp_path, "true"))


def test_no_client(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(DeviceError, match="adb is not on PATH"):
        AdbTransport()


def test_a_device_lost_while_a_trial_runs_costs_that_trial(adb, device):
    runner = DeviceRunner(device, QUICK)
    adb.become("lost")
    first, second = runner.run([Job(small_task(HOST), {}), Job(small_task(HOST, 48), {})])
    assert first.status == "crash"
    assert f"adb:{SERIAL} was lost" in first.reason
    assert second.status == "ok"


def test_a_full_device_fails_the_trial(adb, device):
    adb.become("full")
    (outcome,) = DeviceRunner(device, QUICK).run([Job(small_task(HOST), {})])
    assert outcome.status == "crash"
    assert "No space left on device" in outcome.reason


def test_a_device_that_stays_offline_is_an_error(adb, device):
    adb.become("offline")
    with pytest.raises(DeviceError, match=f"adb:{SERIAL} could not be reached"):
        DeviceRunner(device, QUICK).run([Job(small_task(HOST), {})])
