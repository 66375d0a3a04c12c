"""Clock and temperature of a device, and what is said when it slowed down."""

import pytest

from ago.errors import DeviceError, InputError
from ago.runtime.adb import AdbTransport
from ago.runtime.condition import Condition, Visit
from ago.runtime.devices import open_device
from ago.runtime.ssh import SshTransport
from ago.runtime.transport import LocalTransport


class Readable:
    """A device whose system has only some files."""

    name = "board"

    def __init__(self, **files: str) -> None:
        self.files = files

    def read(self, path: str) -> str:
        return next((text for word, text in self.files.items() if word in path), "")


def test_the_fastest_core_and_the_hottest_sensor_count():
    board = Readable(cpufreq="1800000\n2400000\n", thermal="45100\n61500\n-40000\n200000\n")
    assert Condition.of(board) == Condition(2400.0, 61.5)
    assert str(Condition.of(board)) == "2400 MHz, 62 °C"


def test_a_device_that_tells_nothing():
    silent = Condition.of(Readable(thermal="cat: Permission denied\n"))
    assert silent == Condition()
    assert "neither" in str(silent)
    assert Visit("board", silent, silent).warning == ""


def test_a_lower_clock_is_warned_of():
    visit = Visit("board", Condition(2400.0, 50.0), Condition(1500.0, 85.0))
    assert "2400 MHz, 50 °C to 1500 MHz, 85 °C" in visit.warning
    assert "warning: " in str(visit)


def test_slower_runs_are_warned_of():
    condition = Condition(2400.0)
    assert "1.30 x as long" in Visit("board", condition, condition, 1.3).warning
    assert Visit("board", condition, condition, 1.05).warning == ""


def test_this_machine_can_be_read():
    device = LocalTransport()
    assert device.read("/proc/sys/kernel/ostyp*") == "Linux\n"
    assert device.read("/no/such/*") == ""
    assert isinstance(Condition.of(device), Condition)
    device.close()


def test_devices_have_names(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert isinstance(open_device("local"), LocalTransport)
    assert open_device("ssh:me@pi").name == "me@pi"
    assert isinstance(open_device("ssh:me@pi"), SshTransport)
    assert isinstance(open_device("adb"), AdbTransport)
    assert open_device("adb:FA7A").name == "adb:FA7A"


@pytest.mark.parametrize("name", ["", "ssh", "ssh:", "ssh:-oProxyCommand=x", "pi", "local:1"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(InputError, match="names no device: expected one of local, qemu"):
        open_device(name)


def test_a_missing_emulator_is_told(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(DeviceError, match="qemu-aarch64 is not on PATH"):
        open_device("qemu")
