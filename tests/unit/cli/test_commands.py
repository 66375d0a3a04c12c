"""What each command prints and writes."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import onnx
import pytest
from onnx import helper

from ago.cli import main
from ago.target import TARGETS
from ago.version import __version__
from tests.support.onnx_models import make_model


def test_version(invoke) -> None:
    assert invoke("--version").stdout == f"ago {__version__}\n"


def test_the_package_is_a_program() -> None:
    command = [sys.executable, "-m", "ago", "targets"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("name ")


@pytest.mark.parametrize("command", ["optimize", "tune", "run", "verify", "show", "targets"])
def test_help_of_a_command(invoke, command: str) -> None:
    assert command in invoke("--help").stdout
    result = invoke(command, "-h")
    assert result.exit_code == 0
    assert "--json" in result.stdout
    assert "Examples:" in result.stdout


def leaves(command: click.Command, *names: str) -> Iterator[tuple[str, ...]]:
    """The words of all commands that have none below."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from leaves(inner, *names, name)
    else:
        yield names


@pytest.mark.parametrize("words", [*leaves(main)], ids=" ".join)
def test_every_help_has_examples(invoke, words: tuple[str, ...]) -> None:
    _, found, text = invoke(*words, "--help").stdout.partition("Examples:\n")
    assert found
    assert text.lstrip().startswith(f"ago {' '.join(words)}")


def test_targets(invoke) -> None:
    listed = json.loads(invoke("targets", "--json").stdout)
    assert [target["name"] for target in listed] == ["host", *TARGETS]
    assert listed[0]["runs_here"]
    table = invoke("targets").stdout
    assert all(name in table for name in TARGETS)


def test_optimize_sums_up(invoke, model: Path) -> None:
    result = invoke("optimize", model, "--dim", "batch=1", "--json")
    assert result.exit_code == 0
    summary = json.loads(result.stdout)
    assert summary["inputs"] == {"image": [1, 3, 4, 4]}
    assert summary["outputs"] == {"y": [1, 5, 1, 1]}
    assert summary["library_bytes"] > 0
    assert summary["files"] == []
    text = invoke("optimize", model, "--dim", "batch=1").stdout
    assert "image f32[1, 3, 4, 4]" in text
    assert "workspace" in text


def test_optimize_writes_all_that_a_user_needs(invoke, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = invoke(
        "optimize", model, "--dim", "batch=1", "--target", "portable", "-o", out, "--json"
    )
    assert result.exit_code == 0
    summary = json.loads(result.stdout)
    name, written = summary["model"], {Path(file).name for file in summary["files"]}
    assert {f"{name}.c", f"{name}.h", f"{name}.weights", "ago_runtime.h", "ago_mem.c"} <= written
    assert any(file.startswith(f"lib{name}.") for file in written)
    assert (out / f"{name}.weights").stat().st_size == summary["weights_bytes"]


def test_profile_prints_a_line_a_step(invoke, model: Path) -> None:
    arguments = ("profile", model, "--dim", "batch=1", "--rounds", 1)
    report = json.loads(invoke(*arguments, "--json").stdout)
    assert report["rounds"] == 1
    lines = invoke(*arguments).stdout.splitlines()
    assert len(lines) == len(report["steps"]) + 3
    assert "Conv" in report["operators_estimated"]


def test_run_takes_and_writes_arrays(invoke, model: Path, tmp_path: Path) -> None:
    image = np.arange(48, dtype=np.float32).reshape(1, 3, 4, 4)
    np.save(tmp_path / "image.npy", image)
    result = invoke(
        *("run", model, "--dim", "batch=1", "--repeat", 3, "--json"),
        *("--input", f"image={tmp_path}/image.npy", "--output", tmp_path / "out.npz"),
    )
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    expected = image.sum(axis=1).mean()
    assert report["runs"] == 3
    assert 0 < report["min_ms"] <= report["median_ms"]
    assert report["outputs"]["y"]["mean"] == expected
    with np.load(tmp_path / "out.npz") as arrays:
        assert arrays["y"].tolist() == np.full((1, 5, 1, 1), expected).tolist()


def test_run_with_another_shape_and_random_inputs(invoke, model: Path) -> None:
    result = invoke("run", model, "--shape", "image=2,3,7,7")
    assert result.exit_code == 0
    assert "f32[2, 5, 1, 1]" in result.stdout
    assert "median of 1" in result.stdout


def test_verify(invoke, model: Path) -> None:
    result = invoke("verify", model, "--dim", "batch=1", "--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["max_error"] < 1e-5
    assert [step["index"] for step in report["steps"]] == list(range(len(report["steps"])))
    assert invoke("verify", model, "--dim", "batch=1").stdout.startswith("verified: ")


def test_threads_share_a_run(invoke) -> None:
    options = ("tiny_mobilenet", "--dim", "size=64", "--json")
    one, two = (invoke("run", *options, "--threads", n) for n in "12")
    assert one.exit_code == two.exit_code == 0
    outputs = [json.loads(run.stdout)["outputs"] for run in (one, two)]
    assert outputs[0] == outputs[1]
    assert "threads=0" in invoke("run", *options, "--threads", "0").stderr


def test_built_in_networks_need_no_file(invoke) -> None:
    result = invoke("show", "tiny_mobilenet", "--after", "partition")
    assert "subgraphs" in result.stdout


def test_sizes_of_built_in_networks(invoke) -> None:
    sizes = ("--dim", "batch=3", "--dim", "size=16", "--dim", "classes=7")
    result = invoke("show", "tiny_mobilenet", *sizes, "--after", "import")
    assert "input: f32[3,3,16,16]" in result.stdout
    assert "-> f32[3,7]" in result.stdout


def test_inputs_that_are_fixed_to_a_value(invoke, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["r"]),
        helper.make_node("Mul", ["r", "factor"], ["s"]),
        helper.make_node("Add", ["s", "mask"], ["y"]),
    ]
    shapes = {"x": [2, 3], "shape": [2], "factor": [], "mask": [3, 2]}
    dtypes = {"shape": onnx.TensorProto.INT64}
    model, mask = tmp_path / "net.onnx", tmp_path / "mask.npy"
    onnx.save(make_model(nodes, shapes, ["y"], dtypes=dtypes), model)
    np.save(mask, np.ones((3, 2), np.float32))
    values = ("shape=3,-1", "factor=0.5", f"mask={mask}")
    options = [text for value in values for text in ("--constant", value)]
    result = json.loads(invoke("optimize", model, *options, "--json").stdout)
    assert result["inputs"] == {"x": [2, 3]}
    assert result["outputs"] == {"y": [3, 2]}
