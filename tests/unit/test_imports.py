"""`import ago` is light: what is heavy is imported where it is used."""

import subprocess
import sys

HEAVY = (
    "cffi",
    "click",
    "lightgbm",
    "matplotlib",
    "networkx",
    "onnx",
    "rich",
    "sklearn",
    "unicorn",
)


def test_import_ago_imports_nothing_heavy() -> None:
    code = f"import sys, ago; print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_search_needs_neither_lightgbm_nor_matplotlib() -> None:
    """Each is an extra: without it the analytic model ranks, and pages are drawn all the same."""
    code = (
        "import sys; sys.modules |= dict.fromkeys(('lightgbm', 'matplotlib', 'sklearn')); "
        "import ago.plots, ago.cli; from ago.tuning import Tuning; "
        "print(type(Tuning.of(1, None, database='x').settings.model).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "AnalyticModel\n"


def test_modules_that_the_pages_name_are_there_after_import_ago() -> None:
    code = "import ago; print(ago.plots.__name__, ago.lab.__name__, ago.models.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "ago.plots ago.lab ago.models\n"
