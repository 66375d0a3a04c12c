"""The tool that times AGO on a device beside what is installed there."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import helper

from ago.runtime.condition import Condition
from tests.support.onnx_models import make_model
from tools.device_bench import Result, main, table

COOL = Condition(2000.0, 40.0)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    layer = helper.make_node("MatMul", ["x", "w"], ["y"])
    made = make_model([layer], {"x": (4, 8)}, ["y"], {"w": np.ones((8, 16), np.float32)})
    onnx.save(made, tmp_path / "layer.onnx")
    return tmp_path / "layer.onnx"


def bench(model: Path) -> tuple[dict[str, Any], str]:
    out = model.with_suffix(".json")
    arguments = [str(model), "--rounds", "2", "--runs", "1", "--out", str(out)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    (result,) = json.loads(out.read_text())["results"]
    return result, done.output


def test_peers_that_are_installed_take_turns(model):
    result, output = bench(model)
    assert result["model"] == "layer"
    assert {"AGO", "ONNX Runtime"} <= result["milliseconds"].keys()
    assert all(len(times) == 2 for times in result["milliseconds"].values())
    assert "| layer |" in output


def test_where_the_script_cannot_run_ago_is_timed_alone(model, tmp_path, monkeypatch):
    broken = tmp_path / "device_peers.py"
    broken.write_text("#!/bin/sh\necho 'env: python3: not found' >&2\nexit 127\n")
    monkeypatch.setattr("tools.device_bench._PEERS", broken)
    result, _ = bench(model)
    assert list(result["milliseconds"]) == ["AGO"]
    assert result["missing"] == {"peers": "env: python3: not found"}


def test_the_ratio_is_the_median_of_the_rounds():
    times = {"AGO": [2.0, 3.0, 9.0], "A": [4.0, 2.0, 3.0], "B": [1.0, 9.0, 9.0]}
    result = Result("net", times, {}, COOL, COOL)
    assert result.ratio == 2.0
    assert table([result]).splitlines()[-1] == "| net | 3.000 | 3.000 | 9.000 | 2.00 |"


def test_a_throttled_device_is_marked():
    result = Result("net", {"AGO": [1.0]}, {}, COOL, Condition(1200.0, 80.0))
    assert "| net (the clock fell) | 1.000 |  |" in table([result])
    assert result.to_dict()["throttled"] is True
