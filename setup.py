"""Build script: metadata is in pyproject.toml; here is what that format cannot say.

The version is read as text, so that building imports nothing of AGO. The C files of `csrc/` are
shipped inside the package, as `ago/csrc/`.
"""

import re
from pathlib import Path

from setuptools import find_packages, setup

_HERE = Path(__file__).resolve().parent
_VERSION = re.search(r'__version__ = "([^"]+)"', (_HERE / "ago" / "version.py").read_text("utf-8"))
if _VERSION is None:
    raise SystemExit("ago/version.py defines no __version__")

setup(
    version=_VERSION.group(1),
    packages=[*find_packages(include=["ago", "ago.*"]), "ago.csrc"],
    package_dir={"ago.csrc": "csrc"},
    package_data={
        "ago": ["py.typed", "**/*.json", "cost_model/ranker.txt"],
        "ago.csrc": ["**/*.c", "**/*.h"],
    },
)
