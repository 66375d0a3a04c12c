"""Runners by name, and tuning with one that is not this machine."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import ago
from ago.errors import InputError
from ago.frontend import GraphBuilder
from ago.ir.graph import Graph
from ago.target import TARGETS, detect_host
from ago.tune.database import Database
from ago.tune.device_runner import DeviceRunner
from ago.tune.hosts import HostsRunner
from ago.tune.local import LocalRunner
from ago.tune.runners import open_runner

HOST = detect_host()
A76 = TARGETS["cortex-a76"]


def layer() -> Graph:
    b = GraphBuilder("layer")
    return b.build(b.relu(b.matmul(b.input("x", (6, 8)), b.constant([[0.5] * 16] * 8))))


def test_names_and_runners():
    with open_runner((), HOST) as here:
        assert isinstance(here, LocalRunner)
    with open_runner(("ssh:pi",), A76) as one:
        assert isinstance(one, DeviceRunner)
        assert one.host == "pi"
    with open_runner(("ssh:pi1", "ssh:pi2"), A76) as several:
        assert isinstance(several, HostsRunner)
        assert several.host == "pi1"
    with pytest.raises(InputError, match="names no device"), open_runner(("pi",), A76):
        pass


def test_tuning_on_a_device(tmp_path):
    file = tmp_path / "tuning.db"
    net = ago.optimize(layer(), trials=3, database=file, runner="local", reformer=False)
    with Database(file) as database:
        records = list(database.records())
    assert [record.status for record in records] == ["ok"] * 3
    assert net.artifact.target == HOST


def test_an_executor_and_a_device_are_too_many(tmp_path):
    with ThreadPoolExecutor(1) as pool, pytest.raises(InputError, match="not both"):
        ago.optimize(layer(), trials=3, executor=pool, runner="local")
