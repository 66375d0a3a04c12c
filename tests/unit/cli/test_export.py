"""`ago export`: the folder, its options, what it prints."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from ago.target import host_arch


def test_a_folder_and_its_report(invoke, model: Path, tmp_path: Path) -> None:
    arguments = ("export", model, "--dim", "batch=1", "--target", "cortex-a76", "--out", tmp_path)
    result = invoke(*arguments, "--name", "eye", "--memory", "--json")
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary["model"] == "eye"
    assert {"eye.h", "eye.weights", "Makefile", "CMakeLists.txt", "main.c"} <= set(summary["files"])
    assert summary["weights_bytes"] == (tmp_path / "eye.weights").stat().st_size
    assert json.loads((tmp_path / "memory.json").read_text()) == summary["memory"]
    assert (tmp_path / "memory.html").read_text().startswith("<!doctype html>")
    assert "above the lower bound" in (tmp_path / "memory.txt").read_text()
    text = invoke(*arguments).stdout
    assert f"make -C {tmp_path}" in text


@pytest.mark.parametrize(("target", "arch"), [("cortex-a76", "aarch64"), ("x86-64-v3", "x86_64")])
def test_what_builds_the_folder_is_printed_for_a_shell(
    invoke, model: Path, tmp_path: Path, target: str, arch: str
) -> None:
    out = tmp_path / "my folder"
    arguments = ("export", model, "--dim", "batch=1", "--name", "eye", "--target", target)
    (line,) = [
        line for line in invoke(*arguments, "--out", out).stdout.splitlines() if "make -C" in line
    ]
    words = ["next", "make", "-C", str(out)]
    if arch != host_arch():
        words += [f"CROSS={arch}-linux-gnu", "libraries"]
    assert shlex.split(line) == words


def test_files_of_somebody_else_are_kept(invoke, model: Path, tmp_path: Path) -> None:
    (tmp_path / "memory.txt").write_text("mine")
    arguments = ("export", model, "--dim", "batch=1", "--out", tmp_path, "--memory")
    result = invoke(*arguments)
    assert result.exit_code != 0
    assert "memory.txt; choose another folder, or --overwrite" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["memory.txt"]
    assert invoke(*arguments, "--overwrite").exit_code == 0
    assert (tmp_path / "memory.txt").read_text() != "mine"
    assert invoke(*arguments[:-1]).exit_code == 0
    assert not (tmp_path / "memory.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--weights", "zip"), "'zip' is not one of 'file', 'incbin', 'array'"),
        (("--threads", "0"), "threads=0: expected 1 to"),
    ],
)
def test_wrong_options_are_refused(invoke, model: Path, tmp_path: Path, arguments, message) -> None:
    result = invoke("export", model, "--dim", "batch=1", "--out", tmp_path / "x", *arguments)
    assert result.exit_code != 0
    assert message in result.stderr
    assert not (tmp_path / "x").exists()
