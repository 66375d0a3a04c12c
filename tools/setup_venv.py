"""Make a virtual environment and install AGO into it; `make` calls this.

    python tools/setup_venv.py DIRECTORY [EXTRA ...]

Uses the standard library alone and needs no root. Where `venv` cannot install pip (Debian without
python3-venv), virtualenv or pip itself is fetched into the environment. The extra `cc`, a C
compiler of 100 MB, is added only where no usable one is found.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_PIP_INDEX = "https://pypi.org/pypi/pip/json"

_ADVICE = """\
Could not make the virtual environment {directory} with {python}.
Install what your system packages apart, for instance
    sudo apt install python3-venv          (Debian, Ubuntu)
    sudo dnf install python3-pip           (Fedora)
or name another Python: make PYTHON=/path/to/python3.12"""

_FIND_COMPILER = """\
from ago.errors import ToolchainError
from ago.runtime.toolchain import find_toolchain
from ago.target import resolve_target
try:
    for name in ("host", "cortex-a76"):
        find_toolchain(resolve_target(name))
except ToolchainError:
    raise SystemExit(1)
"""


def main(arguments: list[str]) -> None:
    """Set the environment up, or bring it up to date."""
    directory, extras = Path(arguments[0]), arguments[1:]
    python = directory / "bin" / "python"
    if not _has_pip(python) and not make_environment(directory):
        raise SystemExit(_ADVICE.format(directory=directory, python=sys.executable))
    install(python, extras)
    if not _succeeds(str(python), "-c", _FIND_COMPILER):
        install(python, ["cc"])


def make_environment(directory: Path) -> bool:
    """Make an environment with pip inside, in the first way that works."""
    _say(f"making {directory} with Python {sys.version.split()[0]}")
    for attempt in (_with_venv, _with_virtualenv, _with_fetched_virtualenv, _with_fetched_pip):
        try:
            attempt(directory)
        except (OSError, ValueError, KeyError, subprocess.SubprocessError):
            continue
        if _has_pip(directory / "bin" / "python"):
            return True
    return False


def install(python: Path, extras: list[str]) -> None:
    """Install AGO, editable, with some of its extras."""
    requirement = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    _say(f"installing AGO with {', '.join(extras) or 'no extras'} (once; a minute or so)")
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    code = subprocess.run([*command, "--editable", requirement], check=False).returncode
    if code != 0:
        raise SystemExit("pip could not install AGO: see its message above")


def _with_venv(directory: Path) -> None:
    if importlib.util.find_spec("ensurepip") is None:
        raise OSError("this Python was packaged without ensurepip")
    _run(sys.executable, "-m", "venv", "--clear", str(directory))


def _with_virtualenv(directory: Path) -> None:
    _run(sys.executable, "-m", "virtualenv", "--quiet", "--clear", str(directory))


def _with_fetched_virtualenv(directory: Path) -> None:
    """Install virtualenv aside: allowed even where the system's Python is externally managed."""
    with tempfile.TemporaryDirectory() as aside:
        _run(sys.executable, "-m", "pip", "install", "--quiet", "--target", aside, "virtualenv")
        command = "import sys; sys.path.insert(0, sys.argv.pop(1)); import virtualenv as v; "
        command += "v.cli_run(sys.argv[1:])"
        _run(sys.executable, "-c", command, aside, "--quiet", "--clear", str(directory))


def _with_fetched_pip(directory: Path) -> None:
    """Make an environment without pip, and let pip's own wheel install itself there."""
    _run(sys.executable, "-m", "venv", "--clear", "--without-pip", str(directory))
    with urllib.request.urlopen(_PIP_INDEX, timeout=60) as answer:
        files = json.load(answer)["urls"]
    wheel = next(file for file in files if file["packagetype"] == "bdist_wheel")
    url = urllib.parse.urljoin(_PIP_INDEX, wheel["url"])  # mirrors give relative ones
    with urllib.request.urlopen(url, timeout=60) as answer:
        data = answer.read()
    if hashlib.sha256(data).hexdigest() != wheel["digests"]["sha256"]:
        raise ValueError("pip's wheel has another checksum than the index says")
    with tempfile.TemporaryDirectory() as aside:
        path = Path(aside) / wheel["filename"]
        path.write_bytes(data)
        pip = [str(directory / "bin" / "python"), f"{path}/pip"]
        _run(*pip, "install", "--quiet", "--no-index", str(path))


def _has_pip(python: Path) -> bool:
    return _succeeds(str(python), "-m", "pip", "--version")


def _succeeds(*command: str) -> bool:
    try:
        _run(*command)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def _say(text: str) -> None:
    print(f"[setup] {text}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
