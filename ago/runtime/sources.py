"""Where the C files that ship with AGO are.

They live in `csrc/` at the top of a checkout and in `ago/csrc/` of an installed package; both are
plain directories, so a path is all a compiler needs. `csrc/extern/` holds the functions that extern
stages call; a model takes along only those that it uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ago.errors import ToolchainError

_PACKAGE = Path(__file__).resolve().parents[1]
_INCLUDE = re.compile(r'^#include "(ago_\w+\.h)"', re.MULTILINE)


def csrc_path(name: str) -> Path:
    """Path of a shipped C file.

    Args:
        name: Path in `csrc/`, such as `"ago_runtime.h"`.

    Raises:
        ToolchainError: There is no such file: the installation is broken.
    """
    return _find(name)


def _find(*names: str) -> Path:
    """The first of some files in `csrc/` that exists."""
    folders = (_PACKAGE / "csrc", _PACKAGE.parent / "csrc")
    for path in (folder / name for folder in folders for name in names):
        if path.is_file():
            return path
    raise ToolchainError(
        f"{names[-1]} is not in {folders[0]} or {folders[1]}: reinstall ago-compiler"
    )


def shipped_headers(texts: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """The headers of `csrc/` that C files include, directly or through each other.

    Args:
        texts: The C files.
        known: Names of headers that are at hand anyway.

    Returns:
        Text by file name.
    """
    found: dict[str, str] = {}
    wanted = [name for text in texts for name in _INCLUDE.findall(text)]
    while wanted:
        name = wanted.pop()
        if name not in found and name not in known:
            found[name] = csrc_path(name).read_text(encoding="utf-8")
            wanted += _INCLUDE.findall(found[name])
    return dict(sorted(found.items()))


def extern_sources(files: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """The text of what extern functions need, by file name.

    Args:
        files: Names in `csrc/extern/` without ending, such as `"ago_rnn"`.
        known: Headers that every model has anyway.

    Returns:
        Each file's header and C file, and the other shipped headers that these include.
    """
    texts: dict[str, str] = {}
    wanted = [f"{name}{ending}" for name in files for ending in (".h", ".c")]
    while wanted:
        name = wanted.pop()
        if name not in texts and name not in known:
            texts[name] = _find(f"extern/{name}", name).read_text(encoding="utf-8")
            wanted += _INCLUDE.findall(texts[name])
    return dict(sorted(texts.items()))
