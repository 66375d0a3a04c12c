"""The wheel: what is inside, and that it works away from the source tree."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ago.version import __version__

ROOT = Path(__file__).resolve().parents[2]

_USE = """
import sys
from pathlib import Path
import ago
from ago.runtime.sources import csrc_path
assert Path(ago.__file__).is_relative_to(sys.argv[1]), ago.__file__
assert csrc_path("ago_mem.c").is_relative_to(sys.argv[1]), csrc_path("ago_mem.c")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    pytest.importorskip("setuptools", minversion="77")
    out = tmp_path_factory.mktemp("wheel")
    source = out / "source"
    source.mkdir()
    for name in ("ago", "csrc", "setup.py", "pyproject.toml", "README.md", "LICENSE"):
        (source / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "pip", "wheel", str(source), "--no-deps", "-q"]
    done = subprocess.run(
        [*command, "--no-build-isolation", "-w", str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("*.whl")
    return built


def test_wheel_is_pure_and_holds_the_c_sources(wheel):
    assert wheel.name == f"ago_compiler-{__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {f"ago/{path.relative_to(ROOT)}" for path in (ROOT / "csrc").rglob("*.[ch]")}
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "ago").rglob("*.py")}
    assert shipped
    assert shipped | modules | {"ago/py.typed"} <= names
    assert not [name for name in names if name.startswith(("tests", "tools", "benchmarks"))]


def test_wheel_works_outside_the_tree(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    subprocess.run(
        [sys.executable, "-c", _USE, str(tmp_path / "site")],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "site"), "PATH": ""},
        check=True,
    )
