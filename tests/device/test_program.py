"""The static benchmark program: natively, and for AArch64 under qemu where that is installed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ago.runtime.build import build
from ago.target import TARGETS, resolve_target, runs_on_host
from tests.support.small_model import expected, small_artifact, some_input

QEMU = shutil.which("qemu-aarch64")
HOST = resolve_target("host")


def launcher(target) -> list[str]:
    if runs_on_host(target):
        return []
    if target.arch != "aarch64" or QEMU is None:
        pytest.skip("needs qemu-aarch64")
    return [QEMU, "-cpu", "cortex-a76"]


def start(program: Path, target, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*launcher(target), str(program), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture(params=[HOST, TARGETS["cortex-a76"]], ids=["host", "cortex-a76"])
def target(request):
    launcher(request.param)
    return request.param


@pytest.mark.parametrize("embed", [True, False], ids=["embedded", "file"])
def test_runs_and_reports(tmp_path, toolchain, target, embed):
    artifact = small_artifact(target)
    program = build(artifact, "executable", tmp_path / "b", toolchain, embed_weights=embed)
    some_input().tofile(tmp_path / "x")
    (tmp_path / "w").write_bytes(artifact.weights_image)
    weights = [] if embed else ["--weights", tmp_path / "w"]
    files = ["--input", tmp_path / "x", "--output", tmp_path / "y"]
    done = start(program, target, *weights, *files, "--runs", 2, "--warmup", 0)
    assert done.stderr == ""
    assert done.returncode == 0
    assert np.array_equal(np.fromfile(tmp_path / "y", np.float32), expected(some_input())[0])
    report = json.loads(done.stdout.splitlines()[-1])
    assert 0 <= report["min_ms"] <= report["median_ms"]
    assert report["min_ms"] <= report["mean_ms"] < 1000
    assert report["min_ms"] == min(report["early_ms"], report["late_ms"])
    for name in ("min_ms", "median_ms", "mean_ms", "early_ms", "late_ms"):
        del report[name]
    assert report == {"model": "small", "runs": 2, "workspace_bytes": 64, "weights_bytes": 384}


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("program") / "bench"
    return build(small_artifact(HOST), "executable", out, embed_weights=False)


def test_inputs_default_to_a_fixed_pattern(tmp_path, program):
    artifact = small_artifact(HOST)
    (tmp_path / "w").write_bytes(artifact.weights_image)
    for name in ("first", "second"):
        done = start(program, HOST, "--weights", tmp_path / "w", "--output", tmp_path / name)
        assert done.returncode == 0
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    state, values = 0, []
    for _ in range(7):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        values.append((state >> 40) / 2**23 - 1)
    x = np.array([values], np.float32)
    assert np.allclose(np.fromfile(tmp_path / "first", np.float32), expected(x)[0], atol=1e-5)
    assert (np.fromfile(tmp_path / "first", np.float32) > 0).any()


def test_steps_are_timed(tmp_path, program):
    (tmp_path / "w").write_bytes(small_artifact(HOST).weights_image)
    done = start(program, HOST, "--weights", tmp_path / "w", "--passes", 3)
    *steps, report = map(json.loads, done.stdout.splitlines())
    assert [step["step"] for step in steps] == [0, 1]
    assert all(step["min_ms"] >= 0 for step in steps)
    assert report["runs"] == 10


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--runs"], 2, "usage: bench"),
        (["--speed", "max"], 2, "unknown option --speed"),
        (["--runs", "0"], 2, "not a usable count: 0"),
        (["--runs", "1e3"], 2, "not a usable count: 1e3"),
        (["--runs", "99999999999999999999"], 2, "not a usable count"),
        ([], 2, "give --weights FILE"),
        (["--weights", "missing"], 1, "cannot open missing"),
        (["--weights", "short"], 1, "file too short: short"),
        (["--weights", "long"], 1, "file too long: long"),
        (["--weights", "zeros"], 3, "refused to run: the weights do not begin as a file of"),
        (["--weights", "good", "--input", "short"], 1, "file too short: short"),
        (["--weights", "good", "--input", "x", "--input", "x"], 2, "one --input for every input"),
        (["--weights", "good", "--output", "a", "--output", "b"], 2, "more --output files"),
        (["--weights", "good", "--output", "missing/y"], 1, "cannot write missing/y"),
    ],
)
def test_wrong_usage(tmp_path, monkeypatch, program, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good").write_bytes(small_artifact(HOST).weights_image)
    sizes = {"zeros": 384, "short": 10, "long": 385, "x": 28}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(bytes(size))
    done = start(program, HOST, *arguments)
    assert done.returncode == code
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert done.stdout == ""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the program uses the system's libc")
def test_it_is_static_and_small(tmp_path, toolchain):
    program = build(small_artifact(HOST), "executable", tmp_path / "bench", toolchain)
    data = program.read_bytes()
    assert b"ld-linux" not in data
    assert b"ld-musl" not in data
    assert len(data) < 40_000
