"""`import ago` is light: what is heavy is imported where it is used."""

import subprocess
import sys

HEAVY = ("cffi", "click", "lightgbm", "networkx", "onnx", "rich", "sklearn", "unicorn")


def test_import_ago_imports_nothing_heavy() -> None:
    code = f"import sys, ago; print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
