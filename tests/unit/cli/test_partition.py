"""`ago partition`: text, data and drawing."""

import json
from pathlib import Path

import pytest


@pytest.mark.parametrize("partitioner", ["affix", "exact", "relay"])
def test_the_partitioners_stand_side_by_side(invoke, model: Path, partitioner: str) -> None:
    result = invoke("partition", model, "--dim", "batch=1", "--partitioner", partitioner)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[1].split()[3:5] == ["Conv", "Clip"]
    assert [line.split()[0] for line in lines if "(" in line] == [
        "this",
        "affix",
        "exact",
        "relay",
    ]


def test_a_threshold_cuts(invoke, model: Path) -> None:
    shown = invoke("partition", model, "--dim", "batch=1", "--weight-threshold", "0", "--json")
    data = json.loads(shown.stdout)
    assert data["threshold"] == 0
    assert len(data["subgraphs"]) == 3


def test_relay_takes_no_threshold(invoke, model: Path) -> None:
    args = ("--partitioner", "relay", "--weight-threshold", "9")
    result = invoke("partition", model, "--dim", "batch=1", *args)
    assert result.exit_code == 1
    assert "weight_threshold goes with" in result.stderr


def test_a_drawing(invoke, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "drawing.svg"
    result = invoke("partition", model, "--dim", "batch=1", "--svg", path)
    assert f"wrote {path}" in result.stdout
    assert path.read_text(encoding="utf-8").startswith("<svg ")
