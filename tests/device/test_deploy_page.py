"""The commands of docs/deploy.md, run one after another in one folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.device.test_cross_build import write_model

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))


def blocks(section: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


def run_section(name: str, folder: Path) -> str:
    """Run the commands of a section; what they print."""
    write_model(folder / "model.onnx")
    (folder / "tools").symlink_to(ROOT / "tools")
    programs = folder / "bin"
    programs.mkdir()
    for program, arguments in {"ago": "-m ago", "python": ""}.items():
        script = programs / program
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        script.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    script = "set -e\n" + "".join(blocks(SECTIONS[name], "sh"))
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("cc")), reason="needs cmake, cc")
def test_cmake_project(tmp_path: Path) -> None:
    section = SECTIONS["A CMake project"]
    (tmp_path / "app.c").write_text(*blocks(section, "c"))
    (tmp_path / "CMakeLists.txt").write_text(*blocks(section, "cmake"))
    printed = run_section("A CMake project", tmp_path)
    float(printed.splitlines()[-1])


@pytest.mark.skipif(not (shutil.which("make") and shutil.which("cc")), reason="needs make, cc")
def test_a_pool_of_the_callers_own(tmp_path: Path) -> None:
    (tmp_path / "app.c").write_text(*blocks(SECTIONS["Several threads"], "c"))
    printed = run_section("Several threads", tmp_path)
    float(printed.splitlines()[-1])


@pytest.mark.parametrize(
    ("section", "made"),
    [
        ("A Raspberry Pi or another Linux board", ["pi/model_bench", "pi/libmodel.so"]),
        ("An Android application", ["android/libmodel.so", "android/model.weights"]),
        ("macOS", ["mac/libmodel.dylib", "mac/model_bench"]),
    ],
)
def test_commands_make_what_is_said(tmp_path: Path, section: str, made: list[str]) -> None:
    if section == "macOS" and sys.platform != "darwin":
        pytest.importorskip("ziglang")
    run_section(section, tmp_path)
    assert [name for name in made if not (tmp_path / name).exists()] == []
