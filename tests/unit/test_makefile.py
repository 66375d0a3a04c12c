"""The Makefile's goals and the set-up of the environment, without running either."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
GOALS = ("demo", "test", "test-all", "lint", "bench", "docs")


@pytest.fixture(scope="module")
def setup_venv() -> ModuleType:
    spec = importlib.util.spec_from_file_location("setup_venv", ROOT / "tools/setup_venv.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make(folder: Path, *arguments: str) -> str:
    """What make would do in a folder that holds the Makefile alone and what it depends on."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    for name in ("Makefile", "pyproject.toml", "setup.py", "tools/setup_venv.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        if not (folder / name).exists():
            shutil.copyfile(ROOT / name, folder / name)
    done = subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=folder,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin"},  # no HOME
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_is_the_default_and_lists_the_goals(tmp_path: Path) -> None:
    listed = re.findall(r"^  make ([\w-]+)", make(tmp_path), re.MULTILINE)
    assert set(GOALS) < set(listed)


@pytest.mark.parametrize("goal", GOALS)
def test_a_goal_sets_up_its_environment_first(tmp_path: Path, goal: str) -> None:
    plan = make(tmp_path, "-n", goal)
    assert 0 < plan.index("tools/setup_venv.py .venv") < plan.index(".venv/bin/")


def test_a_set_up_environment_is_left_alone(tmp_path: Path) -> None:
    make(tmp_path, "help")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/.installed-run").touch()
    plan = make(tmp_path, "-n", "demo", "MODEL=some model.onnx")
    assert plan == '.venv/bin/python -m tools.demo "some model.onnx"\n'


def test_the_first_way_that_works_makes_the_environment(
    setup_venv: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def fails(directory: Path) -> None:
        tried.append("first")
        raise OSError

    def works(directory: Path) -> None:
        tried.append("second")
        monkeypatch.setattr(setup_venv, "_has_pip", lambda python: True)

    monkeypatch.setattr(setup_venv, "_with_venv", fails)
    monkeypatch.setattr(setup_venv, "_with_virtualenv", works)
    assert setup_venv.make_environment(tmp_path / "env")
    assert tried == ["first", "second"]


def test_without_any_way_the_advice_says_what_to_install(
    setup_venv: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_venv, "make_environment", lambda directory: False)
    with pytest.raises(SystemExit, match="apt install python3-venv"):
        setup_venv.main([str(tmp_path / "env"), "dev"])


def test_the_continuous_integration_script_is_a_program() -> None:
    script = ROOT / ".ci/run"
    assert script.stat().st_mode & 0o111
    if shutil.which("bash"):
        subprocess.run(["bash", "-n", str(script)], check=True)
