"""The guides: what they say is done to a copy of the project, and the tests they write are run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDES = sorted((ROOT / "docs/guides").glob("*.md"))

_BLOCK = re.compile(
    r'^```(?P<language>\w+) title="(?P<file>[^"]+)"\n(?P<text>.*?)^```$', re.DOTALL | re.MULTILINE
)

_DOCTESTS = """\
import doctest, importlib, sys
sys.exit(sum(doctest.testmod(importlib.import_module(name)).failed for name in sys.argv[1:]))
"""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a guide with the file that it is about.

    Attributes:
        language: `diff` for a change, otherwise the block is a new file.
        file: Path from the top of the project.
        text: What it holds.
    """

    language: str
    file: str
    text: str


def blocks(guide: Path) -> list[Block]:
    found = _BLOCK.finditer(guide.read_text(encoding="utf-8"))
    return [Block(match["language"], match["file"], match["text"]) for match in found]


def copy_project(to: Path) -> None:
    for name in ("ago", "csrc", "tests/support", "tests/unit/codegen"):
        shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "tests/__init__.py"):
        shutil.copyfile(ROOT / name, to / name)


def apply(block: Block, project: Path) -> None:
    path = project / block.file
    if block.language != "diff":
        assert not path.exists(), f"{block.file} exists already: the guide should change it"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return
    assert f"+++ b/{block.file}\n" in block.text
    done = subprocess.run(
        ["git", "apply", "--recount", "-"],
        cwd=project,
        input=block.text,
        text=True,
        capture_output=True,
        check=False,
        env=os.environ | {"GIT_CEILING_DIRECTORIES": str(project.parent)},
    )
    assert done.returncode == 0, f"{block.file}: {done.stderr}"


@pytest.mark.parametrize("guide", GUIDES, ids=[guide.stem for guide in GUIDES])
def test_a_guide_does_what_it_says(guide: Path, tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    steps = blocks(guide)
    copy_project(tmp_path)
    for block in steps:
        apply(block, tmp_path)
    made = [block.file for block in steps if block.language == "python"]
    tests = [name for name in made if name.startswith("tests/")]
    sources = [name for name in made if not name.startswith("tests/")]
    assert tests
    assert " passed" in python(tmp_path, "-m", "pytest", "-q", *tests)
    modules = [name.removesuffix(".py").replace("/", ".") for name in sources]
    python(tmp_path, "-c", _DOCTESTS, *modules)


def python(project: Path, *arguments: str) -> str:
    """What Python prints, run in a copy of the project; it must end well."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        text=True,
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(project)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_there_is_a_guide_for_each_kind_of_extension() -> None:
    assert [guide.stem for guide in GUIDES] == ["operator", "primitive", "target"]
